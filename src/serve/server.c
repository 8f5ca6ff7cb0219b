/* server.c - the event loop: connections, lanes of workers, and the checks that every request
 * passes. */
#include "serve/server.h"

#include "base/assert.h"
#include "base/defer.h"
#include "serve/http_library.h"
#include "serve/request.h"
#include "serve/routes.h"
#include "telemetry/monotonic_clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	HEAD_MAX = 8 << 10,           /* bytes of a request before its body */
	CONNECTION_MEMORY = 16 << 10, /* for the head of a request and that of its reply */
	CONNECTIONS_MAX = 2000,
	CONNECTIONS_SPARE = 64, /* kept free by closing old connections without a request */
	OTHER_FILES = 64,       /* descriptors besides those of connections and processes */
	FILES_MAX = 8,          /* replies in files that clients have not read yet */
	PAGE_WAITING_MAX = 64,  /* requests of pages that wait for the one in progress */
};

#define LIST_LIMIT_NS (30 * (uint64_t)ALLO_SECOND_NS)

/* Connections.  libmicrohttpd closes idle connections; clients that send a byte now and then are
 * ours to close. */

/* Seconds that a client may take. */
enum {
	TIME_FOR_HEAD = 10, /* from the end of the previous request */
	TIME_FOR_BODY = 20,
	TIME_FOR_REPLY = 60, /* to read it */
	TIME_IDLE = 10,      /* between two bytes; libmicrohttpd checks it */
};

struct allo_connection {
	int fd;
	uint64_t deadline_ns; /* 0: none, since the client waits for us */
	bool has_asked;       /* the head of a request has arrived, and it has no reply yet */
	bool is_closed;       /* by us; libmicrohttpd has not noticed it yet */
	struct allo_connection *before, *next;
};

/* 0 seconds: no deadline.  `connection` may be NULL. */
static void set_timeout(struct allo_connection *connection, unsigned seconds)
{
	if (connection)
		connection->deadline_ns = seconds ? allo_clock_ns() +
							    seconds * (uint64_t)ALLO_SECOND_NS
						  : 0;
}

/* libmicrohttpd notices the end of the stream and closes the descriptor. */
static void shut(struct allo_connection *connection)
{
	shutdown(connection->fd, SHUT_RDWR);
	connection->is_closed = true;
}

/* Closes the oldest connection without a request when most are in use: clients that open many and
 * send nothing must not keep others out. */
static void make_way(struct allo_http_server *server)
{
	struct allo_connection *one = server->oldest;

	if (server->connection_count + CONNECTIONS_SPARE < server->connection_limit)
		return;
	while (one && (one->has_asked || one->is_closed))
		one = one->before;
	if (one)
		shut(one);
}

static struct allo_connection *add_connection(struct allo_http_server *server, int fd)
{
	struct allo_connection *connection = malloc(sizeof(*connection));

	/* Without memory the connection only lacks a deadline. */
	if (!connection)
		return NULL;
	*connection = (struct allo_connection){ .fd = fd, .next = server->connections };
	if (server->connections)
		server->connections->before = connection;
	else
		server->oldest = connection;
	server->connections = connection;
	server->connection_count++;
	set_timeout(connection, TIME_FOR_HEAD);
	make_way(server);
	return connection;
}

static void remove_connection(struct allo_http_server *server, struct allo_connection *connection)
{
	if (!connection)
		return;
	ALLO_ASSERT(server->connection_count > 0);
	server->connection_count--;
	if (connection->next) {
		connection->next->before = connection->before;
	} else {
		ALLO_ASSERT(server->oldest == connection);
		server->oldest = connection->before;
	}
	if (connection->before) {
		ALLO_ASSERT(connection->before->next == connection);
		connection->before->next = connection->next;
	} else {
		ALLO_ASSERT(server->connections == connection);
		server->connections = connection->next;
	}
	free(connection);
}

