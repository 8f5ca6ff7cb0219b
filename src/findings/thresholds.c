/* thresholds.c - the table of thresholds with defaults, and the parser of their values. */
#include "findings/thresholds.h"

#include "base/units.h"

#include <math.h>
#include <stdlib.h>

#define PERCENT(name, value, about)                                                                \
	{                                                                                          \
		name, (value) / 100.0, ALLO_THRESHOLD_PERCENT, about                               \
	}
#define BYTES(name, value, about)                                                                  \
	{                                                                                          \
		name, value, ALLO_THRESHOLD_BYTES, about                                           \
	}
#define COUNT(name, value, about)                                                                  \
	{                                                                                          \
		name, value, ALLO_THRESHOLD_COUNT, about                                           \
	}
#define TIME(name, value, about)                                                                   \
	{                                                                                          \
		name, value, ALLO_THRESHOLD_NS, about                                              \
	}
#define NUMBER(name, value, about)                                                                 \
	{                                                                                          \
		name, value, ALLO_THRESHOLD_NUMBER, about                                          \
	}

const struct allo_threshold_kind allo_threshold_kinds[ALLO_THRESHOLDS] = {
	[ALLO_LEAK_GROWING_SHARE] = PERCENT("leak-growing.share", 1,
					    "minimum share of the memory that was never freed"),
	[ALLO_LEAK_GROWING_BYTES] = BYTES("leak-growing.bytes", 65536, "minimum bytes never freed"),
	[ALLO_LEAK_GROWING_R2] = NUMBER("leak-growing.r2", 0.8,
					"minimum fit of a rising line to the last 3/4 of the run"),
	[ALLO_LEAK_GROWING_DURATION] = TIME("leak-growing.duration", 1000000000,
					    "minimum length of the run"),
	[ALLO_LEAK_EXIT_SHARE] = PERCENT("leak-exit.share", 0.1, "minimum share of the peak"),
	[ALLO_LEAK_EXIT_BYTES] = BYTES("leak-exit.bytes", 16384, "minimum bytes never freed"),
	[ALLO_GROW_BY_ONE_SHARE] = PERCENT("grow-by-one.share", 1,
					   "minimum copied share of all allocated bytes"),
	[ALLO_GROW_BY_ONE_BYTES] = BYTES("grow-by-one.bytes", 1 << 20, "minimum copied bytes"),
	[ALLO_GROWTH_FACTOR_SHARE] = PERCENT("growth-factor.share", 1,
					     "minimum copied share of all allocated bytes"),
	[ALLO_GROWTH_FACTOR_CHAINS] = COUNT("growth-factor.chains", 100,
					    "minimum number of blocks that grew at least 4 times"),
	[ALLO_CHURN_LOOP_SHARE] = PERCENT("churn-loop.share", 0.5, "minimum share of all blocks"),
	[ALLO_CHURN_LOOP_BLOCKS] = COUNT("churn-loop.blocks", 10000, "minimum number of blocks"),
	[ALLO_TEMP_FORMAT_SHARE] = PERCENT("temp-format.share", 0.5, "minimum share of all blocks"),
	[ALLO_TEMP_FORMAT_BLOCKS] = COUNT("temp-format.blocks", 10000, "minimum number of blocks"),
	[ALLO_SAME_SIZE_SHARE] = PERCENT("same-size.share", 20, "minimum share of all blocks"),
	[ALLO_SAME_SIZE_BLOCKS] = COUNT("same-size.blocks", 100000, "minimum number of blocks"),
	[ALLO_TINY_SHARE] = PERCENT("tiny.share", 0.5, "minimum share of all blocks"),
	[ALLO_TINY_BLOCKS] = COUNT("tiny.blocks", 10000, "minimum number of blocks"),
	[ALLO_TINY_SIZE] = BYTES("tiny.size", 16, "maximum average size"),
	[ALLO_ZERO_SIZE_BLOCKS] = COUNT("zero-size.blocks", 1000, "minimum number of blocks"),
	[ALLO_DOUBLE_BUFFER_SHARE] = PERCENT("double-buffer.share", 10,
					     "minimum share of the peak, of each site"),
	[ALLO_DOUBLE_BUFFER_BYTES] = BYTES("double-buffer.bytes", 1 << 20,
					   "minimum bytes at the peak, of each site"),
	[ALLO_SPIKE_FACTOR] = NUMBER("spike.factor", 2, "minimum peak, in 95th percentiles"),
	[ALLO_SPIKE_BYTES] = BYTES("spike.bytes", 1 << 20, "minimum rise"),
	[ALLO_SPIKE_DURATION] = TIME("spike.duration", 100000000, "minimum length of the run"),
	[ALLO_LATE_FREE_SHARE] = PERCENT("late-free.share", 5, "minimum share of the peak"),
	[ALLO_LATE_FREE_BYTES] = BYTES("late-free.bytes", 1 << 20, "minimum bytes"),
	[ALLO_CROSS_THREAD_SHARE] = PERCENT("cross-thread.share", 30,
					    "minimum share of the site's frees"),
	[ALLO_CROSS_THREAD_BLOCKS] = PERCENT("cross-thread.blocks", 1,
					     "minimum share of all blocks"),
	[ALLO_STARTUP_SHARE] = PERCENT("startup.share", 20, "minimum share of the peak"),
	[ALLO_STARTUP_BYTES] = BYTES("startup.bytes", 16 << 20, "minimum bytes"),
	[ALLO_STARTUP_DURATION] = TIME("startup.duration", 1000000000, "minimum length of the run"),
	[ALLO_FRAGMENTATION_SHARE] = PERCENT("fragmentation.share", 30,
					     "minimum unused share of malloc's memory"),
	[ALLO_FRAGMENTATION_BYTES] = BYTES("fragmentation.bytes", 16 << 20, "minimum unused bytes"),
	[ALLO_FRAGMENTATION_DURATION] = TIME("fragmentation.duration", 1000000000,
					     "minimum time after the peak"),
	[ALLO_NEVER_READ_SHARE] = PERCENT("never-read.share", 1,
					  "minimum share of all allocated bytes"),
	[ALLO_NEVER_READ_BYTES] = BYTES("never-read.bytes", 4096, "minimum bytes"),
	[ALLO_NEVER_WRITTEN_SHARE] = PERCENT("never-written.share", 1,
					     "minimum share of all allocated bytes"),
	[ALLO_NEVER_WRITTEN_BYTES] = BYTES("never-written.bytes", 4096, "minimum bytes"),
	[ALLO_LOW_USE_SHARE] = PERCENT("low-use.share", 1, "minimum share of all allocated bytes"),
	[ALLO_LOW_USE_BYTES] = BYTES("low-use.bytes", 4096, "minimum bytes"),
	[ALLO_LOW_ACCESS_SHARE] = PERCENT("low-access.share", 1,
					  "minimum share of all allocated bytes"),
	[ALLO_LOW_ACCESS_BYTES] = BYTES("low-access.bytes", 65536, "minimum bytes"),
	[ALLO_QUALITY_STACKS] = PERCENT("quality.stacks", 1, "maximum share of truncated stacks"),
	[ALLO_QUALITY_NAMES] = PERCENT("quality.names", 10,
				       "maximum share of blocks whose site has no name"),
	[ALLO_QUALITY_SAMPLES] = COUNT("quality.samples", 30,
				       "minimum number of recorded blocks in a sample"),
	[ALLO_HIGH_COST] = PERCENT("severity.high", 10, "minimum cost of a high severity"),
	[ALLO_MEDIUM_COST] = PERCENT("severity.medium", 2, "minimum cost of a medium severity"),
};

