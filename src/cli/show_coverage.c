/* show_coverage.c - see show_coverage.h. */
#include "cli/show_coverage.h"

#include "base/units.h"

#include <stdio.h>

enum {
	MOSTLY = 80,      /* percent of the peak: blocks that hold so much need no explanation */
	WORTH_SAYING = 8, /* percent of the peak, of another part */
	RECORDER = 3,     /* the same, of the recorder: less is lost in the noise of the kernel */
	MAX_PARTS = 3,
};

static const struct {
	const char *field, *before, *after;
} parts[ALLO_RESIDENT_PARTS] = {
	[ALLO_RESIDENT_HEAP] = { "heap_bytes", "", " free in malloc" },
	[ALLO_RESIDENT_MAPPED] = { "mapped_bytes", "the program mapped ",
				   " itself (--track mmap records it)" },
	[ALLO_RESIDENT_FILES] = { "file_bytes", "", " code and files" },
	[ALLO_RESIDENT_DATA] = { "data_bytes", "", " variables" },
	[ALLO_RESIDENT_STACKS] = { "stack_bytes", "", " stacks" },
	[ALLO_RESIDENT_SHARED] = { "shared_bytes", "", " shared memory" },
	[ALLO_RESIDENT_RECORDER] = { "recorder_bytes" }, /* told beside the program */
};

/* A line that is cut if it does not fit. */
struct line {
	char *at;
	size_t len;
	bool is_plain;
};

static void put(struct line *line, const char *text)
{
	int len = snprintf(line->at + line->len, ALLO_COVERAGE_SIZE - line->len, "%s", text);

	line->len += (size_t)len < ALLO_COVERAGE_SIZE - line->len
			     ? (size_t)len
			     : ALLO_COVERAGE_SIZE - line->len - 1;
}

static void put_bytes(struct line *line, uint64_t bytes, bool is_estimated)
{
	char text[ALLO_NUMBER_SIZE];

	put(line,
	    allo_format((struct allo_number){ .magnitude = bytes, .is_estimated = is_estimated },
			ALLO_UNIT_BYTES, line->is_plain, text));
}

/* The memory of a part that is not recorded. */
static uint64_t unrecorded(const struct allo_resident *resident, unsigned part)
{
	uint64_t bytes = resident->parts[part];

	if (part == ALLO_RESIDENT_MAPPED && resident->tracks_mappings)
		return 0;
	if (part != ALLO_RESIDENT_HEAP)
		return bytes;
	return bytes > resident->live_bytes ? bytes - resident->live_bytes : 0;
}

/* The largest part that was not told and is worth it; ALLO_RESIDENT_PARTS: none. */
static unsigned find_next(const struct allo_resident *resident, const bool *is_told)
{
	uint64_t most = resident->peak_bytes / 100 * WORTH_SAYING;
	unsigned next = ALLO_RESIDENT_PARTS;

	for (unsigned i = 0; i < ALLO_RESIDENT_PARTS; i++) {
		if (!is_told[i] && parts[i].after && unrecorded(resident, i) > most) {
			most = unrecorded(resident, i);
			next = i;
		}
	}
	return next;
}

static void put_rest(struct line *line, const struct allo_resident *resident)
{
	bool is_told[ALLO_RESIDENT_PARTS] = { 0 };

	for (int told = 0; told < MAX_PARTS; told++) {
		unsigned next = find_next(resident, is_told);

		if (next == ALLO_RESIDENT_PARTS)
			return;
		is_told[next] = true;
		put(line, told == 0 ? "; " : ", ");
		put(line, parts[next].before);
		put_bytes(line, unrecorded(resident, next), false);
		put(line, parts[next].after);
	}
}

/* The recorder's memory, which is not the program's. */
static uint64_t recorder_bytes(const struct allo_resident *resident)
{
	uint64_t bytes = resident->parts[ALLO_RESIDENT_RECORDER];

	return bytes < resident->peak_bytes ? bytes : 0;
}

static void put_recorder(struct line *line, const struct allo_resident *resident)
{
	uint64_t bytes = recorder_bytes(resident);

	if (resident->parts_bytes == 0) {
		put(line, " (with the recorder)");
	} else if (bytes > resident->peak_bytes / 100 * RECORDER) {
		put(line, " (the recorder: ");
		put_bytes(line, bytes, false);
		put(line, " more)");
	}
}

const char *allo_show_coverage(const struct allo_summary *summary, bool is_plain,
			       char out[ALLO_COVERAGE_SIZE])
{
	const struct allo_resident *resident = &summary->resident;
	struct line line = { .at = out, .is_plain = is_plain };
	uint64_t peak = resident->peak_bytes - recorder_bytes(resident);

	out[0] = '\0';
	if (peak == 0)
		return out;
	put(&line, resident->tracks_mappings ? "malloc and mappings held " : "malloc held ");
	put_bytes(&line, resident->live_bytes, allo_summary_is_estimated(summary));
	put(&line, resident->live_bytes > peak ? ", mostly untouched: " : " of ");
	put_bytes(&line, peak, false);
	put(&line, " resident at the peak");
	put_recorder(&line, resident);
	if (resident->live_bytes < peak / 100 * MOSTLY)
		put_rest(&line, resident);
	return out;
}

void allo_report_field_coverage(struct allo_report *report, const struct allo_summary *summary)
{
	const struct allo_resident *resident = &summary->resident;

	if (resident->peak_bytes == 0)
		return;
	allo_report_object(report, "resident");
	allo_report_field_u64(report, "peak_bytes", resident->peak_bytes);
	if (resident->peak_ns != UINT64_MAX)
		allo_report_field_u64(report, "peak_ns", resident->peak_ns);
	allo_report_field_u64(report, "live_bytes", resident->live_bytes);
	if (resident->parts_bytes > 0) {
		allo_report_object(report, "parts");
		for (unsigned i = 0; i < ALLO_RESIDENT_PARTS; i++) {
			if (parts[i].field)
				allo_report_field_u64(report, parts[i].field, resident->parts[i]);
		}
		allo_report_close(report);
	}
	allo_report_close(report);
}
