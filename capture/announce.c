/* announce.c - appends lines to ALLO_LIST. */
#include "capture/announce.h"
#include "base/assert.h"
#include "capture/file_name.h"
#include "capture/recorder.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <allo.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { NUMBER_SIZE = 24 };

/* Identifies the namespace of our process id; 0 if /proc is missing.  Found when a recording
 * begins: at exit, a sandbox may forbid the call. */
static uint64_t pid_namespace;

static void find_pid_namespace(void)
{
	struct stat status;

	pid_namespace = 0;
	if (ALLO_SYSCALL4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &status, 0) == 0)
		pid_namespace = status.st_ino;
}

/* Writes each line with one O_APPEND write, so lines of other processes never mix with it. */
static void announce(const char *text, const char *path, const uint64_t *numbers, size_t count)
{
	char line[PATH_MAX + 12 * NUMBER_SIZE];
	size_t len = allo_put_decimal(line, 0, (uint64_t)ALLO_SYSCALL1(SYS_getpid, 0));
	long fd;

	line[len++] = ':';
	len += allo_put_decimal(line + len, 0, pid_namespace);
	line[len++] = ' ';
	for (; *text; text++)
		line[len++] = *text;
	/* A path that is too long is cut; a newline in it must not start another line. */
	for (size_t i = 0; path[i] && i < PATH_MAX; i++)
		line[len++] = path[i] == '\n' ? '?' : path[i];
	for (size_t i = 0; i < count; i++) {
		line[len++] = ' ';
		len += allo_put_decimal(line + len, 0, numbers[i]);
	}
	ALLO_ASSERT(len < sizeof(line));
	line[len++] = '\n';
	fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, allo_settings.list,
			   O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	ALLO_SYSCALL3(SYS_write, fd, line, len);
	ALLO_SYSCALL1(SYS_close, fd);
}

void allo_announce_begin(void)
{
	if (!allo_settings.list[0])
		return;
	find_pid_namespace();
	announce(allo_settings.has_file ? "" : "counting",
		 allo_settings.has_file ? allo_recorder->path : "", NULL, 0);
}

void allo_announce_skipped(enum allo_skip skip, const char *path)
{
	static const char *const texts[] = {
#define TEXT(name, word, text) [ALLO_SKIP_##name] = "skipped " word " ",
		ALLO_SKIPS(TEXT)
#undef TEXT
	};

	ALLO_ASSERT(skip != ALLO_SKIP_NONE);
	if (allo_settings.list[0])
		announce(texts[skip], path, NULL, 0);
}

/* Whether this process itself records.  A child made by vfork() sees its parent's memory. */
static bool is_recording_process(void)
{
	const struct allo_recorder *r = allo_recorder;

	return r && r->state == ALLO_RECORDER_ON &&
	       r->head->pid == (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
}

void allo_announce_counts(void)
{
	struct allo_heap_stats stats;

	if (!allo_settings.list[0] || allo_settings.has_file || !is_recording_process() ||
	    !allo_get_heap_stats(&stats))
		return;
	announce("counted", "",
		 (uint64_t[]){ stats.total_blocks, stats.total_bytes,
			       (uint64_t)stats.current_blocks, (uint64_t)stats.current_bytes,
			       stats.peak_blocks, stats.peak_bytes },
		 6);
}
