/*
 * wrappers.h - detects wrappers of allocators by their shape.
 *
 * A function is a wrapper if, among the sampled stacks,
 *
 *   - at least 9 of 10 stacks through it allocate right there: it calls only allocators and other
 *     wrappers, from at most 4 places;
 *   - at least 8 functions call it, or 16 addresses if it has no name;
 *   - its callers decide on the size: at least 4 different mean sizes of blocks.
 *
 * Fewer callers suffice if these are layers around the function, such as xmalloc() and xmemdup()
 * around do_xmalloc(): up to 7 functions, of which at least 9 of 10 stacks reach the function or
 * another one like it, that at least 6 functions call.  There may be 3 such layers.
 *
 * The last condition tells a wrapper from a constructor: make_node(), called from thirty places,
 * always allocates a node, so it stays.  Without sizes, as in folded stacks, nothing is detected.
 * Neither are main() and functions that start-up code calls.  Sizes and callers are the same for
 * all metrics, so a function is a wrapper in all views of a profile or in none.
 *
 * Wrappers of wrappers are found in up to 4 rounds.  The first ALLO_WRAPPERS_SAMPLES samples are
 * examined, so the cost has a limit, and commands that read a file in portions find the same
 * wrappers as those that read it whole.
 */
#ifndef ALLO_ANALYSIS_WRAPPERS_H
#define ALLO_ANALYSIS_WRAPPERS_H

#include "analysis/sites/attribution.h"

enum { ALLO_WRAPPERS_SAMPLES = 1 << 14 };

/* Gives detected functions the role ALLO_ROLE_WRAPPER. */
bool allo_wrappers_find(struct allo_attribution *attribution, const struct allo_profile *profile,
			struct allo_error *err);

#endif
