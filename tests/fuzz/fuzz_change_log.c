/*
 * fuzz_change_log.c - a stored change log with some bytes changed.
 *
 * The log is that of a small recording with labels, marks and events of the program.  Each five
 * bytes of the input are a place and a value: of the stored bytes or, if the first byte of the
 * input is odd, of the columns before they are stored, so that the frames are intact.
 */
#include "base/defer.h"
#include "engine/cache/log_cache.h"
#include "recordings.h"
#include "view/log/change_log_stored.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void change(char *bytes, size_t len, const uint8_t *data, size_t size)
{
	for (; size >= 5 && len > 0; data += 5, size -= 5)
		bytes[(data[0] | data[1] << 8 | data[2] << 16 | (size_t)data[3] << 24) % len] =
			(char)data[4];
}

static bool ignore(void *context, const struct allo_change *changes, size_t count,
		   struct allo_error *err)
{
	(void)context, (void)changes, (void)count, (void)err;
	return true;
}

static void ask(const struct allo_change_log *log)
{
	const struct allo_heap_options requests[] = {
		{ .wants_births = true },
		{ .window = { 1, log->end_ns / 2 + 1, NULL }, .keeps_before = true },
		{ .window = { log->end_ns / 3, 0, NULL } },
		{ .by_thread = true, .wants_births = true },
	};
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { 0 };
	struct allo_error err = { 0 };

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
		struct allo_heap_options request = requests[i];
		struct allo_error unused = { 0 };

		request.keeps_first = log->keeps_first;
		allo_change_log_heap(log, &request, &heap, NULL, &unused);
	}
	if (allo_change_log_timeline(log, 0, 0, 50, &timeline, &err))
		allo_change_log_walk(log, 1, 0, ignore, NULL, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_change_log_done) struct allo_change_log built = { 0 };
	struct allo_change_log read = { 0 };
	allo_cache_bytes bytes = { 0 };
	struct allo_error err = { 0 };
	bool is_inside = size > 0 && data[0] % 2;

	if (!recorder.file)
		record_notes(&recorder);
	if (!allo_input_open_memory(&in, "fuzz", recorder.file, recorder.slots * ALLO_SLOT_SIZE,
				    &err) ||
	    !allo_recording_open(&recording, &in, &err) ||
	    !allo_change_log_build(&built, &recording, NULL, &err))
		abort();
	if (is_inside)
		change(built.segments.at[0].memory, built.segments.at[0].memory_bytes, data + 1,
		       size - 1);
	if (!allo_change_log_store(&built, 1, &bytes))
		abort();
	if (!is_inside && size > 0)
		change(bytes.at, bytes.len, data + 1, size - 1);
	if (allo_change_log_read(&read, &recording, (struct allo_text){ bytes.at, bytes.len },
				 &err))
		ask(&read);
	allo_change_log_done(&read);
	allo_vec_done(&bytes);
	return 0;
}
