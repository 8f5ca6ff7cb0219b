/*
 * legacy_contention.c - time spent waiting for locks, by C++, Go and Java programs; and Java's
 * heap, whose file has the same layout.
 *
 *     --- contentionz 1 ---
 *     cycles/second = 3201000000
 *     sampling period = 100
 *     19490304 27 @ 0xbccc97 0xc61202       cycles, contentions and the stack
 *
 *     --- heapz 1 ---
 *     format = java
 *     resolution = bytes
 *     7048 1 @ 0x3 0x4                      bytes, blocks and the stack
 *     0x3 com.example.Cache.put (Cache.java:12)
 */
#include "readers/legacy/legacy_profile.h"

enum { JAVA_RATE = 512 << 10 }; /* bytes between samples of Java's heap */

struct contention {
	struct allo_legacy *legacy;
	bool is_heap, is_java;
	int64_t period;        /* contentions per sample; 0: not stated */
	int64_t hz;            /* cycles per second; 0: not stated */
	allo_string_id unit;   /* of Java's second metric */
	struct allo_text line; /* the current one */
	bool has_line;
};

bool allo_legacy_is_contention(struct allo_text line)
{
	return allo_text_starts(line, ALLO_TEXT("--- contentionz ")) ||
	       allo_text_starts(line, ALLO_TEXT("--- contention:")) ||
	       allo_text_starts(line, ALLO_TEXT("--- mutex:")) ||
	       allo_text_starts(line, ALLO_TEXT("--- heapz 1 ---"));
}

/* The head. */

static bool set_number(struct contention *c, struct allo_text value, int64_t *number,
		       struct allo_error *err)
{
	uint64_t magnitude;

	if (!allo_text_u64(value, &magnitude) || magnitude > INT64_MAX)
		return allo_legacy_fail_line(c->legacy, value, "a number", err);
	*number = (int64_t)magnitude;
	return true;
}

static bool set_duration(struct contention *c, struct allo_text value, struct allo_error *err)
{
	struct allo_meta *meta = &c->legacy->text.profile->meta;
	int64_t ms = 0;

	if (!set_number(c, value, &ms, err))
		return false;
	meta->clock = ALLO_CLOCK_NS;
	meta->duration = (uint64_t)allo_legacy_times(c->legacy, ms, 1000000);
	return true;
}

static bool read_attribute(struct contention *c, struct allo_text key, struct allo_text value,
			   struct allo_error *err)
{
	if (allo_text_equal(key, ALLO_TEXT("cycles/second")))
		return set_number(c, value, &c->hz, err);
	if (allo_text_equal(key, ALLO_TEXT("sampling period")))
		return set_number(c, value, &c->period, err);
	if (allo_text_equal(key, ALLO_TEXT("ms since reset")))
		return set_duration(c, value, err);
	if (allo_text_equal(key, ALLO_TEXT("discarded samples")))
		return true;
	if (allo_text_equal(key, ALLO_TEXT("format"))) {
		c->is_java = allo_text_equal(value, ALLO_TEXT("java"));
		return c->is_java || allo_legacy_fail_line(c->legacy, value, "\"java\"", err);
	}
	if (allo_text_equal(key, ALLO_TEXT("resolution"))) {
		c->unit = allo_profile_add_string(c->legacy->text.profile, value, err);
		return !allo_failed(err);
	}
	return allo_legacy_fail_line(c->legacy, key, "an attribute of a lock profile", err);
}

/* Reads "key = value" lines; the first other line stays current. */
static bool read_attributes(struct contention *c, struct allo_error *err)
{
	struct allo_text key, value;

	for (;;) {
		c->has_line = allo_legacy_line(c->legacy, &c->line, err);
		if (!c->has_line || !allo_text_cut(c->line, '=', &key, &value))
			return !allo_failed(err);
		if (!read_attribute(c, allo_text_trim(key), allo_text_trim(value), err))
			return false;
	}
}

static bool add_metrics(struct contention *c, struct allo_error *err)
{
	struct allo_text own = allo_profile_text(c->legacy->text.profile, c->unit);
	struct allo_text count = ALLO_TEXT("count");

	if (c->is_heap)
		return allo_legacy_add_metric(c->legacy, ALLO_TEXT("inuse_objects"), count, err) &&
		       allo_legacy_add_metric(c->legacy, ALLO_TEXT("inuse_space"),
					      own.len ? own : ALLO_TEXT("bytes"), err) &&
		       allo_legacy_set_period(c->legacy, ALLO_TEXT("space"), ALLO_TEXT("bytes"),
					      JAVA_RATE, err);
	return allo_legacy_add_metric(c->legacy, ALLO_TEXT("contentions"), count, err) &&
	       allo_legacy_add_metric(c->legacy, ALLO_TEXT("delay"),
				      own.len ? own : ALLO_TEXT("nanoseconds"), err) &&
	       allo_legacy_set_period(c->legacy, ALLO_TEXT("contentions"), count,
				      c->period ? c->period : 1, err);
}