/* Closes connections whose deadline has passed. */
static void check_connections(struct allo_http_server *server)
{
	uint64_t now_ns = allo_clock_ns();

	if (now_ns - server->checked_ns < ALLO_SECOND_NS)
		return;
	server->checked_ns = now_ns;
	for (struct allo_connection *one = server->connections; one; one = one->next) {
		if (one->deadline_ns != 0 && now_ns > one->deadline_ns)
			shut(one);
	}
}

static struct allo_connection *connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = allo_http.get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Lanes. */

/* Suspends a request until the lane's worker ends.  The vector has room for it. */
static void wait_for(struct allo_http_request *request, struct allo_lane_state *lane)
{
	ALLO_ASSERT(lane->waiting.len < lane->waiting.cap && request->reply.status == 0);
	lane->waiting.at[lane->waiting.len++] = request;
	set_timeout(connection_of(request->connection), 0);
	allo_http.suspend_connection(request->connection);
}

static void refuse_busy(struct allo_http_request *request, const struct allo_lane_state *lane)
{
	uint64_t now_ns = allo_clock_ns();
	uint64_t left_ns = lane->busy_until_ns > now_ns ? lane->busy_until_ns - now_ns : 0;

	allo_http_request_refuse(request, MHD_HTTP_TOO_MANY_REQUESTS,
				 "another request is in progress: try again later");
	request->reply.retry_after = (unsigned)(left_ns / ALLO_SECOND_NS) + 1;
}

static bool is_busy(const struct allo_http_server *server, enum allo_lane lane)
{
	return server->lanes[lane].worker.pid != 0 || server->lanes[lane].asked;
}

/* Whether the request may start something; if not, it has its reply. */
static bool may_start(struct allo_http_request *request, enum allo_lane lane)
{
	struct allo_lane_state *state = &request->server->lanes[lane];

	if (!allo_vec_reserve(&state->waiting, 1))
		allo_http_request_refuse(request, ALLO_BROKEN, "out of memory");
	else if (is_busy(request->server, lane) ||
		 (lane != ALLO_LANE_LIST && request->server->files >= FILES_MAX))
		refuse_busy(request, state);
	else
		return true;
	return false;
}

void allo_http_server_start(struct allo_http_request *request, const struct allo_job *job)
{
	struct allo_lane_state *lane = &request->server->lanes[job->lane];
	struct allo_error err = { 0 };

	if (!may_start(request, job->lane))
		return;
	if (!allo_worker_start(&lane->worker, job->function, job->task, job->kept, job->limit_ns,
			       &err)) {
		allo_http_request_fail(request, ALLO_UNAVAILABLE, &err);
		return;
	}
	lane->busy_until_ns = 0;
	wait_for(request, lane);
}

void allo_http_server_follow(struct allo_http_request *request,
			     const struct allo_heap_request *heap, uint64_t limit_ns)
{
	enum allo_lane number = heap->ask.len > 0 ? ALLO_LANE_PAGE : ALLO_LANE_HEAP;
	struct allo_lane_state *lane = &request->server->lanes[number];
	struct allo_error err = { 0 };

	if (number == ALLO_LANE_PAGE && lane->asked && lane->waiting.len < PAGE_WAITING_MAX &&
	    allo_vec_reserve(&lane->waiting, 1)) {
		wait_for(request, lane);
		return;
	}
	if (!may_start(request, number))
		return;
	lane->asked = allo_followers_ask(&lane->followers, heap, limit_ns, &err);
	if (!lane->asked) {
		allo_http_request_fail(request, ALLO_UNAVAILABLE, &err);
		return;
	}
	lane->busy_until_ns = allo_clock_ns() + heap->seconds * ALLO_SECOND_NS;
	wait_for(request, lane);
}

