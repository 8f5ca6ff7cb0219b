/*
 * fuzz_list_lines.c - any bytes as the list that recorded processes write for `allo run`, or as the
 * path in a line that the runtime writes.
 */
#include "capture/file/announce_line.h"
#include "run/pid_namespace.h"
#include "run/recordings.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

bool allo_is_confined;

/* The real one searches /proc for every line. */
pid_t allo_pid_from_namespace(pid_t pid, uint64_t space)
{
	return space % 2 ? 0 : pid;
}

static void check(const struct allo_recordings *recordings)
{
	for (size_t i = 0; i < recordings->all.len; i++) {
		const struct allo_recorded *recorded = &recordings->all.at[i];

		if (recorded->own_pid <= 0 || (recorded->path && recorded->path[0] != '/'))
			abort();
	}
	for (size_t i = 0; i < recordings->skipped.len; i++) {
		if (!recordings->skipped.at[i].reason || recordings->skipped.at[i].times == 0)
			abort();
	}
	for (size_t i = 0; i < recordings->failures.len; i++) {
		if (!recordings->failures.at[i].reason)
			abort();
	}
}

static void read_list(struct allo_recordings *recordings, const void *bytes, size_t size)
{
	struct allo_error err = { 0 };

	*recordings = (struct allo_recordings){ .fd = memfd_create("list", MFD_CLOEXEC) };
	if (recordings->fd < 0 || write(recordings->fd, bytes, size) != (ssize_t)size)
		exit(1);
	allo_recordings_read_more(recordings, &err);
	check(recordings);
}

static void close_list(struct allo_recordings *recordings)
{
	close(recordings->fd);
	allo_recordings_close(recordings); /* it has no path, so it removes no file */
}

/* What the runtime says of a path is read as one line, and as nothing else. */
static void check_path(const char *path)
{
	struct allo_recordings recordings;
	struct allo_list_line line;

	allo_list_line_begin(&line, 4711, UINT64_MAX);
	allo_list_line_add(&line, "skipped static ");
	allo_list_line_add_path(&line, path);
	line.text[line.len++] = '\n';
	read_list(&recordings, line.text, line.len);
	if (recordings.all.len > 0 || recordings.failures.len > 0 || recordings.skipped.len != 1)
		abort();
	close_list(&recordings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct allo_recordings recordings;
	char *path = strndup((const char *)data, size);

	read_list(&recordings, data, size);
	close_list(&recordings);
	if (path)
		check_path(path);
	free(path);
	return 0;
}
