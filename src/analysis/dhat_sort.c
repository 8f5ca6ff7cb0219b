#include "analysis/dhat_sort.h"

enum {
	READS_AND_WRITES = ALLO_PP_SHOWS_READS | ALLO_PP_SHOWS_WRITES,
	BOTH_PER_BYTE = ALLO_PP_SHOWS_READS_PER_BYTE | ALLO_PP_SHOWS_WRITES_PER_BYTE,
};

/* Indices of the defaults. */
enum { TOTAL_BYTES = 0, TOTAL_BLOCKS = 1, PEAK_BYTES = 8, END_BYTES = 9 };

const struct allo_pp_sort allo_pp_sorts[ALLO_PP_SORTS] = {
	[TOTAL_BYTES] = { "total-bytes", ALLO_PP_TOTAL_BYTES, ALLO_PP_ANY,
			  ALLO_PP_SHOWS_TOTAL_BYTES },
	[TOTAL_BLOCKS] = { "total-blocks", ALLO_PP_TOTAL_BLOCKS, ALLO_PP_ANY,
			   ALLO_PP_SHOWS_TOTAL_BLOCKS },
	{ "tiny", ALLO_PP_TOTAL_BLOCKS, ALLO_PP_TINY,
	  ALLO_PP_SHOWS_TOTAL_BLOCKS | ALLO_PP_SHOWS_SIZE },
	{ "short-lived", ALLO_PP_TOTAL_BLOCKS, ALLO_PP_SHORT_LIVED,
	  ALLO_PP_SHOWS_TOTAL_BLOCKS | ALLO_PP_SHOWS_LIFETIME },
	{ "unused-bytes", ALLO_PP_TOTAL_BYTES, ALLO_PP_UNUSED,
	  ALLO_PP_SHOWS_TOTAL_BYTES | READS_AND_WRITES },
	{ "unused-blocks", ALLO_PP_TOTAL_BLOCKS, ALLO_PP_UNUSED,
	  ALLO_PP_SHOWS_TOTAL_BLOCKS | READS_AND_WRITES },
	{ "low-access-bytes", ALLO_PP_TOTAL_BYTES, ALLO_PP_LOW_ACCESS,
	  ALLO_PP_SHOWS_TOTAL_BYTES | BOTH_PER_BYTE },
	{ "low-access-blocks", ALLO_PP_TOTAL_BLOCKS, ALLO_PP_LOW_ACCESS,
	  ALLO_PP_SHOWS_TOTAL_BLOCKS | BOTH_PER_BYTE },
	[PEAK_BYTES] = { "peak-bytes", ALLO_PP_PEAK_BYTES, ALLO_PP_ANY, ALLO_PP_SHOWS_PEAK },
	[END_BYTES] = { "end-bytes", ALLO_PP_END_BYTES, ALLO_PP_ANY, ALLO_PP_SHOWS_END },
	{ "reads", ALLO_PP_READS, ALLO_PP_ANY, ALLO_PP_SHOWS_READS },
	{ "high-reads", ALLO_PP_READS, ALLO_PP_HIGH_ACCESS,
	  ALLO_PP_SHOWS_READS | ALLO_PP_SHOWS_READS_PER_BYTE },
	{ "writes", ALLO_PP_WRITES, ALLO_PP_ANY, ALLO_PP_SHOWS_WRITES },
	{ "high-writes", ALLO_PP_WRITES, ALLO_PP_HIGH_ACCESS,
	  ALLO_PP_SHOWS_WRITES | ALLO_PP_SHOWS_WRITES_PER_BYTE },
};

static void find_column(struct allo_pp_columns *columns, const struct allo_profile *profile,
			enum allo_pp_field field, enum allo_meaning meaning)
{
	if (!columns->has[field])
		columns->has[field] = allo_profile_find_metric(profile, meaning,
							       &columns->metric[field]);
}

/* Whether a metric is a live figure, which has its own field. */
static bool is_moment(enum allo_meaning meaning)
{
	return meaning == ALLO_PEAK_BYTES || meaning == ALLO_END_BYTES ||
	       meaning == ALLO_LIVE_BYTES;
}

/* Finds the total bytes and the matching blocks. */
static void find_total(struct allo_pp_columns *columns, const struct allo_profile *profile)
{
	static const enum allo_meaning totals[] = { ALLO_ALLOC_BYTES, ALLO_COPY_BYTES,
						    ALLO_EVENT_UNITS };
	struct allo_metric_columns shown;
	size_t metric;

	if (profile->metrics.len == 0)
		return;
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
		find_column(columns, profile, ALLO_PP_TOTAL_BYTES, totals[i]);
		if (columns->has[ALLO_PP_TOTAL_BYTES]) {
			find_column(columns, profile, ALLO_PP_TOTAL_BLOCKS,
				    allo_metric_kinds[totals[i]].companion);
			return;
		}
	}
	metric = allo_default_metric(profile);
	if (is_moment(profile->metrics.at[metric].meaning))
		return;
	shown = allo_metric_columns_of(profile, metric);
	columns->metric[ALLO_PP_TOTAL_BYTES] = metric;
	columns->has[ALLO_PP_TOTAL_BYTES] = true;
	columns->metric[ALLO_PP_TOTAL_BLOCKS] = shown.blocks;
	columns->has[ALLO_PP_TOTAL_BLOCKS] = shown.has_blocks;
}

