/* recorder_file.c - names that do not exist yet, and descriptors that are open for a moment. */
#include "capture/recorder_file.h"
#include "capture/file_name.h"
#include "capture/settings.h"
#include "capture/spin.h"
#include "capture/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Recordings contain addresses and arguments of the program: other users may not read them. */
enum { MODE = 0600 };

/* Names. */

static long open_new(const char *path)
{
	return ALLO_SYSCALL4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			     MODE);
}

/* Creates an unnamed file in the folder of `path`. */
static long open_without_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";

	if (slash) {
		size_t len = (size_t)(slash - path) + 1; /* with the slash, for "/" */

		memcpy(folder, path, len);
		folder[len] = '\0';
	}
	return ALLO_SYSCALL4(SYS_openat, AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
}

/* Links the unnamed file of a descriptor. */
static long give_name(int fd, const char *path)
{
	char link[64] = "/proc/thread-self/fd/"; /* threads may have separate descriptors */
	size_t len = strlen(link);

	link[len + allo_put_decimal(link + len, 0, (uint64_t)fd)] = '\0';
	return allo_syscall(SYS_linkat, AT_FDCWD, (long)link, AT_FDCWD, (long)path,
			    AT_SYMLINK_FOLLOW, 0);
}

/* True if a numbered name is taken by a file that was converted from an earlier recording. */
static bool is_taken(char *path)
{
	char *end = path + strlen(path) - strlen(ALLO_RECORDING_END);
	bool is_there;

	if (!allo_settings.format[0] || !strstr(allo_settings.output, "%n"))
		return false;
	*end = '\0';
	is_there = ALLO_SYSCALL4(SYS_faccessat, AT_FDCWD, path, F_OK, 0) == 0;
	*end = ALLO_RECORDING_END[0];
	return is_there;
}

long allo_fd_move_up(long fd)
{
	long moved = ALLO_SYSCALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, ALLO_FD_LEAST);

	if (moved < 0)
		return fd;
	ALLO_SYSCALL1(SYS_close, fd);
	return moved;
}

bool allo_fd_is_file(int fd, dev_t device, ino_t inode)
{
	struct stat status;

	return ALLO_SYSCALL2(SYS_fstat, fd, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

/*
 * The last descriptor numbers of the file.  If another thread forks while the file is open, the
 * child inherits a descriptor that it must close.  A number stays in this list after it is closed,
 * because fork copies the descriptors first and the memory later.
 */
enum { RECENT = 8 };

static struct {
	int fds[RECENT]; /* number + 1; 0: none */
	unsigned next;
	dev_t device;
	ino_t inode;
} recent;

static void note_open(const struct allo_recorder *r, long fd)
{
	__atomic_store_n(&recent.device, r->device, __ATOMIC_RELAXED);
	__atomic_store_n(&recent.inode, r->inode, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < RECENT; i++) {
		if (__atomic_load_n(&recent.fds[i], __ATOMIC_RELAXED) == (int)fd + 1)
			return;
	}
	__atomic_store_n(
		&recent.fds[__atomic_fetch_add(&recent.next, 1, __ATOMIC_RELAXED) % RECENT],
		(int)fd + 1, __ATOMIC_RELAXED);
}

/* Links `unnamed` under the first free name of the pattern, or creates a file there if it is
 * negative.  Returns 0 or the new descriptor, or -errno. */
static long take_name(struct allo_recorder *r, int unnamed)
{
	long result = -EEXIST;

	for (unsigned number = 1; result == -EEXIST; number++) {
		if (!allo_file_name(allo_settings.output, number, r->path, sizeof(r->path)))
			return -ENAMETOOLONG;
		if (!is_taken(r->path))
			result = unnamed < 0 ? open_new(r->path) : give_name(unnamed, r->path);
	}
	return result;
}

/* Notes which file is that of the recording. */
static long keep(struct allo_recorder *r, long fd)
{
	struct stat status;
	long result = fd < 0 ? fd : ALLO_SYSCALL2(SYS_fstat, fd, &status);

	if (result < 0) {
		if (fd >= 0)
			ALLO_SYSCALL1(SYS_close, fd);
		return result;
	}
	r->device = status.st_dev;
	r->inode = status.st_ino;
	note_open(r, fd);
	return fd;
}

long allo_recorder_file_create_unnamed(struct allo_recorder *r)
{
	if (!allo_file_name(allo_settings.output, 1, r->path, sizeof(r->path)))
		return -ENAMETOOLONG;
	return keep(r, open_without_name(r->path));
}

long allo_recorder_file_link(struct allo_recorder *r, long unnamed)
{
	return take_name(r, (int)unnamed);
}

long allo_recorder_file_create(struct allo_recorder *r)
{
	return keep(r, take_name(r, -1));
}

/* Opening. */

/* Opens a path if it is that of the recording. */
static long open_path(const struct allo_recorder *r, const char *path)
{
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return fd;
	note_open(r, fd);
	if (allo_fd_is_file((int)fd, r->device, r->inode))
		return fd;
	ALLO_SYSCALL1(SYS_close, fd);
	return -ENOENT;
}

static size_t put_hex(char *out, uint64_t value)
{
	size_t len = 0;

	for (int shift = 60; shift >= 0; shift -= 4) {
		unsigned digit = (unsigned)(value >> shift) & 15;

		if (digit || len > 0)
			out[len++] = "0123456789abcdef"[digit];
	}
	return len;
}

/* Finds the current path of a renamed file, which the kernel knows from the mapping of its head. */
static bool find_path(struct allo_recorder *r)
{
	char link[64] = "/proc/self/map_files/";
	uint64_t start = (uint64_t)r->head;
	size_t at = strlen(link);
	long len;

	if (!r->head)
		return false;
	at += put_hex(link + at, start);
	link[at++] = '-';
	at += put_hex(link + at, start + ALLO_SLOT_SIZE);
	link[at] = '\0';
	len = ALLO_SYSCALL4(SYS_readlinkat, AT_FDCWD, link, r->new_path, PATH_MAX - 1);
	if (len <= 0)
		return false;
	r->new_path[len] = '\0';
	return true;
}

/* The path is not on the stack: programs have stacks of a few KiB. */
static long open_renamed(struct allo_recorder *r)
{
	enum { TRIES = 1000 };
	long fd = -ENOENT;
	unsigned tries = 0;

	/* Not forever: a signal handler may have interrupted the owner. */
	while (!allo_spin_try(&r->is_finding) && tries < TRIES) {
		ALLO_SYSCALL1(SYS_sched_yield, 0);
		tries++;
	}
	if (tries == TRIES)
		return -ENOENT;
	if (find_path(r))
		fd = open_path(r, r->new_path);
	allo_spin_unlock(&r->is_finding);
	return fd;
}

long allo_recorder_file_open(struct allo_recorder *r)
{
	long fd = open_path(r, r->path);

	return fd == -ENOENT ? open_renamed(r) : fd;
}

void allo_recorder_file_close(long fd)
{
	if (fd >= 0)
		ALLO_SYSCALL1(SYS_close, fd);
}

void allo_recorder_file_forked(void)
{
	for (unsigned i = 0; i < RECENT; i++) {
		int fd = recent.fds[i] - 1;

		if (fd >= 0 && allo_fd_is_file(fd, recent.device, recent.inode))
			ALLO_SYSCALL1(SYS_close, fd);
		recent.fds[i] = 0;
	}
}
