#include "analysis/filters/pattern.h"

#include "analysis/sites/script_package.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const char *take_field(struct allo_pattern *pattern, const char *text)
{
	static const struct {
		const char *prefix;
		enum allo_pattern_field field;
	} fields[] = { { "fn:", ALLO_FIELD_FUNCTION },
		       { "file:", ALLO_FIELD_FILE },
		       { "mod:", ALLO_FIELD_MODULE } };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		size_t len = strlen(fields[i].prefix);

		if (strncmp(text, fields[i].prefix, len) == 0) {
			pattern->field = fields[i].field;
			return text + len;
		}
	}
	return text;
}

static bool compile_regex(struct allo_pattern *pattern, const char *text, size_t len,
			  struct allo_error *err)
{
	char expression[1024], why[96];
	int status, flags = REG_EXTENDED | REG_NOSUB | (pattern->ignores_case ? REG_ICASE : 0);

	if (len >= sizeof(expression))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "the pattern \"%.40s...\" is too long", text);
	memcpy(expression, text, len);
	expression[len] = '\0';
	/* Nested repetitions double the memory of a compiled expression each time. */
	for (const char *at = expression; *at; at++) {
		if (strspn(at, "+*?") > 3)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "the pattern /%s/ has nested repetitions", expression);
	}
	status = regcomp(&pattern->regex, expression, flags);
	if (status == REG_ESPACE)
		return allo_fail_memory(err);
	if (status != 0) {
		regerror(status, &pattern->regex, why, sizeof(why));
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the pattern /%s/ is not valid: %s",
			  expression, why);
		return allo_hint(err, "omit the slashes to search for the plain text");
	}
	pattern->kind = ALLO_PATTERN_REGEX;
	return true;
}

static bool has_upper_case(const char *text)
{
	for (; *text; text++) {
		if (isupper((unsigned char)*text))
			return true;
	}
	return false;
}

bool allo_pattern_init(struct allo_pattern *pattern, const char *text, struct allo_error *err)
{
	const char *last_slash;

	*pattern = (struct allo_pattern){ 0 };
	text = take_field(pattern, text);
	last_slash = text[0] == '/' ? strrchr(text + 1, '/') : NULL;
	if (last_slash && (strcmp(last_slash, "/") == 0 || strcmp(last_slash, "/i") == 0)) {
		pattern->ignores_case = last_slash[1] == 'i';
		return compile_regex(pattern, text + 1, (size_t)(last_slash - text - 1), err);
	}
	pattern->kind = ALLO_PATTERN_PART;
	pattern->text = text;
	if (text[0] == '=') {
		pattern->kind = ALLO_PATTERN_WHOLE;
		pattern->text = text + 1;
	} else {
		pattern->ignores_case = !has_upper_case(text);
	}
	if (pattern->text[0] == '\0')
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a pattern is empty");
	return true;
}

void allo_pattern_done(struct allo_pattern *pattern)
{
	if (pattern->kind == ALLO_PATTERN_REGEX)
		regfree(&pattern->regex);
	allo_name_buffer_done(&pattern->buffer);
	*pattern = (struct allo_pattern){ 0 };
}

static bool matches_text(struct allo_pattern *pattern, struct allo_text text)
{
	int status;

	/* Strings of the profile and short names end with a NUL. */
	switch (pattern->kind) {
	case ALLO_PATTERN_REGEX:
		/* glibc also returns "no match" when out of memory. */
		errno = 0;
		status = regexec(&pattern->regex, text.data, 0, NULL, 0);
		pattern->has_failed |= status == REG_ESPACE || (status != 0 && errno == ENOMEM);
		return status == 0;
	case ALLO_PATTERN_WHOLE:
		return allo_text_equal(text, allo_text_of(pattern->text));
	case ALLO_PATTERN_PART:
		return (pattern->ignores_case ? strcasestr(text.data, pattern->text)
					      : strstr(text.data, pattern->text)) != NULL;
	default:
		return false;
	}
}

/* People see short names, and copy them. */
static bool matches_function(struct allo_pattern *pattern, struct allo_text name)
{
	struct allo_text brief;

	if (matches_text(pattern, name))
		return true;
	brief = allo_short_name(name, ALLO_NAME_BRIEF, &pattern->buffer);
	pattern->has_failed |= pattern->buffer.has_failed;
	return brief.data != name.data && matches_text(pattern, brief);
}

/* Functions of scripts have a package instead of a module; longer paths are cut. */
static bool matches_package(struct allo_pattern *pattern, const struct allo_profile *profile,
			    allo_function_id function)
{
	struct allo_text package = allo_script_package(profile, function);
	char text[PATH_MAX];
	int len = snprintf(text, sizeof(text), "%.*s", ALLO_TEXT_WHOLE(package));

	return len > 0 && matches_text(pattern, allo_text_of(text));
}

bool allo_pattern_matches(struct allo_pattern *pattern, const struct allo_profile *profile,
			  const struct allo_frame *frame, uint32_t call)
{
	struct allo_line line = allo_call_line(profile, frame, call);
	bool any = pattern->field == ALLO_FIELD_ANY;
	char scratch[ALLO_NAME_SCRATCH];

	if ((any || pattern->field == ALLO_FIELD_FUNCTION) &&
	    matches_function(pattern, allo_call_name(profile, frame, call, scratch)))
		return true;
	if ((any || pattern->field == ALLO_FIELD_FILE) &&
	    matches_text(pattern, allo_line_file(profile, line)))
		return true;
	if (pattern->field == ALLO_FIELD_MODULE && frame->module == 0)
		return matches_package(pattern, profile, line.function);
	return (any || pattern->field == ALLO_FIELD_MODULE) && frame->module != 0 &&
	       matches_text(pattern,
			    allo_profile_text(profile, profile->modules.at[frame->module].path));
}

bool allo_pattern_match_stacks(const char *text, const struct allo_profile *profile, bool *stacks,
			       struct allo_error *err)
{
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_free_pointer) bool *frames = calloc(profile->frames.len + 1, 1);

	if (!frames)
		return allo_fail_memory(err);
	if (!allo_pattern_init(&pattern, text, err))
		return false;
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		for (uint32_t k = 0; k < allo_frame_call_count(frame) && !frames[i]; k++)
			frames[i] = allo_pattern_matches(&pattern, profile, frame, k);
	}
	for (size_t i = 1; i < profile->stacks.len; i++)
		stacks[i] = frames[profile->stacks.at[i].frame] ||
			    stacks[profile->stacks.at[i].parent];
	return !pattern.has_failed || allo_fail_memory(err);
}