/* Requests that come while a worker lists processes share its result. */
static void list_processes(struct allo_http_request *request)
{
	struct allo_lane_state *lane = &request->server->lanes[ALLO_LANE_LIST];

	request->is_listed = true;
	if (is_busy(request->server, ALLO_LANE_LIST) && allo_vec_reserve(&lane->waiting, 1)) {
		wait_for(request, lane);
		return;
	}
	allo_http_server_start(request, &(struct allo_job){ .lane = ALLO_LANE_LIST,
							    .function = allo_process_list_find,
							    .kept = -1,
							    .limit_ns = LIST_LIMIT_NS });
}

static void resume_all(struct allo_lane_state *lane)
{
	for (size_t i = 0; i < lane->waiting.len; i++)
		allo_http.resume_connection(lane->waiting.at[i]->connection);
	lane->waiting.len = 0;
}

static void end_listing(struct allo_http_server *server)
{
	ALLO_DEFER(allo_close_fd) int found = -1;
	struct allo_error err = { 0 };
	struct allo_lane_state *lane = &server->lanes[ALLO_LANE_LIST];
	unsigned status = allo_worker_end(&lane->worker, &found, &err);

	if (status == ALLO_DONE && !allo_process_list_update(&server->processes, found, &err))
		status = ALLO_BROKEN;
	/* The last list is better than none. */
	if (server->processes.listed_ns != 0)
		status = ALLO_DONE;
	for (size_t i = 0; i < lane->waiting.len && status != ALLO_DONE; i++)
		allo_http_request_fail(lane->waiting.at[i], status, &err);
	resume_all(lane);
}

/* Replies to the first request; others go to their route again. */
static void reply_to_waiting(struct allo_lane_state *lane, unsigned status, int out,
			     const struct allo_error *err)
{
	ALLO_ASSERT(lane->waiting.len >= 1);
	if (status == ALLO_DONE)
		allo_http_request_file(lane->waiting.at[0], out);
	else
		allo_http_request_fail(lane->waiting.at[0], status, err);
	resume_all(lane);
}

static void end_worker(struct allo_lane_state *lane)
{
	struct allo_error err = { 0 };
	int out;
	unsigned status = allo_worker_end(&lane->worker, &out, &err);

	reply_to_waiting(lane, status, out, &err);
}

/* A follower has replied, has ended, or is too slow. */
static void end_asking(struct allo_lane_state *lane)
{
	struct allo_error err = { 0 };
	int out;
	unsigned status = allo_followers_take(&lane->followers, lane->asked, &out, &err);

	lane->asked = NULL;
	if (status != 0)
		reply_to_waiting(lane, status, out, &err);
	else
		resume_all(lane); /* without a reply: its route starts another follower */
}

/* Requests. */

/* The token comes as "Bearer TOKEN", or as a password: Go's pprof can only send the latter. */
static bool has_token(const struct allo_http_request *request)
{
	const struct allo_access *access = &request->server->access;
	const char *bearer = allo_access_bearer(allo_http_request_header(request, "Authorization"));
	char *name, *password = NULL;
	bool is_allowed;

	if (!access->token || bearer)
		return allo_access_allows_token(access, bearer);
	name = allo_http.basic_auth_get_username_password(request->connection, &password);
	is_allowed = allo_access_allows_token(access, password);
	allo_http.free(name);
	allo_http.free(password);
	return is_allowed;
}

/* Reserves memory for a body; refuses the request if too much is in use. */
static bool reserve_body(struct allo_http_request *request)
{
	const char *length = allo_http_request_header(request, "Content-Length");
	struct allo_http_server *server = request->server;
	uint64_t size = ALLO_BODY_MAX;

	ALLO_ASSERT(server->bodies <= ALLO_BODIES_MAX);
	if (length && (!allo_text_u64(allo_text_of(length), &size) || size > ALLO_BODY_MAX)) {
		allo_http_request_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE,
					 "the body of a request may have at most %d bytes",
					 ALLO_BODY_MAX);
		return false;
	}
	if (size > ALLO_BODIES_MAX - server->bodies) {
		allo_http_request_refuse(request, MHD_HTTP_TOO_MANY_REQUESTS,
					 "too many requests with a body: try again later");
		request->reply.retry_after = 1;
		return false;
	}
	request->body_reserved = (size_t)size;
	server->bodies += request->body_reserved;
	return true;
}

