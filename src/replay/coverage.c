/* coverage.c - see coverage.h. */
#include "replay/coverage.h"

#include "base/units.h"

#include <stdio.h>

enum {
	MOSTLY = 80,      /* percent of the peak: blocks that hold so much need no explanation */
	WORTH_SAYING = 8, /* percent of the peak, of another part */
	RECORDER = 3,     /* the same, of the recorder: less is lost in the noise of the kernel */
	SMALL = 4 << 20,  /* bytes: the rest of a smaller process is its code */
	MAX_PARTS = 3,
};

static const struct {
	const char *before, *after;
} parts[ALLO_RESIDENT_PARTS] = {
	[ALLO_RESIDENT_HEAP] = { "", " free in malloc" },
	[ALLO_RESIDENT_MAPPED] = { "the program mapped ", " itself (--track mmap records it)" },
	[ALLO_RESIDENT_FILES] = { "", " code and files" },
	[ALLO_RESIDENT_DATA] = { "", " variables" },
	[ALLO_RESIDENT_STACKS] = { "", " stacks" },
	[ALLO_RESIDENT_SHARED] = { "", " shared memory" },
	[ALLO_RESIDENT_EITHER] = { "", " free in malloc or mapped (--track mmap tells which)" },
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

static uint64_t less(uint64_t bytes, uint64_t part)
{
	return bytes > part ? bytes - part : 0;
}

/* The memory of a part that is not recorded.  Recorded blocks that the heap has no room for are in
 * memory that was not mapped by malloc: Python's arenas, or an allocator in the program. */
static uint64_t unrecorded(const struct allo_resident *resident, unsigned part)
{
	uint64_t bytes = resident->parts[part], heap = resident->parts[ALLO_RESIDENT_HEAP];

	if (part == ALLO_RESIDENT_MAPPED && resident->tracks_mappings)
		return 0;
	if (part == ALLO_RESIDENT_HEAP)
		return less(heap, resident->live_bytes);
	if (part == ALLO_RESIDENT_MAPPED || part == ALLO_RESIDENT_EITHER)
		return less(bytes, less(resident->live_bytes, heap));
	return bytes;
}

static const char *text_after(const struct allo_resident *resident, unsigned part)
{
	static const char *const heaps[] = {
		[ALLO_MAPPED_HEAP_V8] = " itself, with V8's heap (--track mmap records it)",
		[ALLO_MAPPED_HEAP_JAVA] = " itself, with Java's heap (--track mmap records it)",
		[ALLO_MAPPED_HEAP_LUAJIT] = " itself, with LuaJIT's heap (--track mmap records it)",
	};

	if (part == ALLO_RESIDENT_MAPPED && resident->mapped_heap != ALLO_MAPPED_HEAP_NONE)
		return heaps[resident->mapped_heap];
	if (part == ALLO_RESIDENT_EITHER && resident->tracks_mappings)
		return parts[ALLO_RESIDENT_HEAP].after;
	return parts[part].after;
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

	if (resident->parts_bytes == 0 && resident->peak_bytes > SMALL)
		put(line, "; the rest was not examined");

	for (int told = 0; told < MAX_PARTS; told++) {
		unsigned next = find_next(resident, is_told);

		if (next == ALLO_RESIDENT_PARTS)
			return;
		is_told[next] = true;
		put(line, told == 0 ? "; " : ", ");
		put(line, parts[next].before);
		put_bytes(line, unrecorded(resident, next), false);
		put(line, text_after(resident, next));
	}
}

/* The recorder's memory, which is not the program's. */
static uint64_t recorder_bytes(const struct allo_resident *resident)
{
	uint64_t bytes = resident->parts[ALLO_RESIDENT_RECORDER];

	return bytes < resident->peak_bytes ? bytes : 0;
}

uint64_t allo_coverage_resident(const struct allo_resident *resident)
{
	return resident->peak_bytes - recorder_bytes(resident);
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

const char *allo_coverage_text(const struct allo_summary *summary, bool is_plain,
			       char out[ALLO_COVERAGE_SIZE])
{
	const struct allo_resident *resident = &summary->resident;
	struct line line = { .at = out, .is_plain = is_plain };
	uint64_t peak = allo_coverage_resident(resident);

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
