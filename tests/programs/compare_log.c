/*
 * compare_log.c - answers random windows of a recording by a change log and by replays.
 *
 *     compare_log FILE ROUNDS SEED
 *
 * Prints how many numbers were compared and how many differ.  For each second round, the log has
 * the other way of charging reallocs.
 */
#include "../unit/log_windows.h"

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
				    (uint64_t)atoll(argv[3]) + (unsigned)i, &err);
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
