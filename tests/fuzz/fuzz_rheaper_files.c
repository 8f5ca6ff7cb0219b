/*
 * fuzz_rheaper_files.c - short inputs as the files of a recording of rheaper's.
 *
 * An archive has sums that a fuzzer does not find: here each file is a byte for its kind, one for
 * its length in steps of 7, and the bytes.  The profile must have the sums of the rows.
 */
#include "base/defer.h"
#include "readers/readers.h"
#include "readers/rheaper/rheaper_profile.h"
#include "readers/rheaper/rheaper_rows.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	BLOCK = 512,
	FILE_HEAD = 2,
	STEP = 7,
	FILES_MAX = 16,
	ROOM = BLOCK * (2 + 255 * STEP / BLOCK)
};

/* A tar header and its file; returns their size. */
static size_t lay_out(unsigned number, bool is_events, const uint8_t *data, size_t len,
		      uint8_t *out)
{
	char *header = (char *)out;
	unsigned sum = 0;

	snprintf(header, 100, "rip-1/%s%u", is_events ? "events/events-" : "backtraces/bt-",
		 number);
	snprintf(header + 124, 12, "%011zo", len);
	memcpy(header + 257, "ustar\00000", 8);
	header[156] = '0';
	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += out[i];
	snprintf(header + 148, 8, "%06o", sum);
	memcpy(out + BLOCK, data, len);
	return BLOCK + (len + BLOCK - 1) / BLOCK * BLOCK;
}

/* The sums of the rows. */
struct tally {
	uint64_t rows, bytes, live_rows, live_bytes, temporary;
};

static bool tally(void *context, const struct allo_allocation *rows, size_t count,
		  struct allo_error *err)
{
	struct tally *sums = context;

	(void)err;
	sums->rows += count;
	for (size_t i = 0; i < count; i++) {
		bool is_live = rows[i].free_ns == ALLO_NEVER_FREED && rows[i].free_thread == 0;

		sums->bytes += rows[i].size;
		sums->live_rows += is_live;
		sums->live_bytes += is_live ? rows[i].size : 0;
		sums->temporary += rows[i].is_temporary;
	}
	return true;
}

static uint64_t sum_of(const struct allo_profile *profile, size_t metric)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		sum += allo_profile_row(profile, i)[metric];
	return sum;
}

/* In the order of rheaper_profile.c. */
enum { ALLOC_BLOCKS, ALLOC_BYTES, END_BLOCKS = 6, END_BYTES, TEMPORARY = 9 };

static void read_archive(const uint8_t *archive, size_t len)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_rheaper_close) struct allo_rheaper_files files = { 0 };
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };
	struct allo_error err = { 0 };
	struct tally sums = { 0 };

	if (!allo_input_open_memory(&in, "fuzz", archive, len, &err) ||
	    !allo_rheaper_open_archive(&files, &in, &err) ||
	    !allo_rheaper_profile(&files, &stacks, &profile, &err)) {
		if (!allo_failed(&err))
			abort();
		return;
	}
	if (!allo_profile_validate(&profile, &err) ||
	    !allo_rheaper_rows(&files, &stacks, tally, &sums, &err) ||
	    sums.rows != sum_of(&profile, ALLOC_BLOCKS) ||
	    sums.bytes != sum_of(&profile, ALLOC_BYTES) ||
	    sums.live_rows != sum_of(&profile, END_BLOCKS) ||
	    sums.live_bytes != sum_of(&profile, END_BYTES) ||
	    sums.temporary != sum_of(&profile, TEMPORARY))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *archive = calloc(FILES_MAX, ROOM);
	size_t used = 0;

	if (!archive)
		return 0;
	for (unsigned i = 0; i < FILES_MAX && size > FILE_HEAD; i++) {
		size_t len = (size_t)data[1] * STEP;
		bool is_events = data[0] & 1;

		data += FILE_HEAD;
		size -= FILE_HEAD;
		len = len < size ? len : size;
		used += lay_out(i, is_events, data, len, archive + used);
		data += len;
		size -= len;
	}
	read_archive(archive, used);
	free(archive);
	return 0;
}