/* libmicrohttpd refuses heads above CONNECTION_MEMORY. */
static bool has_long_head(const struct allo_http_request *request)
{
	const union MHD_ConnectionInfo *info = allo_http.get_connection_info(
		request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info && info->header_size > HEAD_MAX;
}

static enum MHD_Result check_header(void *context, enum MHD_ValueKind kind, const char *name,
				    size_t name_len, const char *value, size_t value_len)
{
	(void)kind;
	allo_header_check_add(context, (struct allo_text){ name, name_len },
			      (struct allo_text){ value ? value : "", value ? value_len : 0 });
	return MHD_YES;
}

/* Whether a proxy in front could see another request than we do. */
static bool is_ambiguous(const struct allo_http_request *request)
{
	struct allo_header_check check = { 0 };

	allo_http.get_connection_values_n(request->connection, MHD_HEADER_KIND, check_header,
					  &check);
	return !allo_header_check_passes(&check);
}

static void refuse_ambiguous(struct allo_http_request *request)
{
	allo_http_request_refuse(request, ALLO_BAD_REQUEST,
				 "the length of the request is given twice, or a header contains a "
				 "NUL");
	request->reply.ends_connection = true;
}

static size_t unescape(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context;
	(void)connection;
	return allo_access_unescape(text);
}

/* Whether the request passes all checks; if not, it has its reply. */
static bool admit(struct allo_http_request *request, const char *path, const char *method)
{
	const struct allo_access *access = &request->server->access;
	const char *host = allo_http_request_header(request, "Host");
	const struct allo_route *route = allo_route_find(path);

	if (has_long_head(request))
		allo_http_request_refuse(request, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
					 "the head of a request may have at most %d bytes",
					 HEAD_MAX);
	else if (is_ambiguous(request))
		refuse_ambiguous(request);
	else if (!allo_access_allows_host(access, host))
		allo_http_request_refuse(request, MHD_HTTP_FORBIDDEN,
					 "this server is not '%.100s': use a numeric address, or "
					 "start it with --host",
					 host ? host : "");
	else if (!(route && route->is_public) && !has_token(request))
		allo_http_request_refuse(request, MHD_HTTP_UNAUTHORIZED,
					 "a token is needed: send 'Authorization: Bearer TOKEN'");
	else if (!(request->route = route))
		allo_http_request_refuse(request, ALLO_NOT_FOUND,
					 "there is no %.100s: / lists all paths", path);
	else if (!(request->route->methods & allo_route_method(method)))
		allo_http_request_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "%s is for %s", path,
					 allo_route_methods(request->route));
	else if (request->is_post &&
		 !allo_access_allows_origin(allo_http_request_header(request, "Origin"), host))
		allo_http_request_refuse(request, MHD_HTTP_FORBIDDEN,
					 "pages of other sites may not send this request");
	else if (request->route->changes && !allo_access_allows_changes(access))
		allo_http_request_refuse(request, MHD_HTTP_FORBIDDEN,
					 "recordings are started and stopped with a token only: "
					 "start the server without --no-token");
	else
		return !request->is_post || reserve_body(request);
	return false;
}

static enum MHD_Result send_reply(struct allo_http_request *request)
{
	set_timeout(connection_of(request->connection), TIME_FOR_REPLY);
	return allo_http_request_send(request);
}

/* The head of a request has arrived. */
static enum MHD_Result begin(struct allo_http_server *server, struct MHD_Connection *connection,
			     const char *path, const char *method, void **kept)
{
	struct allo_http_request *request = allo_http_request_new(server, connection);

	if (!request)
		return MHD_NO;
	*kept = request;
	if (connection_of(connection))
		connection_of(connection)->has_asked = true;
	request->is_head = strcmp(method, "HEAD") == 0;
	request->is_post = strcmp(method, "POST") == 0;
	if (!admit(request, path, method))
		return send_reply(request);
	set_timeout(connection_of(connection), TIME_FOR_BODY);
	return MHD_YES;
}

