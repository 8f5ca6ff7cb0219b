/*
 * control.c - the control socket of a process: opens it, answers requests, removes it at exit.
 *
 * The sections follow a request's way: the socket's address, the user it acts as, connections, the
 * thread that waits, and the calls that the program's threads make.
 */
#include "capture/control/control.h"
#include "base/assert.h"
#include "capture/control/requests.h"
#include "capture/file/file_name.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/system.h"
#include "capture/thread_rest.h"
#include "capture/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum {
	BACKLOG = 16,       /* connections that wait for accept() */
	NAMES_MAX = 100,    /* processes with one pid, in containers that share the folder */
	GROUPS_MAX = 64,    /* losing further supplementary groups only loses access */
	STATUS_SIZE = 4096, /* bytes; /proc/PID/status is about 1500 */
	CONNECTIONS = 8,    /* at a time; others wait in the backlog */
	CLIENT_TIMEOUT_NS = 2000000000,
	ACCEPT_RETRY_NS = 100000000,
	SOCKET_DELAY_NS = 5000000, /* shorter-lived processes get no socket */
	POLL_NS = 200000,          /* how often program threads check on the control thread */
	POLLS_MAX = 1000,          /* 0.2 s in all, for a socket that is being opened */
	LEAVE_POLLS_MAX = 10000,   /* 2 s in all, for a thread that may be answering a request */
	SECOND_NS = 1000000000,
	ALONE_CHECK_NS = SECOND_NS, /* how often the thread checks that others are alive */
};

/* The socket and its folder. */

/* Whether a descriptor is a directory that only the process's own user can enter. */
static bool is_private_folder(int fd)
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

/* Opens a private directory; -1 if it is missing or others can enter it. */
static int open_private_folder(const char *path)
{
	int fd = open_folder(path);

	if (fd < 0)
		return -1;
	if (is_private_folder(fd))
		return fd;
	ALLO_SYSCALL1(SYS_close, fd);
	return -1;
}

/* Opens a private directory, and creates it if needed. */
static int make_private_folder(const char *path)
{
	ALLO_SYSCALL3(SYS_mkdirat, AT_FDCWD, path, 0700);
	return open_private_folder(path);
}

