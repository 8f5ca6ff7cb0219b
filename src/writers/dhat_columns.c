/* dhat_columns.c - chooses the metric for each number of a DHAT program point. */
#include "writers/dhat_columns.h"

#include "base/assert.h"

#include "analysis/sum.h"

/* A number in bytes and blocks, and the metrics that can stand in for it, the exact one first. */
struct stand_in {
	enum allo_point_field bytes, blocks;
	enum allo_meaning from[6]; /* metrics of bytes; ends with ALLO_MEANS_OTHER */
	enum allo_note note;
};

static const struct stand_in totals = {
	ALLO_POINT_TB,
	ALLO_POINT_TBK,
	{ ALLO_ALLOC_BYTES, ALLO_LIVE_BYTES, ALLO_PEAK_BYTES, ALLO_END_BYTES, ALLO_MAX_BYTES },
	ALLO_NOTE_NO_TOTAL,
};

static const struct stand_in lifetimes[] = {
	/* If unknown, the larger of the next two: see allo_point_fill(). */
	{ ALLO_POINT_MB, ALLO_POINT_MBK, { ALLO_MAX_BYTES }, ALLO_NOTE_NO_MAX },
	{ ALLO_POINT_GB,
	  ALLO_POINT_GBK,
	  { ALLO_PEAK_BYTES, ALLO_LIVE_BYTES, ALLO_END_BYTES },
	  ALLO_NOTE_NO_PEAK },
	{ ALLO_POINT_EB, ALLO_POINT_EBK, { ALLO_END_BYTES, ALLO_LIVE_BYTES }, ALLO_NOTE_NO_END },
};

static size_t find(const struct allo_profile *profile, enum allo_meaning meaning)
{
	size_t metric;

	return allo_profile_find_metric(profile, meaning, &metric) ? metric : ALLO_POINT_NONE;
}

/* Whether the profile has a metric of bytes, or the metric of blocks beside it. */
static bool has_either(const struct allo_profile *profile, enum allo_meaning bytes)
{
	return find(profile, bytes) != ALLO_POINT_NONE ||
	       find(profile, allo_metric_kinds[bytes].companion) != ALLO_POINT_NONE;
}

/* Notes something about every program point. */
static void note_all(struct allo_notes *notes, enum allo_note note,
		     const struct allo_profile *profile)
{
	notes->of[note].count += allo_profile_sample_count(profile);
}

static void fill_pair(struct allo_point_columns *columns, const struct stand_in *pair,
		      const struct allo_profile *profile, struct allo_notes *notes)
{
	const enum allo_meaning *from = pair->from;

	while (*from != ALLO_MEANS_OTHER && !has_either(profile, *from))
		from++;
	if (from != pair->from)
		note_all(notes, pair->note, profile);
	if (*from == ALLO_MEANS_OTHER)
		return;
	columns->metric[pair->bytes] = find(profile, *from);
	columns->metric[pair->blocks] = find(profile, allo_metric_kinds[*from].companion);
}

static bool lacks_half(const struct allo_point_columns *columns, const struct stand_in *pair)
{
	return (columns->metric[pair->bytes] == ALLO_POINT_NONE) !=
	       (columns->metric[pair->blocks] == ALLO_POINT_NONE);
}

static void fill_heap(struct allo_point_columns *columns, const struct allo_profile *profile,
		      struct allo_notes *notes)
{
	bool lacks_any;

	columns->has_lifetimes = has_either(profile, ALLO_PEAK_BYTES) ||
				 has_either(profile, ALLO_LIVE_BYTES) ||
				 has_either(profile, ALLO_END_BYTES);
	fill_pair(columns, &totals, profile, notes);
	lacks_any = lacks_half(columns, &totals);
	for (size_t i = 0; columns->has_lifetimes && i < sizeof(lifetimes) / sizeof(*lifetimes);
	     i++) {
		fill_pair(columns, &lifetimes[i], profile, notes);
		lacks_any |= lacks_half(columns, &lifetimes[i]);
	}
	if (lacks_any)
		note_all(notes, ALLO_NOTE_NO_BLOCKS, profile);
	if (columns->has_lifetimes) {
		columns->metric[ALLO_POINT_TL] = find(profile, ALLO_LIFETIME);
		if (columns->metric[ALLO_POINT_TL] == ALLO_POINT_NONE)
			note_all(notes, ALLO_NOTE_NO_LIFETIME, profile);
	}
	columns->has_accesses = find(profile, ALLO_READ_BYTES) != ALLO_POINT_NONE &&
				find(profile, ALLO_WRITE_BYTES) != ALLO_POINT_NONE;
	if (columns->has_accesses) {
		columns->metric[ALLO_POINT_RB] = find(profile, ALLO_READ_BYTES);
		columns->metric[ALLO_POINT_WB] = find(profile, ALLO_WRITE_BYTES);
	}
}