void allo_thresholds_init(struct allo_thresholds *thresholds)
{
	for (size_t i = 0; i < ALLO_THRESHOLDS; i++)
		thresholds->at[i] = allo_threshold_kinds[i].value;
}

static bool parse_number(struct allo_text text, double *value)
{
	char number[32], *end;

	if (text.len >= sizeof(number) || text.len == 0 || !allo_is_digit(text.data[0]))
		return false;
	memcpy(number, text.data, text.len);
	number[text.len] = '\0';
	*value = strtod(number, &end);
	return *end == '\0' && isfinite(*value);
}

static bool parse_percent(struct allo_text text, double *value)
{
	if (allo_text_ends(text, ALLO_TEXT("%")))
		text.len--;
	if (!parse_number(allo_text_trim(text), value))
		return false;
	*value /= 100;
	return true;
}

static bool parse(enum allo_threshold_unit unit, struct allo_text text, double *value)
{
	uint64_t number;

	switch (unit) {
	case ALLO_THRESHOLD_PERCENT:
		return parse_percent(text, value);
	case ALLO_THRESHOLD_NUMBER:
		return parse_number(text, value);
	case ALLO_THRESHOLD_NS:
		if (!allo_parse_ns(text, &number))
			return false;
		break;
	default:
		if (!allo_parse_bytes(text, &number))
			return false;
	}
	*value = (double)number;
	return true;
}

bool allo_thresholds_set(struct allo_thresholds *thresholds, struct allo_text name,
			 struct allo_text value, struct allo_pos pos, struct allo_error *err)
{
	static const char *const expected[] = { "a percentage such as 2%", "a size such as 64K",
						"a number", "a time such as 2s", "a number" };

	for (size_t i = 0; i < ALLO_THRESHOLDS; i++) {
		const struct allo_threshold_kind *kind = &allo_threshold_kinds[i];

		if (!allo_text_equal(name, allo_text_of(kind->name)))
			continue;
		return parse(kind->unit, value, &thresholds->at[i]) ||
		       allo_fail(err, ALLO_FORMAT, pos, "findings.%s: expected %s, found \"%.*s\"",
				 kind->name, expected[kind->unit], ALLO_TEXT_ARG(value));
	}
	allo_fail(err, ALLO_FORMAT, pos, "unknown key \"findings.%.*s\"", ALLO_TEXT_ARG(name));
	return allo_hint(err, "'allo findings --list-rules' lists the keys");
}
