/* control_socket.c - see control_socket.h. */
#include "capture/control_socket.h"
#include "capture/file_name.h"
#include "capture/settings.h"
#include "capture/system.h"
#include "wire/control_message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum {
	WAITING_MOST = 16, /* connections that nobody has taken yet */
	NAMES_MOST = 100,  /* of processes with one number, in containers that share the folder */
};

/* Of the process's own user alone, and what it seems to be: no link. */
static bool is_own_folder(int fd)
{
	struct stat status;

	return ALLO_SYSCALL4(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 &&
	       S_ISDIR(status.st_mode) && status.st_uid == (uid_t)ALLO_SYSCALL1(SYS_geteuid, 0) &&
	       (status.st_mode & 077) == 0;
}

static int open_folder(const char *path)
{
	return (int)ALLO_SYSCALL4(SYS_openat, AT_FDCWD, path,
				  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

/* -1 where it is not, or not as it has to be. */
static int open_own_folder(const char *path)
{
	int fd = open_folder(path);

	if (fd < 0)
		return -1;
	if (is_own_folder(fd))
		return fd;
	ALLO_SYSCALL1(SYS_close, fd);
	return -1;
}

/* The same, and makes it where it is not. */
static int make_own_folder(const char *path)
{
	ALLO_SYSCALL3(SYS_mkdirat, AT_FDCWD, path, 0700);
	return open_own_folder(path);
}

/* A text at the end of another one; false where there is no room. */
static bool append(char *path, size_t room, const char *text)
{
	size_t len = strlen(path), more = strlen(text);

	if (more >= room - len)
		return false;
	memcpy(path + len, text, more + 1);
	return true;
}

static bool append_number(char *path, size_t room, uint64_t number)
{
	char digits[24];

	digits[allo_put_decimal(digits, 0, number)] = '\0';
	return append(path, room, digits);
}

/* The folder in XDG_RUNTIME_DIR, if that is this user's. */
static int open_runtime_folder(char *path, size_t room)
{
	int above, fd = -1;

	path[0] = '\0';
	if (allo_settings.runtime[0] != '/' || !append(path, room, allo_settings.runtime))
		return -1;
	above = open_own_folder(path);
	if (above < 0)
		return -1;
	if (append(path, room, "/" ALLO_CONTROL_FOLDER))
		fd = make_own_folder(path);
	ALLO_SYSCALL1(SYS_close, above);
	return fd;
}

static int open_common_folder(char *path, size_t room)
{
	path[0] = '\0';
	if (!append(path, room, ALLO_CONTROL_COMMON) ||
	    !append_number(path, room, (uint64_t)ALLO_SYSCALL1(SYS_geteuid, 0)))
		return -1;
	return make_own_folder(path);
}

/* Names in a folder: by the folder's descriptor, since a socket's path may have 107 bytes only, and
 * since the folder is the one that was looked at then. */
static bool address_in(int folder, const char *name, struct sockaddr_un *address)
{
	char *path = address->sun_path;
	size_t room = sizeof(address->sun_path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return append(path, room, "/proc/thread-self/fd/") &&
	       append_number(path, room, (uint64_t)folder) && append(path, room, "/") &&
	       append(path, room, name);
}

static int new_socket(void)
{
	return (int)ALLO_SYSCALL3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				  0);
}

static long bind_in(int fd, int folder, const char *name)
{
	struct sockaddr_un address;

	if (!address_in(folder, name, &address))
		return -ENAMETOOLONG;
	return ALLO_SYSCALL3(SYS_bind, fd, &address, sizeof(address));
}

/* Whether there is nothing of this name, or a socket at which nobody listens any more: that of a
 * process that was killed, or of the program that this process was before. */
static bool is_free(int folder, const char *name)
{
	struct sockaddr_un address;
	struct stat status;
	long result;
	int fd;

	if (ALLO_SYSCALL4(SYS_newfstatat, folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return true;
	if (!S_ISSOCK(status.st_mode) || !address_in(folder, name, &address))
		return false;
	fd = new_socket();
	if (fd < 0)
		return false;
	result = ALLO_SYSCALL3(SYS_connect, fd, &address, sizeof(address));
	ALLO_SYSCALL1(SYS_close, fd);
	return result == -ECONNREFUSED;
}

/* Gives the socket, which listens, its name. */
static bool publish(int folder, const char *hidden, const char *name)
{
	return is_free(folder, name) &&
	       ALLO_SYSCALL4(SYS_renameat2, folder, hidden, folder, name) == 0;
}

/* "PID.sock", or "PID.2.sock" where that is another's. */
static bool publish_number(int folder, const char *hidden, char *name, size_t room)
{
	for (uint64_t number = 1; number <= NAMES_MOST; number++) {
		name[0] = '\0';
		if (!append_number(name, room, (uint64_t)ALLO_SYSCALL1(SYS_getpid, 0)) ||
		    (number > 1 &&
		     (!append(name, room, ".") || !append_number(name, room, number))) ||
		    !append(name, room, ALLO_CONTROL_END))
			return false;
		if (publish(folder, hidden, name))
			return true;
	}
	return false;
}

/* Listens under a name that nobody looks for yet; nobody but this user may ever connect. */
static int listen_hidden(int folder, const char *hidden)
{
	int fd = new_socket();

	if (fd < 0)
		return -1;
	ALLO_SYSCALL3(SYS_unlinkat, folder, hidden, 0);
	if (bind_in(fd, folder, hidden) == 0) {
		if (ALLO_SYSCALL3(SYS_fchmodat, folder, hidden, 0600) == 0 &&
		    ALLO_SYSCALL2(SYS_listen, fd, WAITING_MOST) == 0)
			return fd;
		ALLO_SYSCALL3(SYS_unlinkat, folder, hidden, 0);
	}
	ALLO_SYSCALL1(SYS_close, fd);
	return -1;
}

/* `given`: the name that it is to have; NULL: that of the process.  `path` is the folder's, and
 * becomes its own. */
static int open_in(int folder, const char *given, char *path, size_t room)
{
	char hidden[NAME_MAX + 1] = ".", name[NAME_MAX + 1] = "";
	bool is_named;
	int fd;

	if (!append_number(hidden, sizeof(hidden), (uint64_t)ALLO_SYSCALL1(SYS_gettid, 0)) ||
	    !append(hidden, sizeof(hidden), ".new"))
		return -1;
	fd = listen_hidden(folder, hidden);
	if (fd < 0)
		return -1;
	is_named = given ? append(name, sizeof(name), given) && publish(folder, hidden, name)
			 : publish_number(folder, hidden, name, sizeof(name));
	if (is_named && append(path, room, "/") && append(path, room, name))
		return fd;
	ALLO_SYSCALL3(SYS_unlinkat, folder, is_named ? name : hidden, 0);
	ALLO_SYSCALL1(SYS_close, fd);
	return -1;
}

/* Where somebody wants it to be; whose folder that is, is his affair. */
static int open_given(char *path, size_t room)
{
	char name[NAME_MAX + 1] = "", *slash;
	int folder, fd;

	if (!allo_file_name(allo_settings.control, 1, path, room))
		return -1;
	slash = strrchr(path, '/');
	if (!slash || !append(name, sizeof(name), slash + 1))
		return -1;
	*slash = '\0';
	folder = (int)ALLO_SYSCALL4(SYS_openat, AT_FDCWD, slash == path ? "/" : path,
				    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (folder < 0)
		return -1;
	fd = open_in(folder, name, path, room);
	ALLO_SYSCALL1(SYS_close, folder);
	return fd;
}

int allo_control_socket_open(char *path, size_t room)
{
	int folder, fd;

	if (allo_settings.control[0])
		return open_given(path, room);
	folder = open_runtime_folder(path, room);
	if (folder < 0)
		folder = open_common_folder(path, room);
	if (folder < 0)
		return -1;
	fd = open_in(folder, NULL, path, room);
	ALLO_SYSCALL1(SYS_close, folder);
	return fd;
}

struct allo_control_peer allo_control_socket_peer(int fd)
{
	struct ucred user = { 0 };
	socklen_t len = sizeof(user);

	if (allo_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&user, (long)&len, 0) <
		    0 ||
	    len != sizeof(user))
		return (struct allo_control_peer){ 0 };
	return (struct allo_control_peer){
		.process = user.pid,
		.is_trusted = user.uid == 0 || user.uid == (uid_t)ALLO_SYSCALL1(SYS_geteuid, 0),
	};
}
