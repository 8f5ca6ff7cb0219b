#include "report/sarif.h"

#include "base/json_write.h"
#include "profile/call_walk.h"

#include <stdio.h>

static const char *const levels[] = { "note", "warning", "error" };

struct writer {
	struct allo_json_out json;
	const struct allo_evidence *evidence;
	struct allo_text root;
};

/* "KEY": {"text": "..."} */
static void add_message(struct allo_json_out *json, const char *key, const char *text)
{
	allo_json_out_key(json, key);
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "text", allo_text_of(text));
	allo_json_out_end(json);
}

static void add_rule(struct allo_json_out *json, const struct allo_finding_rule *rule)
{
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "id", allo_text_of(rule->id));
	add_message(json, "shortDescription", rule->title);
	add_message(json, "fullDescription", rule->detects);
	allo_json_out_key(json, "help");
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "text", allo_text_of(rule->advice));
	allo_json_out_end(json);
	allo_json_out_end(json);
}

static void add_tool(struct allo_json_out *json)
{
	allo_json_out_key(json, "tool");
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "driver");
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "name", ALLO_TEXT("Allotrope"));
	allo_json_out_member_text(json, "version", ALLO_TEXT(ALLO_VERSION));
	allo_json_out_key(json, "rules");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; allo_finding_rules[i]; i++)
		add_rule(json, allo_finding_rules[i]);
	allo_json_out_end(json);
	allo_json_out_end(json);
	allo_json_out_end(json);
}

/* The characters that a path in a URI may have (RFC 3986). */
static bool is_plain(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("-._~/!$&'()*+,;=@", c));
}

/* A path as a URI: relative to the root, or "file:///usr/src/x.c". */
static void add_uri(struct writer *writer, struct allo_text path)
{
	enum { PATH_MOST = 4096 };
	char uri[3 * PATH_MOST + 8];
	size_t len = 0;

	if (path.len > writer->root.len && allo_text_starts(path, writer->root) &&
	    path.data[writer->root.len] == '/')
		path = allo_text_from(path, writer->root.len + 1);
	while (allo_text_skip(&path, ALLO_TEXT("./")))
		continue;
	if (path.len > 0 && path.data[0] == '/')
		len = (size_t)sprintf(uri, "file://");
	for (size_t i = 0; i < path.len && i < PATH_MOST; i++) {
		if (is_plain(path.data[i]))
			uri[len++] = path.data[i];
		else
			len += (size_t)sprintf(uri + len, "%%%02X", (unsigned char)path.data[i]);
	}
	allo_json_out_member_text(&writer->json, "uri", (struct allo_text){ uri, len });
}

static void add_location(struct writer *writer, struct allo_text name, struct allo_text file,
			 uint64_t line)
{
	struct allo_json_out *json = &writer->json;

	allo_json_out_begin(json, '{');
	if (file.len > 0) {
		allo_json_out_key(json, "physicalLocation");
		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "artifactLocation");
		allo_json_out_begin(json, '{');
		add_uri(writer, file);
		allo_json_out_end(json);
		allo_json_out_key(json, "region");
		allo_json_out_begin(json, '{');
		/* A function without line numbers begins somewhere. */
		allo_json_out_member_u64(json, "startLine", line > 0 ? line : 1);
		allo_json_out_end(json);
		allo_json_out_end(json);
	}
	if (name.len > 0) {
		allo_json_out_key(json, "logicalLocations");
		allo_json_out_begin(json, '[');
		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "fullyQualifiedName", name);
		allo_json_out_member_text(json, "kind", ALLO_TEXT("function"));
		allo_json_out_end(json);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

/* Readers show a stack as a list of places; very deep ones are cut. */
enum { FRAMES_MOST = 100 };

static void add_stack(struct writer *writer, allo_stack_id stack)
{
	const struct allo_profile *profile = writer->evidence->in.profile;
	struct allo_call_walk walk = { profile, stack, 0 };
	struct allo_json_out *json = &writer->json;
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call;

	allo_json_out_key(json, "stacks");
	allo_json_out_begin(json, '[');
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "frames");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < FRAMES_MOST && (frame = allo_call_walk_next(&walk, &call)); i++) {
		struct allo_line line = allo_call_line(profile, frame, call);

		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "location");
		add_location(writer, allo_call_name(profile, frame, call, scratch),
			     allo_line_file(profile, line), line.line);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
	allo_json_out_end(json);
	allo_json_out_end(json);
}

static size_t index_of(const struct allo_finding_rule *rule)
{
	size_t index = 0;

	while (allo_finding_rules[index] != rule)
		index++;
	return index;
}

static void add_site(struct writer *writer, const struct allo_evidence_site *site)
{
	const struct allo_profile *profile = writer->evidence->in.profile;

	add_location(writer, allo_profile_text(profile, site->key.function),
		     allo_profile_text(profile, site->key.file),
		     site->key.function ? site->key.number : 0);
}

static void add_result(struct writer *writer, const struct allo_finding *found)
{
	struct allo_json_out *json = &writer->json;
	char message[2048];

	snprintf(message, sizeof(message), "%s. %s", found->sentence, found->rule->advice);
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "ruleId", allo_text_of(found->rule->id));
	allo_json_out_member_u64(json, "ruleIndex", index_of(found->rule));
	allo_json_out_member_text(json, "level", allo_text_of(levels[found->severity]));
	add_message(json, "message", message);
	allo_json_out_key(json, "locations");
	allo_json_out_begin(json, '[');
	if (found->site)
		add_site(writer, found->site);
	allo_json_out_end(json);
	if (found->site)
		add_stack(writer, found->stack);
	allo_json_out_end(json);
}

void allo_sarif_write(struct allo_output *out, const struct allo_findings *findings,
		      const struct allo_evidence *evidence, struct allo_text root)
{
	struct writer writer = { { .out = out, .pretty_depth = 4 }, evidence, root };
	struct allo_json_out *json = &writer.json;

	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "$schema",
				  ALLO_TEXT("https://json.schemastore.org/sarif-2.1.0.json"));
	allo_json_out_member_text(json, "version", ALLO_TEXT("2.1.0"));
	allo_json_out_key(json, "runs");
	allo_json_out_begin(json, '[');
	allo_json_out_begin(json, '{');
	add_tool(json);
	allo_json_out_key(json, "results");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < findings->list.len; i++)
		add_result(&writer, &findings->list.at[i]);
	allo_json_out_end(json);
	allo_json_out_end(json);
	allo_json_out_end(json);
	allo_json_out_end(json);
	allo_output_byte(out, '\n');
}