/* A piece of the body has arrived. */
static enum MHD_Result take_body(struct allo_http_request *request, const char *data, size_t *len)
{
	ALLO_ASSERT(request->body.len <= request->body_reserved);
	if (*len > request->body_reserved - request->body.len ||
	    !allo_vec_append(&request->body, data, *len))
		return MHD_NO;
	*len = 0;
	return MHD_YES;
}

/* libmicrohttpd calls this for the head, each piece of the body, the end, and after each
 * resumption. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *len, void **kept)
{
	struct allo_http_request *request = *kept;

	(void)version;
	if (!request)
		return begin(context, connection, path, method, kept);
	if (*len > 0)
		return take_body(request, data, len);
	if (request->reply.status == 0) {
		if (!request->is_listed && allo_process_list_is_old(&request->server->processes))
			list_processes(request);
		else
			request->route->answer(request);
	}
	/* A request without a reply is suspended now. */
	return request->reply.status != 0 ? send_reply(request) : MHD_YES;
}

static void end_request(void *context, struct MHD_Connection *connection, void **kept,
			enum MHD_RequestTerminationCode code)
{
	(void)context;
	(void)code;
	allo_http_request_free(*kept);
	*kept = NULL;
	if (connection_of(connection))
		connection_of(connection)->has_asked = false;
	set_timeout(connection_of(connection), TIME_FOR_HEAD);
}

/* A connection begins or ends. */
static void note_connection(void *context, struct MHD_Connection *connection, void **kept,
			    enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct allo_http_server *server = context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		remove_connection(server, *kept);
		*kept = NULL;
		return;
	}
	info = allo_http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*kept = add_connection(server, info->connect_fd);
}

/* The server. */

/* Raises the limit of open files, and returns the number of connections that it allows. */
static unsigned connections_max(void)
{
	const rlim_t wanted = CONNECTIONS_MAX + ALLO_PROCESS_LIST_MAX + OTHER_FILES;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 128;
	files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur < wanted ? (unsigned)files.rlim_cur / 2 : CONNECTIONS_MAX;
}

bool allo_http_server_open(struct allo_http_server *server, struct allo_error *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	server->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signals < 0)
		return allo_fail_errno(err, NULL, "wait for signals");
	server->lanes[ALLO_LANE_PAGE].followers.are_for_pages = true;
	server->connection_limit = connections_max();
	server->daemon = allo_http.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
		MHD_OPTION_LISTEN_SOCKET, server->listener.fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)server->connection_limit, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)TIME_IDLE, MHD_OPTION_NOTIFY_COMPLETED, end_request, server,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, server,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
	if (!server->daemon)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "libmicrohttpd does not start");
	/* libmicrohttpd closes the descriptor; the listener still removes the path. */
	server->listener.fd = -1;
	return true;
}

static int timeout_ms(const struct allo_http_server *server)
{
	MHD_UNSIGNED_LONG_LONG library_ms;
	int timeout = server->connections ? 1000 : -1;

	for (enum allo_lane lane = 0; lane < ALLO_LANES; lane++) {
		if (is_busy(server, lane))
			timeout = 1000;
	}
	if (allo_http.get_timeout(server->daemon, &library_ms) == MHD_YES &&
	    (timeout < 0 || library_ms < (unsigned)timeout))
		timeout = (int)library_ms;
	return timeout;
}

static void check_lane(struct allo_http_server *server, enum allo_lane number, bool has_ended)
{
	struct allo_lane_state *lane = &server->lanes[number];

	if (lane->worker.pid == 0 || (!has_ended && allo_clock_ns() < lane->worker.deadline_ns))
		return;
	if (number == ALLO_LANE_LIST)
		end_listing(server);
	else
		end_worker(lane);
}

