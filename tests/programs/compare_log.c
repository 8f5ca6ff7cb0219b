/*
 * compare_log.c - answers random windows of a recording by a change log and by replays.
 *
 *     compare_log FILE ROUNDS SEED
 *
 * Prints how many numbers were compared and how many differ.  For each second round, the log has
 * the other way of charging reallocs.  In other rounds it was stored, and is read for each window:
 * a window unpacks what it needs.
 */
#include "engine/cache/log_cache.h"
#include "view/log/change_log_stored.h"

#include "../unit/log_windows.h"

/* The window that leaves most segments packed. */
static struct allo_heap_options up_to_the_last_segment(const struct allo_change_log *log)
{
	struct allo_heap_options options = { .keeps_first = log->keeps_first };

	if (log->segments.len > 0)
		options.window.to_ns = log->segments.at[log->segments.len - 1].last_ns;
	return options;
}

static bool compare_stored(struct comparison *comparison, const struct allo_change_log *log,
			   struct allo_recording *recording, unsigned rounds, uint64_t seed,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	bool *threads = calloc(recording->streams.len + 1, sizeof(*threads));
	allo_cache_bytes bytes = { 0 };
	bool ok = threads && allo_change_log_store(log, 1, &bytes);

	for (unsigned i = 0; i < rounds && ok; i++) {
		ALLO_DEFER(allo_heap_done) struct allo_heap expected = { 0 }, found = { 0 };
		ALLO_DEFER(allo_change_log_done) struct allo_change_log read = { 0 };
		struct log_request request = { .threads = threads };
		uint64_t events;

		draw_request(&request, log, recording, &seed);
		if (i == 0)
			request.options = up_to_the_last_segment(log);
		ok = allo_change_log_read(&read, recording,
					  (struct allo_text){ bytes.at, bytes.len }, err) &&
		     allo_heap_replay(&expected, recording, &request.options, &events, err);
		if (!ok || !allo_change_log_answers(&read, &request.options))
			continue;
		ok = allo_change_log_heap(&read, &request.options, &found, NULL, err);
		if (ok)
			compare_heaps(comparison, &expected, &found, &request.options);
	}
	allo_vec_done(&bytes);
	return ok;
}

int main(int argc, char **argv)
{
	struct comparison comparison = { 0 };
	struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };
	unsigned rounds = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
	uint64_t changes = 0;
	bool ok = argc == 4 && allo_recording_open_file(&recording, argv[1], NULL, &err);

	for (int i = 0; i < 2 && ok; i++) {
		struct allo_change_log log = { .keeps_first = i };

		ok = allo_change_log_build(&log, &recording, NULL, &err) &&
		     compare_rounds(&comparison, &log, &recording, i ? rounds / 4 : rounds,
				    (uint64_t)atoll(argv[3]) + (unsigned)i, &err) &&
		     compare_stored(&comparison, &log, &recording, rounds / 2,
				    (uint64_t)atoll(argv[3]), &err);
		changes = log.change_count;
		allo_change_log_done(&log);
	}
	allo_recording_close(&recording);
	printf("%llu changes, %llu numbers compared, %llu differ\n", (unsigned long long)changes,
	       (unsigned long long)comparison.compared, (unsigned long long)comparison.different);
	if (!ok)
		fprintf(stderr, "compare_log: %s\n", err.message);
	return !ok || comparison.different > 0;
}
