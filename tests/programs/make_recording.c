/*
 * make_recording.c - writes a recording of a program that never was.
 *
 *     make_recording server|sampled|killed|empty|resident|notes|long-notes|ad-hoc|shuffled|many
 *                    raw|packed FILE
 */
#include "../unit/recordings.h"
#include "replay/packed/pack_recording.h"

#include <stdio.h>

static bool write_raw(const struct recorder *recorder, const char *path)
{
	FILE *file = fopen(path, "wb");

	return file &&
	       fwrite(recorder->file, 1, recorder_size(recorder), file) ==
		       recorder_size(recorder) &&
	       fclose(file) == 0;
}

int main(int argc, char **argv)
{
	struct recorder recorder = { 0 };
	struct allo_error err = { 0 };
	bool ok;

	if (argc != 4)
		return 2;
	if (strcmp(argv[1], "server") == 0)
		record_server(&recorder);
	else if (strcmp(argv[1], "sampled") == 0)
		record_sampled(&recorder);
	else if (strcmp(argv[1], "killed") == 0)
		record_killed(&recorder);
	else if (strcmp(argv[1], "empty") == 0)
		record_tables(&recorder);
	else if (strcmp(argv[1], "resident") == 0)
		record_resident(&recorder, 20000);
	else if (strcmp(argv[1], "notes") == 0)
		record_notes(&recorder);
	else if (strcmp(argv[1], "long-notes") == 0)
		record_long_notes(&recorder, 600000);
	else if (strcmp(argv[1], "ad-hoc") == 0)
		record_ad_hoc(&recorder);
	else if (strcmp(argv[1], "shuffled") == 0)
		record_shuffled(&recorder);
	else
		record_many(&recorder, 4, 1000000);
	ok = write_raw(&recorder, argv[3]);
	if (ok && strcmp(argv[2], "packed") == 0)
		ok = allo_recording_pack(argv[3], argv[3], NULL, &err);
	recorder_done(&recorder);
	return ok ? 0 : 1;
}