/* Stacks. */

static bool take_number(struct allo_text *text, int64_t *number)
{
	uint64_t magnitude;

	*text = allo_text_trim(*text);
	if (!allo_text_take_u64(text, &magnitude) || magnitude > INT64_MAX)
		return false;
	*number = (int64_t)magnitude;
	return true;
}

/* "19490304 27 @ 0xbccc97 0xc61202" */
static bool parse_sample(struct allo_text line, int64_t *first, int64_t *second,
			 struct allo_text *addresses)
{
	struct allo_text rest = line;

	if (!take_number(&rest, first) || !take_number(&rest, second))
		return false;
	rest = allo_text_trim(rest);
	if (!allo_text_skip(&rest, ALLO_TEXT("@")))
		return false;
	*addresses = rest;
	return true;
}

/* Cycles become nanoseconds, and samples estimates, as in pprof. */
static int64_t delay_of(struct contention *c, int64_t cycles)
{
	double scaled;

	if (c->is_java || c->hz == 0)
		return c->is_java && c->period ? allo_legacy_times(c->legacy, cycles, c->period)
					       : cycles;
	scaled = (double)cycles * (double)(c->period ? c->period : 1) / ((double)c->hz / 1e9);
	if (scaled < 0x1p63)
		return (int64_t)scaled;
	allo_note(&c->legacy->text.profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return INT64_MAX;
}

static bool set_values(struct contention *c, int64_t first, int64_t second,
		       struct allo_heap_sample *sample, struct allo_error *err)
{
	struct allo_block_sum *values = &sample->counts.live;

	*values = (struct allo_block_sum){ .blocks = second, .bytes = first };
	if (!c->is_heap) {
		values->blocks = allo_legacy_times(c->legacy, second, c->period ? c->period : 1);
		values->bytes = delay_of(c, first);
		return true;
	}
	if (second == 0)
		return allo_legacy_fail_line(c->legacy, c->line, "a number of blocks above 0", err);
	sample->block_bytes = first / second;
	*values = allo_unsample(*values, JAVA_RATE, &c->legacy->text.profile->notes);
	return true;
}

static bool read_samples(struct contention *c, struct allo_error *err)
{
	for (; c->has_line; c->has_line = allo_legacy_line(c->legacy, &c->line, err)) {
		struct allo_heap_sample sample = { 0 };
		struct allo_text addresses;
		int64_t first, second;
		size_t depth = 0;

		if (!parse_sample(c->line, &first, &second, &addresses)) {
			if (c->is_java || allo_text_starts(c->line, ALLO_TEXT("---")) ||
			    allo_heap_text_is_maps_heading(c->line))
				return true;
			return allo_legacy_fail_line(c->legacy, c->line, "\"CYCLES COUNT @ 0x...\"",
						     err);
		}
		if (!set_values(c, first, second, &sample, err))
			return false;
		allo_heap_text_begin_stack(&c->legacy->text);
		if (!allo_legacy_add_addresses(c->legacy, addresses, &depth,
					       c->is_java ? ALLO_LEGACY_CALLS : ALLO_LEGACY_RETURNS,
					       err))
			return false;
		sample.stack = allo_heap_text_end_stack(&c->legacy->text, err);
		if (allo_failed(err) || !allo_legacy_add_sample(c->legacy, &sample, err))
			return false;
	}
	return !allo_failed(err);
}

bool allo_legacy_read_contention(struct allo_legacy *legacy, struct allo_error *err)
{
	struct contention c = { .legacy = legacy };

	if (!allo_legacy_line(legacy, &c.line, err))
		return false;
	c.is_heap = allo_text_starts(c.line, ALLO_TEXT("--- heapz"));
	if (!read_attributes(&c, err))
		return false;
	if (c.is_heap && !c.is_java)
		return allo_fail(err, ALLO_FORMAT,
				 (struct allo_pos){ .file = legacy->text.in->name },
				 "has no \"format = java\", which every heapz text has");
	if (c.is_heap)
		legacy->text.profile->meta.dialect = allo_profile_add_string(
			legacy->text.profile, ALLO_TEXT("heap"), err);
	if (allo_failed(err) || !add_metrics(&c, err) || !read_samples(&c, err))
		return false;
	if (!c.has_line)
		return true;
	return c.is_java ? allo_legacy_read_java_names(legacy, c.line, err)
			 : allo_legacy_read_rest(legacy, c.line, err);
}