/* Appends a text to a path in a buffer of `room` bytes; false if it does not fit. */
static bool append(char *path, size_t room, const char *text)
{
	size_t len = strlen(path), more = strlen(text);

	ALLO_ASSERT(len < room);
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

/* The folder of XDG_RUNTIME_DIR, or the one that it usually names. */
static bool find_runtime_folder(char *path, size_t room)
{
	path[0] = '\0';
	if (allo_settings.runtime[0])
		return allo_settings.runtime[0] == '/' && append(path, room, allo_settings.runtime);
	return append(path, room, ALLO_CONTROL_USERS) &&
	       append_number(path, room, (uint64_t)ALLO_SYSCALL1(SYS_geteuid, 0));
}

/* Opens our folder in it, if it is private. */
static int open_runtime_folder(char *path, size_t room)
{
	int above, fd = -1;

	if (!find_runtime_folder(path, room))
		return -1;
	above = open_private_folder(path);
	if (above < 0)
		return -1;
	if (append(path, room, "/" ALLO_CONTROL_FOLDER))
		fd = make_private_folder(path);
	ALLO_SYSCALL1(SYS_close, above);
	return fd;
}

/* Opens the fallback folder, /tmp/allo-UID. */
static int open_common_folder(char *path, size_t room)
{
	path[0] = '\0';
	if (!append(path, room, ALLO_CONTROL_COMMON) ||
	    !append_number(path, room, (uint64_t)ALLO_SYSCALL1(SYS_geteuid, 0)))
		return -1;
	return make_private_folder(path);
}

/* Makes a socket address for a name in an open folder.  It goes through the folder's descriptor
 * because sun_path holds only 107 bytes, and because it is then the folder that was checked. */
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

/* Whether a name is unused, or a stale socket: one of a process that was killed, or of the program
 * that this process ran before execve(). */
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

/* Renames a listening socket to its public name. */
static bool publish(int folder, const char *hidden, const char *name)
{
	return is_free(folder, name) &&
	       ALLO_SYSCALL4(SYS_renameat2, folder, hidden, folder, name) == 0;
}

/* Publishes as "PID.sock", or "PID.2.sock" if another process has that name. */
static bool publish_number(int folder, const char *hidden, char *name, size_t room)
{
	for (uint64_t number = 1; number <= NAMES_MAX; number++) {
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

/* Listens under a hidden name, so the public name appears only when the socket answers.  Only this
 * user may connect. */
static int listen_hidden(int folder, const char *hidden)
{
	int fd = new_socket();

	if (fd < 0)
		return -1;
	ALLO_SYSCALL3(SYS_unlinkat, folder, hidden, 0);
	if (bind_in(fd, folder, hidden) == 0) {
		if (ALLO_SYSCALL3(SYS_fchmodat, folder, hidden, 0600) == 0 &&
		    ALLO_SYSCALL2(SYS_listen, fd, BACKLOG) == 0)
			return fd;
		ALLO_SYSCALL3(SYS_unlinkat, folder, hidden, 0);
	}
	ALLO_SYSCALL1(SYS_close, fd);
	return -1;
}

/* Opens the socket in a folder, as `given` or (if NULL) by pid.  `path` holds the folder's path and
 * receives the socket's. */
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

/* Opens the socket that ALLO_CONTROL names.  The user answers for the folder's permissions. */
static int open_configured(char *path, size_t room)
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

/* Opens the socket where the settings say, and stores its path; -1 on failure. */
static int open_control_socket(char *path, size_t room)
{
	int folder, fd;

	if (allo_settings.control[0])
		return open_configured(path, room);
	folder = open_runtime_folder(path, room);
	if (folder < 0)
		folder = open_common_folder(path, room);
	if (folder < 0)
		return -1;
	fd = open_in(folder, NULL, path, room);
	ALLO_SYSCALL1(SYS_close, folder);
	return fd;
}

/* The process at the other end of a connection.  It is trusted if it has the user of the calling
 * thread, or is root. */
struct peer {
	int process;
	bool is_trusted;
};

static struct peer peer_of(int fd)
{
	struct ucred user = { 0 };
	socklen_t len = sizeof(user);

	if (allo_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&user, (long)&len, 0) <
		    0 ||
	    len != sizeof(user))
		return (struct peer){ 0 };
	return (struct peer){
		.process = user.pid,
		.is_trusted = user.uid == 0 || user.uid == (uid_t)ALLO_SYSCALL1(SYS_geteuid, 0),
	};
}

/* Credentials. */

/* As /proc reports them. */
struct credentials {
	uint32_t users[4], groups[4]; /* real, effective, saved, file system */
	uint32_t supplementary[GROUPS_MAX];
	unsigned supplementary_count;
};

/* Reads up to `most` numbers that follow a word.  Returns their count. */
static unsigned numbers_after(const char *text, const char *word, uint32_t *numbers, unsigned most)
{
	const char *at = strstr(text, word);
	unsigned count = 0;

	if (!at)
		return 0;
	for (at += strlen(word); *at && *at != '\n' && count < most;) {
		uint32_t number = 0;

		if (*at < '0' || *at > '9') {
			at++;
			continue;
		}
		while (*at >= '0' && *at <= '9')
			number = number * 10 + (uint32_t)(*at++ - '0');
		numbers[count++] = number;
	}
	ALLO_ASSERT(count <= most);
	return count;
}

static bool read_credentials(const char *path, struct credentials *found)
{
	char text[STATUS_SIZE];
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), len;

	if (fd < 0)
		return false;
	len = ALLO_SYSCALL3(SYS_read, fd, text, sizeof(text) - 1);
	ALLO_SYSCALL1(SYS_close, fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	memset(found, 0, sizeof(*found));
	found->supplementary_count = numbers_after(text, "\nGroups:", found->supplementary,
						   GROUPS_MAX);
	return numbers_after(text, "\nUid:", found->users, 4) == 4 &&
	       numbers_after(text, "\nGid:", found->groups, 4) == 4;
}

/* Changes the calling thread.  The user comes last: without the old user it could not change its
 * groups. */
static bool set_credentials(const struct credentials *wanted)
{
	return ALLO_SYSCALL2(SYS_setgroups, wanted->supplementary_count, wanted->supplementary) ==
		       0 &&
	       ALLO_SYSCALL3(SYS_setresgid, wanted->groups[0], wanted->groups[1],
			     wanted->groups[2]) == 0 &&
	       ALLO_SYSCALL3(SYS_setresuid, wanted->users[0], wanted->users[1], wanted->users[2]) ==
		       0;
}

/* Gives the calling thread the user and groups of the program's main thread.  The kernel keeps
 * credentials per thread; libc changes those of the threads it knows, and ours is not one of them.
 * False if they differ and cannot be changed. */
static bool adopt_credentials(void)
{
	struct credentials wanted, own;

	/* Without /proc there is no sign that the program has changed its user. */
	if (!read_credentials("/proc/self/status", &wanted) ||
	    !read_credentials("/proc/thread-self/status", &own))
		return true;
	return memcmp(&wanted, &own, sizeof(own)) == 0 || set_credentials(&wanted);
}

/* Connections. */

struct connection {
	int fd;
	bool is_from_within;  /* the client is this process itself */
	uint64_t deadline_ns; /* on the monotonic clock */
	size_t len;
	char request[ALLO_MESSAGE_MAX + 1];
};

struct allo_control_server {
	int fd;
	unsigned count;
	bool is_leaving; /* the thread ends after this request */
	struct connection connections[CONNECTIONS];
	struct allo_message answer;
	struct allo_thread_rest rest; /* of the thread */
};

static bool is_stage(const struct allo_control *control, enum allo_control_stage stage)
{
	return __atomic_load_n(&control->stage, __ATOMIC_ACQUIRE) == (uint32_t)stage;
}

/* Moves to another stage; false if the control is no longer in stage `from`. */
static bool advance(struct allo_control *control, enum allo_control_stage from,
		    enum allo_control_stage to)
{
	uint32_t expected = from;

	return __atomic_compare_exchange_n(&control->stage, &expected, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Sends the answer; a client that does not read it loses it. */
static void send_answer(struct allo_control_server *server, int fd)
{
	allo_syscall(SYS_sendto, fd, (long)server->answer.at, (long)server->answer.len,
		     MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
}

static void drop(struct allo_control_server *server, unsigned number)
{
	ALLO_ASSERT(number < server->count);
	ALLO_SYSCALL1(SYS_close, server->connections[number].fd);
	server->count--;
	if (number < server->count)
		server->connections[number] = server->connections[server->count];
}

static void refuse(struct allo_control_server *server, unsigned number, const char *why)
{
	allo_control_refuse(&server->answer, why);
	send_answer(server, server->connections[number].fd);
	drop(server, number);
}

static void accept_connection(struct allo_control_server *server)
{
	struct connection *connection = &server->connections[server->count];
	long fd = ALLO_SYSCALL4(SYS_accept4, server->fd, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool has_user = adopt_credentials();
	struct peer peer;

	ALLO_ASSERT(server->count < CONNECTIONS);
	if (fd < 0) {
		allo_sleep_ns(ACCEPT_RETRY_NS); /* out of descriptors or memory */
		return;
	}
	connection->fd = (int)fd;
	connection->len = 0;
	connection->deadline_ns = allo_monotonic_ns() + CLIENT_TIMEOUT_NS;
	peer = peer_of(connection->fd);
	connection->is_from_within = peer.process == (int)ALLO_SYSCALL1(SYS_getpid, 0);
	server->count++;
	if (!has_user || !peer.is_trusted)
		refuse(server, server->count - 1,
		       "only the user of the process and root may connect");
}

static void answer(struct allo_control_server *server, unsigned number)
{
	struct connection *connection = &server->connections[number];

	if (is_stage(&allo_process->control, ALLO_CONTROL_OVER)) {
		refuse(server, number, "the process is exiting");
		return;
	}
	if (allo_control_answer(connection->request, connection->is_from_within, &server->answer))
		send_answer(server, connection->fd);
	else /* unless allo_control_resume() has given up waiting */
		server->is_leaving = advance(&allo_process->control, ALLO_CONTROL_LEAVING,
					     ALLO_CONTROL_OVER);
	drop(server, number);
}

/* Reads a part of a request.  A request whose client has hung up is dropped: the client has already
 * reported a failure. */
static void receive(struct allo_control_server *server, unsigned number, bool is_gone)
{
	struct connection *connection = &server->connections[number];
	size_t room = ALLO_MESSAGE_MAX - connection->len;
	long count = ALLO_SYSCALL3(SYS_read, connection->fd, connection->request + connection->len,
				   room);

	ALLO_ASSERT(connection->len < ALLO_MESSAGE_MAX && count <= (long)room);
	if (count <= 0 || is_gone) {
		drop(server, number);
		return;
	}
	connection->len += (size_t)count;
	connection->request[connection->len] = '\0';
	if (allo_message_is_whole(connection->request, connection->len))
		answer(server, number);
	else if (connection->len == ALLO_MESSAGE_MAX)
		refuse(server, number, "the request is too long");
}

/* Waiting. */

/* Time until the next connection times out, or until the thread checks that it is not alone. */
static struct timespec time_left(const struct allo_control_server *server)
{
	uint64_t now = allo_monotonic_ns(), first = now + ALONE_CHECK_NS;

	for (unsigned i = 0; i < server->count; i++) {
		if (server->connections[i].deadline_ns < first)
			first = server->connections[i].deadline_ns;
	}
	first = first > now ? first - now : 0;
	return (struct timespec){ (time_t)(first / SECOND_NS), (long)(first % SECOND_NS) };
}

/* Handles the ready connections, the last one first: drop() moves only later ones. */
static void handle_ready(struct allo_control_server *server, const struct pollfd *polled,
			 unsigned count)
{
	uint64_t now = allo_monotonic_ns();

	for (unsigned i = count; i-- > 0;) {
		if (polled[i + 1].revents)
			receive(server, i, polled[i + 1].revents & POLLHUP);
		else if (server->connections[i].deadline_ns <= now)
			drop(server, i);
	}
	if (polled[0].revents)
		accept_connection(server);
}

/* Looks around, once a second.  A thread that wants this one to leave may have no descriptor left
 * to ask through the socket. */
static bool must_leave(void)
{
	return advance(&allo_process->control, ALLO_CONTROL_LEAVING, ALLO_CONTROL_OVER) ||
	       allo_control_thread_is_alone();
}

/* Serves until it is asked to leave, is alone, or may not wait: in a sandbox, for example. */
static void serve(struct allo_control_server *server)
{
	struct pollfd polled[CONNECTIONS + 1];

	while (!server->is_leaving) {
		struct timespec left = time_left(server);
		unsigned count = server->count;
		long ready;

		polled[0] = (struct pollfd){ .fd = count < CONNECTIONS ? server->fd : -1,
					     .events = POLLIN };
		for (unsigned i = 0; i < count; i++)
			polled[i + 1] = (struct pollfd){ .fd = server->connections[i].fd,
							 .events = POLLIN };
		ready = ALLO_SYSCALL4(SYS_ppoll, polled, count + 1, &left, 0);
		handle_ready(server, polled, count);
		server->is_leaving |= (ready < 0 && ready != -EINTR) ||
				      (ready == 0 && must_leave()) ||
				      is_stage(&allo_process->control, ALLO_CONTROL_OVER);
	}
}

/* The control thread. */

static bool open_socket(struct allo_control *control, struct allo_control_server *server)
{
	if (!advance(control, ALLO_CONTROL_NONE, ALLO_CONTROL_OPENING))
		return false;
	server->fd = adopt_credentials() ? open_control_socket(control->path, sizeof(control->path))
					 : -1;
	__atomic_store_n(&control->stage, server->fd < 0 ? ALLO_CONTROL_OVER : ALLO_CONTROL_OPEN,
			 __ATOMIC_RELEASE);
	return server->fd >= 0;
}

static void end_last(const struct allo_control *control)
{
	uint32_t note = __atomic_load_n(&control->exit_note, __ATOMIC_RELAXED);

	allo_control_thread_end_last(note ? (note & 0xff) << 8 : UINT32_MAX);
}

static void run_control_thread(void *given)
{
	struct allo_control *control = given;

	allo_thread_rest_use(&control->server->rest);
	allo_sleep_ns(SOCKET_DELAY_NS);
	if (!open_socket(control, control->server))
		return;
	serve(control->server);
	/* No thread has asked this one to leave: the program's last thread ended without exit(). */
	if (advance(control, ALLO_CONTROL_OPEN, ALLO_CONTROL_OVER)) {
		ALLO_SYSCALL3(SYS_unlinkat, AT_FDCWD, control->path, 0);
		end_last(control);
	}
}

/* The program's threads. */

static uint32_t process_number(void)
{
	return (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
}

static bool is_wanted(void)
{
	return allo_settings.has_control && !allo_settings.is_for_another &&
	       !getauxval(AT_SECURE) && allo_process;
}

/* Maps the memory of the control thread before it runs: a program without threads may rely on the
 * address that it has just unmapped to stay free, so the thread itself must not map anything. */
static void start(struct allo_control *control)
{
	control->process = process_number();
	control->stage = ALLO_CONTROL_NONE;
	control->server = allo_map_private(sizeof(*control->server));
	if (!control->server)
		return;
	ALLO_SYSCALL3(SYS_madvise, control->server, sizeof(*control->server), MADV_DONTFORK);
	allo_control_thread_start(&control->thread, run_control_thread, control);
}

void allo_control_begin(void)
{
	if (is_wanted() &&
	    !__atomic_exchange_n(&allo_process->control.is_begun, 1, __ATOMIC_ACQ_REL))
		start(&allo_process->control);
}

/* The control of this process; NULL if it has none.  Programs without one may be in a sandbox that
 * forbids every system call. */
static struct allo_control *own_control(void)
{
	struct allo_control *control = allo_process ? &allo_process->control : NULL;

	return control && control->is_begun && control->process == process_number() ? control
										    : NULL;
}

/* Makes no system call: the thread may be in seccomp's strict mode, which allows little else. */
void allo_control_note_exit(long status)
{
	if (allo_process)
		__atomic_store_n(&allo_process->control.exit_note, 256 + ((uint32_t)status & 0xff),
				 __ATOMIC_RELAXED);
}

/* Keeps the thread from opening a socket; false if it may have one already. */
static bool prevent_socket(struct allo_control *control)
{
	if (advance(control, ALLO_CONTROL_NONE, ALLO_CONTROL_OVER))
		return true;
	for (unsigned i = 0; is_stage(control, ALLO_CONTROL_OPENING) && i < POLLS_MAX; i++)
		allo_sleep_ns(POLL_NS);
	return false;
}

void allo_control_end(void)
{
	struct allo_control *control = own_control();

	if (control && !prevent_socket(control) &&
	    (advance(control, ALLO_CONTROL_OPEN, ALLO_CONTROL_OVER) ||
	     advance(control, ALLO_CONTROL_LEAVING, ALLO_CONTROL_OVER)))
		ALLO_SYSCALL3(SYS_unlinkat, AT_FDCWD, control->path, 0);
}

/* Sends the thread a request to end, through its socket, and waits for it to hang up. */
static void ask_to_leave(const struct allo_control *control)
{
	static const char request[] = ALLO_CONTROL_GREETING "leave\n\n";
	struct timespec timeout = { .tv_sec = (time_t)POLL_NS * LEAVE_POLLS_MAX / SECOND_NS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct pollfd polled = { .events = POLLIN };
	long fd = ALLO_SYSCALL3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (strlen(control->path) < sizeof(address.sun_path)) {
		strcpy(address.sun_path, control->path);
		polled.fd = (int)fd;
		if (ALLO_SYSCALL3(SYS_connect, fd, &address, sizeof(address)) == 0 &&
		    allo_syscall(SYS_sendto, fd, (long)request, sizeof(request) - 1, MSG_NOSIGNAL,
				 0, 0) > 0)
			ALLO_SYSCALL4(SYS_ppoll, &polled, 1, &timeout, 0);
	}
	ALLO_SYSCALL1(SYS_close, fd);
}

static bool wait_until_gone(const struct allo_control *control)
{
	for (unsigned i = 0; i < LEAVE_POLLS_MAX; i++) {
		if (!allo_control_thread_is_alive(&control->thread))
			return true;
		allo_sleep_ns(POLL_NS);
	}
	return false;
}

/* Frees the memory of an earlier thread. */
static void clear(struct allo_control *control)
{
	allo_control_thread_done(&control->thread);
	allo_unmap(control->server, sizeof(*control->server));
}

void allo_control_begin_again(void)
{
	struct allo_control *control = &allo_process->control;

	if (!__atomic_exchange_n(&control->is_begun, 1, __ATOMIC_ACQ_REL)) {
		start(control);
	} else if (is_stage(control, ALLO_CONTROL_OVER) && wait_until_gone(control)) {
		clear(control);
		start(control);
	}
}

void allo_control_close(void)
{
	struct allo_control *control = &allo_process->control;

	if (advance(control, ALLO_CONTROL_OPEN, ALLO_CONTROL_OVER))
		ALLO_SYSCALL3(SYS_unlinkat, AT_FDCWD, control->path, 0);
}

bool allo_control_pause(void)
{
	struct allo_control *control = own_control();
	bool had_socket = false;

	if (!control || !allo_control_thread_is_alive(&control->thread))
		return false;
	if (!prevent_socket(control) && advance(control, ALLO_CONTROL_OPEN, ALLO_CONTROL_LEAVING)) {
		had_socket = true;
		ask_to_leave(control);
	}
	/* The next socket may have another path.  This one would be left behind. */
	if (wait_until_gone(control) && had_socket)
		ALLO_SYSCALL3(SYS_unlinkat, AT_FDCWD, control->path, 0);
	return true;
}

void allo_control_resume(void)
{
	struct allo_control *control = &allo_process->control;

	/* A thread that has not read the request stays; one that has is about to end. */
	if (advance(control, ALLO_CONTROL_LEAVING, ALLO_CONTROL_OPEN) || !wait_until_gone(control))
		return;
	clear(control);
	start(control);
}
