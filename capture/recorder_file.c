/* recorder_file.c - names that do not exist yet, and descriptors that the program may close. */
#include "capture/recorder_file.h"
#include "capture/file_name.h"
#include "capture/settings.h"
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

/* A descriptor that the thread which ended the recording could not close, because it has separate
 * descriptors. */
static struct left_file {
	int fd; /* 0: none */
	dev_t device;
	ino_t inode;
} left_file;

static void close_left_file(void)
{
	int fd = __atomic_load_n(&left_file.fd, __ATOMIC_ACQUIRE);

	/* Several threads may come here: only one of them closes it. */
	if (fd != 0 && allo_fd_is_file(fd, left_file.device, left_file.inode) &&
	    __atomic_compare_exchange_n(&left_file.fd, &fd, 0, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		ALLO_SYSCALL1(SYS_close, fd);
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

/* Makes an open file that of the recording. */
static bool keep(struct allo_recorder *r, long fd)
{
	struct stat status;

	r->failure = fd < 0 ? (int)-fd : 0;
	if (fd < 0)
		return false;
	r->fd = (int)allo_fd_move_up(fd);
	if (ALLO_SYSCALL2(SYS_fstat, r->fd, &status) < 0)
		return false;
	r->device = status.st_dev;
	r->inode = status.st_ino;
	return true;
}

bool allo_recorder_file_create_unnamed(struct allo_recorder *r)
{
	close_left_file();
	return keep(r, allo_file_name(allo_settings.output, 1, r->path, sizeof(r->path))
			       ? open_without_name(r->path)
			       : -ENAMETOOLONG);
}

bool allo_recorder_file_create(struct allo_recorder *r)
{
	close_left_file();
	return keep(r, take_name(r, -1));
}

/* Opens the file again.  If two threads do so at once, one of them closes its descriptor. */
static bool open_again(struct allo_recorder *r, int before)
{
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, r->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return false;
	fd = allo_fd_move_up(fd);
	if (allo_fd_is_file((int)fd, r->device, r->inode) &&
	    __atomic_compare_exchange_n(&r->fd, &before, (int)fd, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return true;
	ALLO_SYSCALL1(SYS_close, fd);
	return allo_fd_is_file(before, r->device, r->inode);
}

bool allo_recorder_file_link(struct allo_recorder *r)
{
	int unnamed = r->fd;

	if (take_name(r, unnamed) != 0)
		return false;
	/* /proc shows a descriptor and its mappings under the name they were opened with. */
	if (open_again(r, unnamed) && r->fd != unnamed)
		ALLO_SYSCALL1(SYS_close, unnamed);
	return true;
}

bool allo_recorder_file_is_open(struct allo_recorder *r)
{
	int fd = __atomic_load_n(&r->fd, __ATOMIC_ACQUIRE);

	if (allo_fd_is_file(fd, r->device, r->inode))
		return true;
	close_left_file();
	return open_again(r, fd);
}

void allo_recorder_file_close(struct allo_recorder *r)
{
	if (allo_fd_is_file(r->fd, r->device, r->inode))
		ALLO_SYSCALL1(SYS_close, r->fd);
	else if (r->fd > 0)
		left_file = (struct left_file){ r->fd, r->device, r->inode };
}
