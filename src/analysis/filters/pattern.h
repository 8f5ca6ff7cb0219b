/*
 * pattern.h - patterns that select frames by name.
 *
 *     text          anywhere in the name; case-sensitive if it has an upper-case letter
 *     =text         the whole name
 *     /regex/       an extended regular expression; /regex/i ignores case
 *     fn: file: mod:  prefix of any of these: match only the function, file or module
 *
 * A function matches by its full name or its short name (profile/short_name.h).
 */
#ifndef ALLO_ANALYSIS_PATTERN_H
#define ALLO_ANALYSIS_PATTERN_H

#include "profile/profile.h"
#include "profile/short_name.h"

#include <regex.h>

enum allo_pattern_field {
	ALLO_FIELD_ANY,
	ALLO_FIELD_FUNCTION,
	ALLO_FIELD_FILE,
	ALLO_FIELD_MODULE,
};

/* All zeros: nothing to free. */
struct allo_pattern {
	enum allo_pattern_field field;
	enum { ALLO_PATTERN_NONE, ALLO_PATTERN_PART, ALLO_PATTERN_WHOLE, ALLO_PATTERN_REGEX } kind;
	const char *text; /* owned by the caller */
	bool ignores_case;
	bool has_failed; /* out of memory while matching: results are not reliable */
	regex_t regex;
	struct allo_name_buffer buffer; /* private: the short name */
};

bool allo_pattern_init(struct allo_pattern *pattern, const char *text, struct allo_error *err);
void allo_pattern_done(struct allo_pattern *pattern);

/* Whether one of a frame's calls matches.  Check has_failed at the end. */
bool allo_pattern_matches(struct allo_pattern *pattern, const struct allo_profile *profile,
			  const struct allo_frame *frame, uint32_t call);

/* Computes for each stack whether one of its frames matches a pattern; `stacks` is all false. */
bool allo_pattern_match_stacks(const char *text, const struct allo_profile *profile, bool *stacks,
			       struct allo_error *err);

#endif
