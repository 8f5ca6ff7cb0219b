/* metric.c - the table of metrics, and lookup by name. */
#include "profile/metric.h"

const struct allo_metric_kind allo_metric_kinds[ALLO_MEANINGS] = {
	[ALLO_MEANS_OTHER] = { .name = "", .is_additive = true, .about = "measured" },
	[ALLO_ALLOC_BLOCKS] = { "alloc_blocks", "count", "alloc_objects", "tbk",
				"blocks allocs allocations", true, ALLO_ALLOC_BYTES,
				"ever allocated" },
	[ALLO_ALLOC_BYTES] = { "alloc_bytes", "bytes", "alloc_space", "tb", "total alloc allocated",
			       true, ALLO_ALLOC_BLOCKS, "ever allocated" },
	[ALLO_MAX_BLOCKS] = { "max_blocks", "count", "inuse_objects", "mbk", "max-blocks", false,
			      ALLO_MAX_BYTES, "held by each call site at its own peak" },
	[ALLO_MAX_BYTES] = { "max_bytes", "bytes", "inuse_space", "mb", "max", false,
			     ALLO_MAX_BLOCKS, "held by each call site at its own peak" },
	[ALLO_PEAK_BLOCKS] = { "peak_blocks", "count", "peak_objects", "gbk", "peak-blocks", true,
			       ALLO_PEAK_BYTES, "live at the program's peak" },
	[ALLO_PEAK_BYTES] = { "peak_bytes", "bytes", "peak_space", "gb", "peak", true,
			      ALLO_PEAK_BLOCKS, "live at the program's peak" },
	[ALLO_END_BLOCKS] = { "end_blocks", "count", "end_objects", "ebk",
			      "end-blocks leaked-blocks", true, ALLO_END_BYTES,
			      "live when recording ended" },
	[ALLO_END_BYTES] = { "end_bytes", "bytes", "end_space", "eb", "end leak leaks leaked", true,
			     ALLO_END_BLOCKS, "live when recording ended" },
	[ALLO_LIVE_BLOCKS] = { "live_blocks", "count", "inuse_objects", NULL, "live-blocks", true,
			       ALLO_LIVE_BYTES, "live when the profile was taken" },
	[ALLO_LIVE_BYTES] = { "live_bytes", "bytes", "inuse_space", NULL, "live inuse", true,
			      ALLO_LIVE_BLOCKS, "live when the profile was taken" },
	[ALLO_FREED_BLOCKS] = { "freed_blocks", "count", "freed_objects", NULL, "freed-blocks",
				true, ALLO_FREED_BYTES, "freed" },
	[ALLO_FREED_BYTES] = { "freed_bytes", "bytes", "freed_space", NULL, "freed", true,
			       ALLO_FREED_BLOCKS, "freed" },
	[ALLO_LIFETIME] = { "lifetime", NULL, NULL, "tl", NULL, true, ALLO_ALLOC_BLOCKS,
			    "total lifetime of all blocks" },
	[ALLO_TEMPORARY_BLOCKS] = { "temporary_blocks", "count", "temporary_objects", NULL,
				    "temporary temp temp-blocks", true, ALLO_MEANS_OTHER,
				    "freed before the next allocation" },
	[ALLO_READ_BYTES] = { "read_bytes", "bytes", "reads", "rb", "reads", true, ALLO_MEANS_OTHER,
			      "read from blocks" },
	[ALLO_WRITE_BYTES] = { "write_bytes", "bytes", "writes", "wb", "writes", true,
			       ALLO_MEANS_OTHER, "written to blocks" },
	[ALLO_COPY_BLOCKS] = { "copy_blocks", "count", "copies", NULL, "copies", true,
			       ALLO_COPY_BYTES, "copied by memcpy and similar functions" },
	[ALLO_COPY_BYTES] = { "copy_bytes", "bytes", "copied_space", NULL, "copy", true,
			      ALLO_COPY_BLOCKS, "copied by memcpy and similar functions" },
	[ALLO_EVENTS] = { "events", "count", NULL, NULL, NULL, true, ALLO_EVENT_UNITS,
			  "marked by the program" },
	[ALLO_EVENT_UNITS] = { "units", NULL, NULL, NULL, NULL, true, ALLO_EVENTS,
			       "marked by the program" },
	[ALLO_SAMPLES] = { "samples", "count", NULL, NULL, NULL, true, ALLO_MEANS_OTHER,
			   "taken while running" },
	[ALLO_CPU] = { "cpu", "nanoseconds", NULL, NULL, NULL, true, ALLO_MEANS_OTHER,
		       "spent on the CPU" },
	[ALLO_WALL] = { "wall", "nanoseconds", NULL, NULL, NULL, true, ALLO_MEANS_OTHER,
			"spent in calls" },
};

static bool is_named(struct allo_text name, const char *known)
{
	return known && allo_text_equal(name, allo_text_of(known));
}

static bool is_alias(struct allo_text name, const char *aliases)
{
	struct allo_text rest = { 0 }, alias;

	if (aliases)
		rest = allo_text_of(aliases);
	while (allo_text_next(&rest, ' ', &alias)) {
		if (allo_text_equal(name, alias))
			return true;
	}
	return false;
}

enum allo_meaning allo_meaning_of_name(struct allo_text name)
{
	for (int m = 1; m < ALLO_MEANINGS; m++) {
		const struct allo_metric_kind *kind = &allo_metric_kinds[m];

		if (is_named(name, kind->name) || is_named(name, kind->pprof) ||
		    is_named(name, kind->dhat) || is_alias(name, kind->aliases))
			return (enum allo_meaning)m;
	}
	return ALLO_MEANS_OTHER;
}

enum allo_meaning allo_meaning_of_pprof(struct allo_text type, bool has_peak)
{
	for (int m = 1; m < ALLO_MEANINGS; m++) {
		const struct allo_metric_kind *kind = &allo_metric_kinds[m];
		bool is_max = m == ALLO_MAX_BLOCKS || m == ALLO_MAX_BYTES;

		if (is_named(type, kind->name) ||
		    (is_named(type, kind->pprof) && (!is_max || has_peak)))
			return (enum allo_meaning)m;
	}
	return ALLO_MEANS_OTHER;
}
