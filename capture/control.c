/* control.c - see control.h. */
#include "capture/control.h"
#include "capture/clock.h"
#include "capture/control_socket.h"
#include "capture/credentials.h"
#include "capture/process.h"
#include "capture/requests.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	CONNECTIONS = 8,          /* at a time; others wait */
	PATIENCE_NS = 2000000000, /* with who has connected and does not ask */
	REST_NS = 100000000,      /* when connections cannot be taken */
	YOUTH_NS = 5000000,       /* processes that do not live longer need no socket */
	TURN_NS = 200000,         /* for those who wait for the thread */
	TURNS_MOST = 1000,        /* a fifth of a second */
	SECOND_NS = 1000000000,
};

struct connection {
	int fd;
	bool is_from_within;
	uint64_t until_ns;
	size_t len;
	char request[ALLO_MESSAGE_MAX + 1];
};

struct allo_control_server {
	int fd;
	unsigned count;
	bool is_leaving;
	struct connection connections[CONNECTIONS];
	struct allo_message answer;
};

static bool is_stage(const struct allo_control *control, enum allo_control_stage stage)
{
	return __atomic_load_n(&control->stage, __ATOMIC_ACQUIRE) == (uint32_t)stage;
}

/* From one stage to another; false when it is not that one any more. */
static bool advance(struct allo_control *control, enum allo_control_stage from,
		    enum allo_control_stage to)
{
	uint32_t expected = from;

