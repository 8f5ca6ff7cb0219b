/*
 * fuzz_writers.c - any bytes through the reader that recognises them, and the profile through every
 * view and every writer.
 *
 * fuzz_reader.c only reads, which is many times as fast.
 */
#include "analysis/diff.h"
#include "analysis/filters/filter.h"
#include "analysis/top.h"
#include "analysis/tree.h"
#include "base/defer.h"
#include "readers/readers.h"
#include "writers/writers.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_all(const struct allo_profile *profile)
{
	for (size_t i = 0; allo_writers[i]; i++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		struct allo_output_options plain = { .packing = ALLO_PLAIN };
		struct allo_error err = { 0 };

		if (!allo_writers[i]->takes_rows && allo_output_open_memory(&out, &plain, &err) &&
		    allo_write(allo_writers[i], profile, NULL, &out, NULL, &err))
			allo_output_finish(&out, &err);
	}
}

static void look(const struct allo_profile *profile)
{
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	ALLO_DEFER(allo_top_done)
	struct allo_top top = { .by = ALLO_BY_SITE, .attribution = &attribution };
	ALLO_DEFER(allo_tree_done) struct allo_tree down = { 0 };
	ALLO_DEFER(allo_tree_done) struct allo_tree up = { 0 };
	struct allo_tree_options from_above = { .grain = ALLO_GRAIN_LINE };
	struct allo_tree_options from_below = { .is_inverted = true };
	struct allo_metric_columns columns = allo_metric_columns_of(profile,
								    allo_default_metric(profile));
	struct allo_error err = { 0 };

	if (!allo_top_add(&top, profile, &columns, &err) ||
	    !allo_tree_from_profile(&down, profile, &columns, &from_above, &err) ||
	    !allo_tree_from_profile(&up, profile, &columns, &from_below, &err))
		abort();
	allo_top_sort(&top, profile, ALLO_TOP_BY_TOTAL);
	if (down.nodes.at[0].total.value != top.sum.value ||
	    up.nodes.at[0].total.value != top.sum.value)
		abort();
}

/* Filtered, merged and compared, profiles must be as sound as they were. */
static void change(const struct allo_profile *profile)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile copy = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile diff = { 0 };
	ALLO_DEFER(allo_filter_done)
	struct allo_filter filter = { .trim_allocator = true,
				      .trim_startup = true,
				      .stack_depth = 3 };
	struct allo_error err = { 0 };

	if (!allo_profile_merge(&copy, profile, &err) ||
	    !allo_profile_merge(&copy, profile, &err) ||
	    !allo_patterns_add(&filter.hide, "a", &err) ||
	    !allo_filter_apply(&filter, &copy, &err) || !allo_profile_validate(&copy, &err) ||
	    !allo_diff_profiles(profile, &copy, ALLO_MATCH_FUNCTION, &diff, &err) ||
	    !allo_profile_validate(&diff, &err))
		abort();
	write_all(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_read_options options = { .keep_accesses = true,
					     .wants_history = true,
					     /* Traces are read both with and without times. */
					     .wants_times = size & 1,
					     .by_thread = size & 2 };
	struct allo_error err = { 0 };

	if (!allo_read_memory("fuzz", data, size, &options, &profile, &err)) {
		if (!allo_failed(&err))
			abort(); /* a failure without a reason */
		return 0;
	}
	write_all(&profile);
	if (profile.metrics.len > 0) {
		look(&profile);
		change(&profile);
	}
	return 0;
}
