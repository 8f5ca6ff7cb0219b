/*
 * suppressions.h - leaks that nobody wants to hear of, in LeakSanitizer's syntax.
 *
 *     # comments
 *     leak:pattern
 *
 * A pattern stands for a part of a function's name, of a file's path or of a module's.  '*' is
 * anything, '^' at its beginning and '$' at its end are the beginning and the end of the name.
 */
#ifndef ALLO_ANALYSIS_SUPPRESSIONS_H
#define ALLO_ANALYSIS_SUPPRESSIONS_H

#include "analysis/sum.h"
#include "base/input.h"

struct allo_suppression {
	struct allo_text pattern;
	const char *file; /* that it stands in, and where */
	uint64_t line;
	struct allo_values hidden; /* what it has taken away so far */
	uint64_t stacks;
};

/* All zeros is none. */
struct allo_suppressions {
	ALLO_VEC(struct allo_suppression) list; /* in the order of the files */
	struct allo_arena arena;                /* what they own */
};

void allo_suppressions_done(struct allo_suppressions *suppressions);

/* Adds what an input has; its name stays. */
bool allo_suppressions_read(struct allo_suppressions *suppressions, struct allo_input *in,
			    struct allo_error *err);

/* Whether a name matches, by LeakSanitizer's rules: each piece between asterisks is looked for
 * once, from where the last one ended, and nothing matches an empty name. */
bool allo_suppression_matches(struct allo_text pattern, struct allo_text name);

/*
 * Drops the samples that hold something in these columns and whose stacks have a frame that
 * matches.  It counts for the first pattern of the innermost such frame.
 */
bool allo_suppressions_apply(struct allo_suppressions *suppressions, struct allo_profile *profile,
			     const struct allo_columns *columns, struct allo_error *err);

#endif
