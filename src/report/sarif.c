#include "report/sarif.h"

#include <stdio.h>

static const char *const levels[] = { "note", "warning", "error" };

/* "KEY": {"text": "..."} */
static void add_message(struct allo_json_out *json, const char *key, const char *text)
{
	allo_json_out_key(json, key);
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "text", allo_text_of(text));
	allo_json_out_end(json);
}

static void begin_member(struct allo_json_out *json, const char *key, char bracket)
{
	allo_json_out_key(json, key);
	allo_json_out_begin(json, bracket);
}

void allo_sarif_begin(struct allo_sarif *sarif, struct allo_output *out, struct allo_text root,
		      struct allo_text input)
{
	struct allo_json_out *json = &sarif->json;

	*sarif = (struct allo_sarif){ .json = { .out = out, .pretty_depth = 4 },
				      .root = root,
				      .input = input };
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "$schema",
				  ALLO_TEXT("https://json.schemastore.org/sarif-2.1.0.json"));
	allo_json_out_member_text(json, "version", ALLO_TEXT("2.1.0"));
	begin_member(json, "runs", '[');
	allo_json_out_begin(json, '{');
	begin_member(json, "tool", '{');
	begin_member(json, "driver", '{');
	allo_json_out_member_text(json, "name", ALLO_TEXT("Allotrope"));
	allo_json_out_member_text(json, "version", ALLO_TEXT(ALLO_VERSION));
	begin_member(json, "rules", '[');
}

void allo_sarif_rule(struct allo_sarif *sarif, const struct allo_sarif_rule *rule)
{
	struct allo_json_out *json = &sarif->json;

	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "id", allo_text_of(rule->id));
	add_message(json, "shortDescription", rule->title);
	add_message(json, "fullDescription", rule->about);
	add_message(json, "help", rule->help);
	allo_json_out_end(json);
}

/* The results follow the tool with its rules. */
static void begin_results(struct allo_sarif *sarif)
{
	if (sarif->has_results)
		return;
	sarif->has_results = true;
	for (int i = 0; i < 3; i++)
		allo_json_out_end(&sarif->json);
	begin_member(&sarif->json, "results", '[');
}

bool allo_path_below(struct allo_text *path, struct allo_text root)
{
	if (path->len > root.len && allo_text_starts(*path, root) && path->data[root.len] == '/')
		*path = allo_text_from(*path, root.len + 1);
	while (allo_text_skip(path, ALLO_TEXT("./")))
		continue;
	return path->len > 0 && path->data[0] != '/';
}

/* The characters that a path in a URI may have (RFC 3986). */
static bool is_plain(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != '\0' && strchr("-._~/!$&'()*+,;=@", c));
}

/* A path as a URI: relative to the root, or "file:///usr/src/x.c". */
static void add_uri(struct allo_sarif *sarif, struct allo_text path)
{
	enum { PATH_MOST = 4096 };
	char uri[3 * PATH_MOST + 8];
	size_t len = 0;

	if (!allo_path_below(&path, sarif->root) && path.len > 0)
		len = (size_t)sprintf(uri, "file://");
	for (size_t i = 0; i < path.len && i < PATH_MOST; i++) {
		if (is_plain(path.data[i]))
			uri[len++] = path.data[i];
		else
			len += (size_t)sprintf(uri + len, "%%%02X", (unsigned char)path.data[i]);
	}
	allo_json_out_member_text(&sarif->json, "uri", (struct allo_text){ uri, len });
}

static void add_physical_location(struct allo_sarif *sarif, struct allo_text file, uint64_t line)
{
	struct allo_json_out *json = &sarif->json;

	begin_member(json, "physicalLocation", '{');
	begin_member(json, "artifactLocation", '{');
	add_uri(sarif, file);
	allo_json_out_end(json);
	begin_member(json, "region", '{');
	/* A function without line numbers begins somewhere. */
	allo_json_out_member_u64(json, "startLine", line > 0 ? line : 1);
	allo_json_out_end(json);
	allo_json_out_end(json);
}

static void add_logical_location(struct allo_json_out *json, struct allo_text name)
{
	begin_member(json, "logicalLocations", '[');
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "fullyQualifiedName", name);
	allo_json_out_member_text(json, "kind", ALLO_TEXT("function"));
	allo_json_out_end(json);
	allo_json_out_end(json);
}

static void add_location(struct allo_sarif *sarif, struct allo_text name, struct allo_text file,
			 uint64_t line)
{
	allo_json_out_begin(&sarif->json, '{');
	if (file.len > 0)
		add_physical_location(sarif, file, line);
	if (name.len > 0)
		add_logical_location(&sarif->json, name);
	allo_json_out_end(&sarif->json);
}

void allo_sarif_location(struct allo_sarif *sarif, struct allo_text name, struct allo_text file,
			 uint64_t line)
{
	sarif->has_location = true;
	if (file.len > 0)
		add_location(sarif, name, file, line);
	else
		add_location(sarif, name, sarif->input, 0);
}

void allo_sarif_begin_result(struct allo_sarif *sarif, const struct allo_sarif_result *result)
{
	struct allo_json_out *json = &sarif->json;

	begin_results(sarif);
	sarif->has_location = sarif->has_stack = false;
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "ruleId", allo_text_of(result->rule));
	allo_json_out_member_u64(json, "ruleIndex", result->rule_index);
	allo_json_out_member_text(json, "level", allo_text_of(levels[result->level]));
	add_message(json, "message", result->message);
	begin_member(json, "locations", '[');
}

void allo_sarif_begin_stack(struct allo_sarif *sarif)
{
	struct allo_json_out *json = &sarif->json;

	sarif->has_stack = true;
	allo_json_out_end(json);
	begin_member(json, "stacks", '[');
	allo_json_out_begin(json, '{');
	begin_member(json, "frames", '[');
}

void allo_sarif_frame(struct allo_sarif *sarif, struct allo_text name, struct allo_text file,
		      uint64_t line)
{
	allo_json_out_begin(&sarif->json, '{');
	allo_json_out_key(&sarif->json, "location");
	add_location(sarif, name, file, line);
	allo_json_out_end(&sarif->json);
}

void allo_sarif_end_result(struct allo_sarif *sarif)
{
	if (!sarif->has_location)
		allo_sarif_location(sarif, ALLO_TEXT(""), ALLO_TEXT(""), 0);
	/* The list of locations, or of frames with the stack and the list of stacks. */
	for (int i = 0; i < (sarif->has_stack ? 3 : 1); i++)
		allo_json_out_end(&sarif->json);
	allo_json_out_end(&sarif->json);
}

void allo_sarif_end(struct allo_sarif *sarif)
{
	begin_results(sarif);
	while (sarif->json.depth > 0)
		allo_json_out_end(&sarif->json);
}