struct allo_pp_columns allo_pp_columns_of(const struct allo_profile *profile)
{
	struct allo_pp_columns columns = { 0 };

	find_total(&columns, profile);
	find_column(&columns, profile, ALLO_PP_LIFETIMES, ALLO_LIFETIME);
	find_column(&columns, profile, ALLO_PP_MAX_BYTES, ALLO_MAX_BYTES);
	find_column(&columns, profile, ALLO_PP_MAX_BLOCKS, ALLO_MAX_BLOCKS);
	find_column(&columns, profile, ALLO_PP_PEAK_BYTES, ALLO_PEAK_BYTES);
	find_column(&columns, profile, ALLO_PP_PEAK_BLOCKS, ALLO_PEAK_BLOCKS);
	find_column(&columns, profile, ALLO_PP_END_BYTES, ALLO_END_BYTES);
	find_column(&columns, profile, ALLO_PP_END_BLOCKS, ALLO_END_BLOCKS);
	/* The end of a profile of a running program is when it was taken. */
	find_column(&columns, profile, ALLO_PP_END_BYTES, ALLO_LIVE_BYTES);
	find_column(&columns, profile, ALLO_PP_END_BLOCKS, ALLO_LIVE_BLOCKS);
	find_column(&columns, profile, ALLO_PP_READS, ALLO_READ_BYTES);
	find_column(&columns, profile, ALLO_PP_WRITES, ALLO_WRITE_BYTES);
	/* A metric that serves as the total is not shown twice. */
	for (int field = ALLO_PP_LIFETIMES; field < ALLO_PP_FIELDS; field++) {
		bool is_bytes = columns.has[ALLO_PP_TOTAL_BYTES] &&
				columns.metric[field] == columns.metric[ALLO_PP_TOTAL_BYTES];
		bool is_blocks = columns.has[ALLO_PP_TOTAL_BLOCKS] &&
				 columns.metric[field] == columns.metric[ALLO_PP_TOTAL_BLOCKS];

		if (is_bytes || is_blocks)
			columns.has[field] = false;
	}
	return columns;
}

const struct allo_pp_sort *allo_pp_default_sort(const struct allo_pp_columns *columns)
{
	const bool *has = columns->has;

	return &allo_pp_sorts[has[ALLO_PP_TOTAL_BLOCKS]  ? TOTAL_BLOCKS
			      : has[ALLO_PP_TOTAL_BYTES] ? TOTAL_BYTES
			      : has[ALLO_PP_PEAK_BYTES]  ? PEAK_BYTES
			      : has[ALLO_PP_END_BYTES]   ? END_BYTES
							 : TOTAL_BYTES];
}

bool allo_pp_sort_fits(const struct allo_pp_sort *sort, const struct allo_pp_columns *columns)
{
	const bool *has = columns->has;
	bool has_bytes = has[ALLO_PP_TOTAL_BYTES], has_blocks = has[ALLO_PP_TOTAL_BLOCKS];
	bool has_accesses = has[ALLO_PP_READS] && has[ALLO_PP_WRITES];

	if (!has[sort->key])
		return false;
	switch (sort->condition) {
	case ALLO_PP_TINY:
		return has_bytes && has_blocks;
	case ALLO_PP_SHORT_LIVED:
		return has[ALLO_PP_LIFETIMES] && has_blocks;
	case ALLO_PP_UNUSED:
		return has_accesses;
	case ALLO_PP_LOW_ACCESS:
	case ALLO_PP_HIGH_ACCESS:
		return has_accesses && has_bytes;
	default:
		return true;
	}
}

bool allo_pp_sort_meets(const struct allo_pp_sort *sort, const struct allo_pp_values *values,
			uint64_t short_lived)
{
	allo_sum bytes = values->of[ALLO_PP_TOTAL_BYTES];
	allo_sum blocks = values->of[ALLO_PP_TOTAL_BLOCKS];
	allo_sum reads = values->of[ALLO_PP_READS], writes = values->of[ALLO_PP_WRITES];
	double reads_per_byte = allo_pp_ratio(reads, bytes);
	double writes_per_byte = allo_pp_ratio(writes, bytes);

	switch (sort->condition) {
	case ALLO_PP_TINY:
		return allo_pp_ratio(bytes, blocks) <= 16;
	case ALLO_PP_SHORT_LIVED:
		return allo_pp_ratio(values->of[ALLO_PP_LIFETIMES], blocks) <= (double)short_lived;
	case ALLO_PP_UNUSED:
		return reads == 0 || writes == 0;
	case ALLO_PP_LOW_ACCESS:
		return reads != 0 && writes != 0 &&
		       (reads_per_byte <= 0.4 || writes_per_byte <= 0.4);
	case ALLO_PP_HIGH_ACCESS:
		return reads_per_byte >= 1000 || writes_per_byte >= 1000;
	default:
		return true;
	}
}
