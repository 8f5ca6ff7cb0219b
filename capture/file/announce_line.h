/*
 * announce_line.h - a line of announce.h, built and written without libc.
 *
 * relaunch.c needs this before any function of libc may be called.
 */
#ifndef ALLO_CAPTURE_ANNOUNCE_LINE_H
#define ALLO_CAPTURE_ANNOUNCE_LINE_H

#include "capture/system.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
	ALLO_LIST_LINE_NUMBER = 24, /* bytes of a number, and more */
	ALLO_LIST_LINE_SIZE = PATH_MAX + 12 * ALLO_LIST_LINE_NUMBER,
	ALLO_LIST_LINE_LINKS = 100, /* per process */
};

/* A line that is being built; there is room for a path, a word and ten numbers. */
struct allo_list_line {
	size_t len;
	char text[ALLO_LIST_LINE_SIZE];
};

static inline void allo_list_line_add(struct allo_list_line *line, const char *text)
{
	for (; *text; text++)
		line->text[line->len++] = *text;
}

/* A path that is too long is cut; a newline in it must not start another line. */
static inline void allo_list_line_add_path(struct allo_list_line *line, const char *path)
{
	for (size_t i = 0; i < PATH_MAX && path[i]; i++)
		line->text[line->len++] = path[i] == '\n' ? '?' : path[i];
}

static inline void allo_list_line_add_number(struct allo_list_line *line, uint64_t number)
{
	uint64_t power = 1;

	while (number / power >= 10)
		power *= 10;
	for (; power > 0; power /= 10)
		line->text[line->len++] = (char)('0' + number / power % 10);
}

/* The process and its PID namespace. */
static inline void allo_list_line_begin(struct allo_list_line *line, uint64_t process,
					uint64_t space)
{
	line->len = 0;
	allo_list_line_add_number(line, process);
	allo_list_line_add(line, ":");
	allo_list_line_add_number(line, space);
	allo_list_line_add(line, " ");
}

/* Identifies the namespace of our process id; 0 if /proc is missing. */
static inline uint64_t allo_list_line_pid_namespace(void)
{
	struct stat status;

	if (ALLO_SYSCALL4(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &status, 0) < 0)
		return 0;
	return status.st_ino;
}

/* Writing beyond RLIMIT_FSIZE would send SIGXFSZ to the program. */
static inline bool allo_list_line_has_room(long fd, size_t len)
{
	struct rlimit limit;
	struct stat status;

	return ALLO_SYSCALL4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) < 0 ||
	       limit.rlim_cur == RLIM_INFINITY ||
	       (ALLO_SYSCALL2(SYS_fstat, fd, &status) == 0 &&
		(uint64_t)status.st_size + len <= limit.rlim_cur);
}

/* Appends the line with one O_APPEND write, so lines of other processes never mix with it.  `allo
 * run` removes the list when it ends: then the line has no reader, and counts as written. */
static inline bool allo_list_line_append(const struct allo_list_line *line, const char *list)
{
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, list, O_WRONLY | O_APPEND | O_CLOEXEC);
	bool is_written;

	if (fd < 0)
		return fd == -ENOENT;
	is_written = allo_list_line_has_room(fd, line->len) &&
		     ALLO_SYSCALL3(SYS_write, fd, line->text, line->len) == (long)line->len;
	ALLO_SYSCALL1(SYS_close, fd);
	return is_written;
}

/* Leaves the line as a link. */
static __attribute__((noinline, unused)) void allo_list_line_leave_link(
	const struct allo_list_line *line, const char *list, uint64_t process)
{
	struct allo_list_line path;
	size_t start;
	long result = -EEXIST;

	path.len = 0;
	allo_list_line_add_path(&path, list);
	allo_list_line_add(&path, ".");
	allo_list_line_add_number(&path, process);
	allo_list_line_add(&path, ".");
	start = path.len;
	for (unsigned i = 0; i < ALLO_LIST_LINE_LINKS && result == -EEXIST; i++) {
		path.len = start;
		allo_list_line_add_number(&path, i);
		path.text[path.len] = '\0';
		result = ALLO_SYSCALL3(SYS_symlinkat, line->text, AT_FDCWD, path.text);
	}
}

/* Writes the line to the list, or beside it. */
static inline void allo_list_line_write(struct allo_list_line *line, const char *list,
					uint64_t process)
{
	line->text[line->len++] = '\n';
	if (allo_list_line_append(line, list))
		return;
	line->text[line->len - 1] = '\0';
	allo_list_line_leave_link(line, list, process);
}

#endif