/* The first metric with the unit "count". */
static size_t find_count(const struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (!profile->metrics.at[i].is_before &&
		    allo_text_equal(allo_profile_text(profile, profile->metrics.at[i].unit),
				    ALLO_TEXT("count")))
			return i;
	}
	return ALLO_POINT_NONE;
}

/* Fills in a profile that is not about memory: events with a weight. */
static void fill_events(struct allo_point_columns *columns, const struct allo_profile *profile,
			struct allo_notes *notes)
{
	size_t units = find(profile, ALLO_EVENT_UNITS), events = find(profile, ALLO_EVENTS);

	if (profile->metrics.len == 0)
		return;
	columns->metric[ALLO_POINT_TB] = units != ALLO_POINT_NONE ? units
								  : allo_default_metric(profile);
	columns->metric[ALLO_POINT_TBK] = events != ALLO_POINT_NONE ? events : find_count(profile);
	if (columns->metric[ALLO_POINT_TBK] == ALLO_POINT_NONE)
		note_all(notes, ALLO_NOTE_NO_BLOCKS, profile);
}

static bool is_about_memory(const struct allo_profile *profile)
{
	for (const enum allo_meaning *from = totals.from; *from != ALLO_MEANS_OTHER; from++) {
		if (has_either(profile, *from))
			return true;
	}
	return false;
}

static bool has_place(const struct allo_point_columns *columns, size_t metric)
{
	for (int field = 0; field < ALLO_POINT_FIELDS; field++) {
		if (columns->metric[field] == metric)
			return true;
	}
	return false;
}

struct allo_point_columns allo_point_columns_of(const struct allo_profile *profile,
						struct allo_notes *notes)
{
	struct allo_point_columns columns = { .kind = ALLO_POINT_AD_HOC };

	for (int field = 0; field < ALLO_POINT_FIELDS; field++)
		columns.metric[field] = ALLO_POINT_NONE;
	if (is_about_memory(profile)) {
		columns.kind = ALLO_POINT_HEAP;
		fill_heap(&columns, profile, notes);
	} else if (find(profile, ALLO_COPY_BYTES) != ALLO_POINT_NONE) {
		columns.kind = ALLO_POINT_COPY;
		columns.metric[ALLO_POINT_TB] = find(profile, ALLO_COPY_BYTES);
		columns.metric[ALLO_POINT_TBK] = find(profile, ALLO_COPY_BLOCKS);
		if (columns.metric[ALLO_POINT_TBK] == ALLO_POINT_NONE)
			note_all(notes, ALLO_NOTE_NO_BLOCKS, profile);
	} else {
		fill_events(&columns, profile, notes);
	}
	ALLO_ASSERT(!columns.has_accesses || columns.kind == ALLO_POINT_HEAP);
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (!has_place(&columns, i))
			allo_note(notes, ALLO_NOTE_LEFT_OUT, ALLO_NOWHERE);
	}
	return columns;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void allo_point_fill(const struct allo_point_columns *columns, const struct allo_profile *profile,
		     size_t sample, uint64_t out[ALLO_POINT_FIELDS], struct allo_notes *notes)
{
	const uint64_t *row = allo_profile_row(profile, sample);

	for (int field = 0; field < ALLO_POINT_FIELDS; field++) {
		size_t metric = columns->metric[field];

		out[field] = metric == ALLO_POINT_NONE ? 0 : row[metric];
		if (metric != ALLO_POINT_NONE && profile->metrics.at[metric].is_signed &&
		    (int64_t)out[field] < 0) {
			allo_note(notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
			out[field] = 0;
		}
	}
	if (columns->metric[ALLO_POINT_MB] == ALLO_POINT_NONE)
		out[ALLO_POINT_MB] = larger(out[ALLO_POINT_GB], out[ALLO_POINT_EB]);
	if (columns->metric[ALLO_POINT_MBK] == ALLO_POINT_NONE)
		out[ALLO_POINT_MBK] = larger(out[ALLO_POINT_GBK], out[ALLO_POINT_EBK]);
}
