/* recorder_file.c - names that do not exist yet, and descriptors that are open for a moment. */
#include "capture/file/recorder_file.h"
#include "capture/file/file_name.h"
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

/* The folder of a path, with the slash at its end. */
static void copy_folder(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;

	memcpy(folder, len > 0 ? path : "./", len > 0 ? len : 2);
	folder[len > 0 ? len : 2] = '\0';
}

/* Gives a new folder the permissions of the folder that it is in: processes of other users create
 * recordings in it, too.  But in a folder like /tmp, others could add theirs. */
static void open_to_others(const char *folder)
{
	char above[PATH_MAX];
	struct stat status;
	long fd;

	copy_folder(folder, above);
	if (ALLO_SYSCALL4(SYS_newfstatat, AT_FDCWD, above, &status, 0) != 0 ||
	    (status.st_mode & S_ISVTX) != 0)
		return;
	fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, folder,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	ALLO_SYSCALL2(SYS_fchmod, fd, status.st_mode & 02777);
	ALLO_SYSCALL1(SYS_close, fd);
}

/* Creates the folder of `path`.  Returns 0 or -errno. */
static long make_folder(const char *path)
{
	char folder[PATH_MAX];
	long result;

	copy_folder(path, folder);
	folder[strlen(folder) - 1] = '\0';
	result = ALLO_SYSCALL3(SYS_mkdirat, AT_FDCWD, folder, 0700);
	if (result < 0)
		return result == -EEXIST ? 0 : result;
	open_to_others(folder);
	return 0;
}

/* Creates an unnamed file in the folder of `path`. */
static long open_without_name(const char *path)
{
	char folder[PATH_MAX];

	copy_folder(path, folder);
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

/* Whether ALLO_OUTPUT names the recording of this process. */
static bool is_main(void)
{
	return !allo_settings.family[0] || allo_settings.main_pid == allo_process_number();
}

/* The `number`-th path of a pattern, in a folder that exists.  Returns 0 or -errno. */
static long make_path(struct allo_recorder *r, const char *pattern, unsigned number)
{
	if (!allo_file_name(pattern, number, r->path, sizeof(r->path)))
		return -ENAMETOOLONG;
	return pattern == allo_settings.family && number == 1 ? make_folder(r->path) : 0;
}

/* Links `unnamed` under a path, or creates a file there if it is negative.  Returns 0 or the new
 * descriptor, or -errno. */
static long take_path(char *path, int unnamed)
{
	if (is_taken(path))
		return -EEXIST;
	return unnamed < 0 ? open_new(path) : give_name(unnamed, path);
}

/* The same under the first free name of a pattern. */
static long take_free_path(struct allo_recorder *r, const char *pattern, int unnamed)
{
	long result = -EEXIST;

	for (unsigned number = 1; result == -EEXIST; number++) {
		result = make_path(r, pattern, number);
		if (result == 0)
			result = take_path(r->path, unnamed);
	}
	return result;
}

/* The same under the name of this process.  If an earlier program of the process has that name, the
 * recording belongs to the other processes. */
static long take_name(struct allo_recorder *r, int unnamed)
{
	long result = -EEXIST;

	if (!allo_settings.family[0]) {
		result = take_free_path(r, allo_settings.output, unnamed);
		if (result >= 0 && allo_settings.gathers_children)
			allo_settings_gather_children(r->path);
		return result;
	}
	if (is_main())
		result = make_path(r, allo_settings.output, 1);
	if (result == 0)
		result = take_path(r->path, unnamed);
	return result == -EEXIST ? take_free_path(r, allo_settings.family, unnamed) : result;
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
	long result = make_path(r, is_main() ? allo_settings.output : allo_settings.family, 1);

	return result < 0 ? result : keep(r, open_without_name(r->path));
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
