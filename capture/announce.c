/* announce.c - appends lines to ALLO_LIST, or leaves links beside it. */
#include "capture/announce.h"
#include "base/assert.h"
#include "capture/file_name.h"
#include "capture/recorder.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <allo.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
	NUMBER_SIZE = 24,
	LINKS_MAX = 100, /* per process */
};

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

/* Writing beyond RLIMIT_FSIZE would send SIGXFSZ to the program. */
static bool has_room(long fd, size_t len)
{
	struct rlimit limit;
	struct stat status;

	return ALLO_SYSCALL4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0 ||
	       limit.rlim_cur == RLIM_INFINITY ||
	       (ALLO_SYSCALL2(SYS_fstat, fd, &status) == 0 &&
		(uint64_t)status.st_size + len <= limit.rlim_cur);
}

/* Appends the line with one O_APPEND write, so lines of other processes never mix with it. */
static bool append(const char *line, size_t len)
{
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, allo_settings.list,
				O_WRONLY | O_APPEND | O_CLOEXEC);
	bool is_written;

	if (fd < 0)
		return false;
	is_written = has_room(fd, len) && ALLO_SYSCALL3(SYS_write, fd, line, len) == (long)len;
	ALLO_SYSCALL1(SYS_close, fd);
	return is_written;
}

/* Leaves the line as a link. */
static __attribute__((noinline)) void leave_link(const char *line)
{
	char path[PATH_MAX + 2 * NUMBER_SIZE];
	size_t len = strlen(allo_settings.list);
	long result = -EEXIST;

	memcpy(path, allo_settings.list, len);
	path[len++] = '.';
	len += allo_put_decimal(path + len, 0, allo_process_number());
	path[len++] = '.';
	for (unsigned i = 0; i < LINKS_MAX && result == -EEXIST; i++) {
		path[len + allo_put_decimal(path + len, 0, i)] = '\0';
		result = ALLO_SYSCALL3(SYS_symlinkat, line, AT_FDCWD, path);
	}
}

static void announce(const char *text, const char *path, const uint64_t *numbers, size_t count)
{
	char line[PATH_MAX + 12 * NUMBER_SIZE];
	size_t len = allo_put_decimal(line, 0, allo_process_number());

	line[len++] = ':';
	len += allo_put_decimal(line + len, 0, pid_namespace);
	line[len++] = ' ';
	for (; *text; text++)
		line[len++] = *text;
	/* A path that is too long is cut; a newline in it must not start another line. */
	for (size_t i = 0; i < PATH_MAX && path[i]; i++)
		line[len++] = path[i] == '\n' ? '?' : path[i];
	for (size_t i = 0; i < count; i++) {
		line[len++] = ' ';
		len += allo_put_decimal(line + len, 0, numbers[i]);
	}
	ALLO_ASSERT(len + 1 < sizeof(line));
	line[len] = '\n';
	if (append(line, len + 1))
		return;
	line[len] = '\0';
	leave_link(line);
}

void allo_announce_begin(void)
{
	if (!allo_settings.list[0])
		return;
	find_pid_namespace();
	announce(allo_settings.has_file ? "" : "counting",
		 allo_settings.has_file ? allo_recorder->path : "", NULL, 0);
}

void allo_announce_failure(int error)
{
	char text[sizeof("failed ") + NUMBER_SIZE] = "failed ";
	size_t len = strlen(text);

	if (!allo_settings.list[0])
		return;
	find_pid_namespace();
	len += allo_put_decimal(text + len, 0, (uint64_t)error);
	text[len++] = ' ';
	text[len] = '\0';
	announce(text, allo_settings.program, NULL, 0);
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

	return r && r->state == ALLO_RECORDER_ON && r->head->pid == allo_process_number();
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