static void check_follower(struct allo_lane_state *lane, struct allo_follower *follower,
			   bool is_readable)
{
	if (follower == lane->asked) {
		if (is_readable || allo_clock_ns() >= follower->deadline_ns)
			end_asking(lane);
	} else if (is_readable) {
		allo_follower_drop(follower); /* it has ended */
	}
}

/* Descriptors that the server waits for. */
enum {
	POLL_SIGNALS,
	POLL_HTTP,
	POLL_LANES,
	POLL_FOLLOWERS = POLL_LANES + ALLO_LANES,
	POLL_COUNT = POLL_FOLLOWERS + ALLO_LANES * ALLO_FOLLOWERS_MAX,
};

static void fill_polled(const struct allo_http_server *server, struct pollfd polled[POLL_COUNT])
{
	for (size_t i = 0; i < ALLO_LANES; i++) {
		const struct allo_worker *worker = &server->lanes[i].worker;

		polled[POLL_LANES + i].fd = worker->pid ? worker->pidfd : -1;
	}
	for (size_t i = 0; i < ALLO_LANES * ALLO_FOLLOWERS_MAX; i++) {
		const struct allo_follower *follower =
			&server->lanes[i / ALLO_FOLLOWERS_MAX]
				 .followers.all[i % ALLO_FOLLOWERS_MAX];

		polled[POLL_FOLLOWERS + i].fd = follower->pid ? follower->socket : -1;
	}
	for (size_t i = 0; i < POLL_COUNT; i++)
		polled[i].events = POLLIN;
}

bool allo_http_server_run(struct allo_http_server *server, struct allo_error *err)
{
	const union MHD_DaemonInfo *info = allo_http.get_daemon_info(server->daemon,
								     MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd polled[POLL_COUNT] = {
		[POLL_SIGNALS].fd = server->signals, [POLL_HTTP].fd = info->epoll_fd
	};

	for (;;) {
		fill_polled(server, polled);
		if (poll(polled, POLL_COUNT, timeout_ms(server)) < 0) {
			if (errno != EINTR)
				return allo_fail_errno(err, NULL, "wait for requests");
			continue;
		}
		if (polled[POLL_SIGNALS].revents)
			return true;
		for (enum allo_lane i = 0; i < ALLO_LANES; i++)
			check_lane(server, i, polled[POLL_LANES + i].revents != 0);
		for (size_t i = 0; i < ALLO_LANES * ALLO_FOLLOWERS_MAX; i++) {
			struct allo_lane_state *lane = &server->lanes[i / ALLO_FOLLOWERS_MAX];

			check_follower(lane, &lane->followers.all[i % ALLO_FOLLOWERS_MAX],
				       polled[POLL_FOLLOWERS + i].revents != 0);
		}
		check_connections(server);
		if (allo_http.run(server->daemon) != MHD_YES)
			return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "libmicrohttpd has failed");
	}
}

/* libmicrohttpd requires that no connection is suspended when it stops. */
static void give_up(struct allo_http_server *server)
{
	for (size_t i = 0; i < ALLO_LANES; i++) {
		struct allo_lane_state *lane = &server->lanes[i];

		allo_worker_drop(&lane->worker);
		allo_followers_done(&lane->followers);
		lane->asked = NULL;
		for (size_t k = 0; k < lane->waiting.len; k++)
			allo_http_request_refuse(lane->waiting.at[k], ALLO_UNAVAILABLE,
						 "the server is shutting down");
		resume_all(lane);
		allo_vec_done(&lane->waiting);
	}
	allo_http.run(server->daemon);
}

void allo_http_server_close(struct allo_http_server *server)
{
	if (server->daemon) {
		give_up(server);
		allo_http.stop_daemon(server->daemon);
		close(server->signals);
	}
	allo_listener_close(&server->listener);
	allo_process_list_done(&server->processes);
	*server = (struct allo_http_server){ .listener.fd = -1 };
}