	return __atomic_compare_exchange_n(&control->stage, &expected, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Connections. */

static void say(struct allo_control_server *server, int fd)
{
	allo_syscall(SYS_sendto, fd, (long)server->answer.at, (long)server->answer.len,
		     MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
}

static void drop(struct allo_control_server *server, unsigned number)
{
	ALLO_SYSCALL1(SYS_close, server->connections[number].fd);
	server->count--;
	if (number < server->count)
		server->connections[number] = server->connections[server->count];
}

static void refuse(struct allo_control_server *server, unsigned number, const char *why)
{
	allo_control_refuse(&server->answer, why);
	say(server, server->connections[number].fd);
	drop(server, number);
}

static void take_connection(struct allo_control_server *server)
{
	struct connection *connection = &server->connections[server->count];
	long fd = ALLO_SYSCALL4(SYS_accept4, server->fd, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool has_user = allo_credentials_adopt();
	struct allo_control_peer peer;

	if (fd < 0) {
		allo_sleep_ns(REST_NS); /* out of descriptors, or of memory: for how long? */
		return;
	}
	connection->fd = (int)fd;
	connection->len = 0;
	connection->until_ns = allo_monotonic_ns() + PATIENCE_NS;
	peer = allo_control_socket_peer(connection->fd);
	connection->is_from_within = peer.process == (int)ALLO_SYSCALL1(SYS_getpid, 0);
	server->count++;
	if (!has_user || !peer.is_trusted)
		refuse(server, server->count - 1,
		       "only the user whose process it is, and root, may ask");
}

static void answer(struct allo_control_server *server, unsigned number)
{
	struct connection *connection = &server->connections[number];

	if (is_stage(&allo_process->control, ALLO_CONTROL_OVER)) {
		refuse(server, number, "the process exits");
		return;
	}
	if (allo_control_answer(connection->request, connection->is_from_within, &server->answer))
		say(server, connection->fd);
	else /* unless nobody waits for it any more */
		server->is_leaving = advance(&allo_process->control, ALLO_CONTROL_LEAVING,
					     ALLO_CONTROL_OVER);
	drop(server, number);
}

/* Reads what has come.  Who has gone meanwhile has been told, or thinks, that nobody answers: what
 * he asked for is not done. */
static void hear(struct allo_control_server *server, unsigned number, bool is_gone)
{
	struct connection *connection = &server->connections[number];
	size_t room = ALLO_MESSAGE_MAX - connection->len;
	long count = ALLO_SYSCALL3(SYS_read, connection->fd, connection->request + connection->len,
				   room);

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

/* Until the first connection is given up; NULL: there is none. */
static struct timespec *time_left(const struct allo_control_server *server, struct timespec *left)
{
	uint64_t now = allo_monotonic_ns(), first = UINT64_MAX;

	for (unsigned i = 0; i < server->count; i++) {
		if (server->connections[i].until_ns < first)
			first = server->connections[i].until_ns;
	}
	if (first == UINT64_MAX)
		return NULL;
	first = first > now ? first - now : 0;
	*left = (struct timespec){ (time_t)(first / SECOND_NS), (long)(first % SECOND_NS) };
	return left;
}

/* From the last one on: dropping one moves only those behind it. */
static void look(struct allo_control_server *server, const struct pollfd *polled, unsigned count)
{
	uint64_t now = allo_monotonic_ns();

	for (unsigned i = count; i-- > 0;) {
		if (polled[i + 1].revents)
			hear(server, i, polled[i + 1].revents & POLLHUP);
		else if (server->connections[i].until_ns <= now)
			drop(server, i);
	}
	if (polled[0].revents)
		take_connection(server);
}

static void serve(struct allo_control_server *server)
{
	struct pollfd polled[CONNECTIONS + 1];

	while (!server->is_leaving) {
		unsigned count = server->count;
		struct timespec left;

		polled[0] = (struct pollfd){ .fd = count < CONNECTIONS ? server->fd : -1,
					     .events = POLLIN };
		for (unsigned i = 0; i < count; i++)
			polled[i + 1] = (struct pollfd){ .fd = server->connections[i].fd,
							 .events = POLLIN };
		allo_syscall(SYS_ppoll, (long)polled, count + 1, (long)time_left(server, &left), 0,
			     0, 0);
		look(server, polled, count);
	}
}

/* The thread. */

static bool open_socket(struct allo_control *control, struct allo_control_server *server)
{
	if (!advance(control, ALLO_CONTROL_NONE, ALLO_CONTROL_OPENING))
		return false;
	server->fd = allo_credentials_adopt()
			     ? allo_control_socket_open(control->path, sizeof(control->path))
			     : -1;
	__atomic_store_n(&control->stage, server->fd < 0 ? ALLO_CONTROL_OVER : ALLO_CONTROL_OPEN,
			 __ATOMIC_RELEASE);
	return server->fd >= 0;
}

static void attend(void *given)
{
	struct allo_control *control = given;

	allo_sleep_ns(YOUTH_NS);
	if (open_socket(control, control->server))
		serve(control->server);
}

/* The program's threads. */

static uint32_t process_number(void)
{
	return (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
}

static bool is_wanted(void)
{
	return !allo_settings.no_control && !allo_settings.is_for_another &&
	       !getauxval(AT_SECURE) && allo_process;
}

/* The thread itself maps nothing: a program without threads may count on what it has just unmapped
 * to be free, and put something else there. */
static void start(struct allo_control *control)
{
	control->process = process_number();
	control->stage = ALLO_CONTROL_NONE;
	control->server = allo_map_private(sizeof(*control->server));
	if (!control->server)
		return;
	ALLO_SYSCALL3(SYS_madvise, control->server, sizeof(*control->server), MADV_DONTFORK);
	allo_control_thread_start(&control->thread, attend, control);
}

void allo_control_begin(void)
{
	if (is_wanted() &&
	    !__atomic_exchange_n(&allo_process->control.is_begun, 1, __ATOMIC_ACQ_REL))
		start(&allo_process->control);
}

/* Of this process; NULL: there is none. */
static struct allo_control *own_control(void)
{
	struct allo_control *control = allo_process ? &allo_process->control : NULL;

	return control && control->process == process_number() ? control : NULL;
}

/* Sees to it that there will be no socket if there is none yet; false when there may be one. */
static bool prevent(struct allo_control *control)
{
	if (advance(control, ALLO_CONTROL_NONE, ALLO_CONTROL_OVER))
		return true;
	for (unsigned turn = 0; is_stage(control, ALLO_CONTROL_OPENING) && turn < TURNS_MOST;
	     turn++)
		allo_sleep_ns(TURN_NS);
	return false;
}

void allo_control_end(void)
{
	struct allo_control *control = own_control();

	if (control && !prevent(control) &&
	    (advance(control, ALLO_CONTROL_OPEN, ALLO_CONTROL_OVER) ||
	     advance(control, ALLO_CONTROL_LEAVING, ALLO_CONTROL_OVER)))
		ALLO_SYSCALL3(SYS_unlinkat, AT_FDCWD, control->path, 0);
}

/* Asks the thread to go, as anybody would, and waits until it has heard that. */
static void ask_to_leave(const struct allo_control *control)
{
	static const char request[] = ALLO_CONTROL_GREETING "leave\n\n";
	struct timespec patience = { .tv_nsec = TURN_NS * TURNS_MOST };
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
			ALLO_SYSCALL4(SYS_ppoll, &polled, 1, &patience, 0);
	}
	ALLO_SYSCALL1(SYS_close, fd);
}

static bool wait_until_gone(const struct allo_control *control)
{
	for (unsigned turn = 0; turn < TURNS_MOST; turn++) {
		if (!allo_control_thread_is_there(&control->thread))
			return true;
		allo_sleep_ns(TURN_NS);
	}
	return false;
}

bool allo_control_pause(void)
{
	struct allo_control *control = own_control();

	if (!control || !allo_control_thread_is_there(&control->thread))
		return false;
	if (!prevent(control) && advance(control, ALLO_CONTROL_OPEN, ALLO_CONTROL_LEAVING))
		ask_to_leave(control);
	wait_until_gone(control);
	return true;
}

void allo_control_resume(void)
{
	struct allo_control *control = &allo_process->control;

	/* One that has not heard it stays.  One that has needs a moment more at the most. */
	if (advance(control, ALLO_CONTROL_LEAVING, ALLO_CONTROL_OPEN) || !wait_until_gone(control))
		return;
	allo_control_thread_done(&control->thread);
	allo_unmap(control->server, sizeof(*control->server));
	start(control);
}
