/*
 * suppressions.h - suppressed leaks, in LeakSanitizer's syntax.
 *
 *     # comments
 *     leak:pattern
 *
 * A pattern matches a part of a function name, a file path or a module path.  '*' matches any text;
 * '^' at the start and '$' at the end anchor the pattern.
 */
#ifndef ALLO_ANALYSIS_SUPPRESSIONS_H
#define ALLO_ANALYSIS_SUPPRESSIONS_H

#include "analysis/sum.h"
#include "base/io/input.h"

struct allo_suppression {
	struct allo_text pattern;
	const char *file; /* its file and line */
	uint64_t line;
	struct allo_values hidden; /* sum of the samples it suppressed */
	uint64_t stacks;
};

/* All zeros is none. */
struct allo_suppressions {
	ALLO_VEC(struct allo_suppression) list; /* in the order of the files */
	struct allo_arena arena;                /* their texts */
};

void allo_suppressions_done(struct allo_suppressions *suppressions);

/* Adds the suppressions of an input; its name must stay valid. */
bool allo_suppressions_read(struct allo_suppressions *suppressions, struct allo_input *in,
			    struct allo_error *err);

/* Adds a pattern, without "leak:" in front. */
bool allo_suppressions_add(struct allo_suppressions *suppressions, struct allo_text pattern,
			   struct allo_error *err);

/* Whether a name matches, by LeakSanitizer's rules: each piece between asterisks is searched once,
 * from the end of the piece before, and no pattern matches an empty name. */
bool allo_suppression_matches(struct allo_text pattern, struct allo_text name);

/* Finds the first pattern that matches the innermost such frame of each stack: its number from 1,
 * or 0.  `stacks` are those of the profile, or of samples that were moved away from it; `found` has
 * room for all, and one more. */
bool allo_suppressions_judge(const struct allo_suppressions *suppressions,
			     const struct allo_profile *profile, const struct allo_profile *samples,
			     uint32_t *found, struct allo_error *err);

/*
 * Drops samples that are not 0 in these columns and whose stacks have a matching frame.  A sample
 * counts for the first pattern that matches its innermost such frame.
 */
bool allo_suppressions_apply(struct allo_suppressions *suppressions, struct allo_profile *profile,
			     const struct allo_metric_columns *columns, struct allo_error *err);

#endif
