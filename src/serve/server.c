/* server.c - see server.h. */
#include "serve/server.h"

#include "base/defer.h"
#include "serve/http_library.h"
#include "serve/request.h"
#include "serve/routes.h"
#include "telemetry/monotonic_clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
	HEAD_MOST = 8 << 10, /* bytes of a request in front of its body */
	/* A connection's memory, of which the head of an answer needs some. */
	CONNECTION_MEMORY = 16 << 10,
	CONNECTIONS_MOST = 2000,
	OTHER_FILES = 64, /* besides connections and processes */
	FILES_MOST = 8,   /* answers that are still on their way: they take memory as long */
};

#define ROSTER_LIMIT_NS (30 * (uint64_t)ALLO_SECOND_NS)

/* Errands. */

static struct allo_connection *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = allo_http.get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Puts a request aside until a lane's worker is done; there is room for it. */
static void wait_for(struct allo_http_request *request, struct allo_lane_state *lane)
{
	lane->waiting.at[lane->waiting.len++] = request;
	allo_connection_set_timeout(peer_of(request->connection), 0);
	allo_http.suspend_connection(request->connection);
}

static void refuse_busy(struct allo_http_request *request, const struct allo_lane_state *lane)
{
	uint64_t now_ns = allo_clock_ns();
	uint64_t left_ns = lane->busy_until_ns > now_ns ? lane->busy_until_ns - now_ns : 0;

	allo_http_request_refuse(request, MHD_HTTP_TOO_MANY_REQUESTS,
				 "somebody else is being served: one at a time");
	request->reply.retry_after = (unsigned)(left_ns / ALLO_SECOND_NS) + 1;
}

void allo_http_server_send(struct allo_http_request *request, const struct allo_sending *sending)
{
	struct allo_lane_state *lane = &request->server->lanes[sending->lane];
	bool is_shared = sending->lane == ALLO_LANE_ROSTER, is_busy = lane->worker.pid != 0;
	struct allo_error err = { 0 };

	if (!allo_vec_reserve(&lane->waiting, 1)) {
		allo_http_request_refuse(request, ALLO_BROKEN, "out of memory");
	} else if (is_busy && is_shared) {
		wait_for(request, lane);
	} else if (is_busy || (!is_shared && request->server->files >= FILES_MOST)) {
		refuse_busy(request, lane);
	} else if (!allo_worker_start(&lane->worker, sending->work, sending->wish, sending->kept,
				      sending->busy_ns + sending->limit_ns, &err)) {
		allo_http_request_fail(request, ALLO_UNAVAILABLE, &err);
	} else {
		lane->busy_until_ns = allo_clock_ns() + sending->busy_ns;
		wait_for(request, lane);
	}
}

static void list_first(struct allo_http_request *request)
{
	request->is_listed = true;
	allo_http_server_send(request, &(struct allo_sending){ .lane = ALLO_LANE_ROSTER,
							       .work = allo_process_list_list,
							       .kept = -1,
							       .limit_ns = ROSTER_LIMIT_NS });
}

static void resume_all(struct allo_lane_state *lane)
{
	for (size_t i = 0; i < lane->waiting.len; i++)
		allo_http.resume_connection(lane->waiting.at[i]->connection);
	lane->waiting.len = 0;
}

static void end_listing(struct allo_http_server *server)
{
	ALLO_DEFER(allo_close_fd) int listed = -1;
	struct allo_error err = { 0 };
	struct allo_lane_state *lane = &server->lanes[ALLO_LANE_ROSTER];
	unsigned status = allo_worker_end(&lane->worker, &listed, &err);

	if (status == ALLO_DONE && !allo_process_list_update(&server->processes, listed, &err))
		status = ALLO_BROKEN;
	for (size_t i = 0; i < lane->waiting.len && status != ALLO_DONE; i++)
		allo_http_request_fail(lane->waiting.at[i], status, &err);
	resume_all(lane);
}

static void end_errand(struct allo_lane_state *lane)
{
	struct allo_http_request *sender = lane->waiting.at[0];
	struct allo_error err = { 0 };
	int out;
	unsigned status = allo_worker_end(&lane->worker, &out, &err);

	if (status == ALLO_DONE)
		allo_http_request_file(sender, out);
	else
		allo_http_request_fail(sender, status, &err);
	resume_all(lane);
}

/* Requests. */

/* By either of the ways that clients have; pprof's knows names and passwords in addresses only. */
static bool has_token(const struct allo_http_request *request)
{
	const struct allo_access *access = &request->server->access;
	const char *bearer = allo_access_bearer(allo_http_request_header(request, "Authorization"));
	char *name, *password = NULL;
	bool is_known;

	if (!access->token || bearer)
		return allo_access_allows_token(access, bearer);
	name = allo_http.basic_auth_get_username_password(request->connection, &password);
	is_known = allo_access_allows_token(access, password);
	allo_http.free(name);
	allo_http.free(password);
	return is_known;
}

/* Counts the room that a body may need; false when there is too little. */
static bool reserve_body(struct allo_http_request *request)
{
	const char *length = allo_http_request_header(request, "Content-Length");
	struct allo_http_server *server = request->server;
	uint64_t room = ALLO_BODY_MOST;

	if (length && (!allo_text_u64(allo_text_of(length), &room) || room > ALLO_BODY_MOST)) {
		allo_http_request_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE,
					 "a request may have %d bytes at most", ALLO_BODY_MOST);
		return false;
	}
	if (room > ALLO_BODIES_MOST - server->bodies) {
		allo_http_request_refuse(request, MHD_HTTP_TOO_MANY_REQUESTS,
					 "too many others have sent something");
		request->reply.retry_after = 1;
		return false;
	}
	request->body_room = (size_t)room;
	server->bodies += request->body_room;
	return true;
}

/* What is much longer the library itself refuses. */
static bool has_long_head(const struct allo_http_request *request)
{
	const union MHD_ConnectionInfo *info = allo_http.get_connection_info(
		request->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info && info->header_size > HEAD_MOST;
}

/* Whether it is to be answered; false, and the answer, when it is not. */
static bool admit(struct allo_http_request *request, const char *path, const char *method)
{
	const struct allo_access *access = &request->server->access;
	const char *host = allo_http_request_header(request, "Host");

	if (has_long_head(request))
		allo_http_request_refuse(request, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
					 "a request may have %d bytes in front of its body",
					 HEAD_MOST);
	else if (!allo_access_allows_host(access, host))
		allo_http_request_refuse(request, MHD_HTTP_FORBIDDEN,
					 "this is not '%.100s': use a number, or --host",
					 host ? host : "");
	else if (!has_token(request))
		allo_http_request_refuse(request, MHD_HTTP_UNAUTHORIZED, "the token is needed");
	else if (!(request->route = allo_route_find(path)))
		allo_http_request_refuse(request, ALLO_NOT_FOUND, "there is no %.100s: see /",
					 path);
	else if (!(request->route->methods & allo_route_method(method)))
		allo_http_request_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "%s is for %s", path,
					 allo_route_methods(request->route));
	else if (request->is_post &&
		 !allo_access_allows_origin(allo_http_request_header(request, "Origin"), host))
		allo_http_request_refuse(request, MHD_HTTP_FORBIDDEN,
					 "this is not for pages of other places");
	else
		return !request->is_post || reserve_body(request);
	return false;
}

static enum MHD_Result send_reply(struct allo_http_request *request)
{
	allo_connection_set_timeout(peer_of(request->connection), ALLO_CONNECTION_REPLY_S);
	return allo_http_request_send(request);
}

/* The head of a request has come. */
static enum MHD_Result begin(struct allo_http_server *server, struct MHD_Connection *connection,
			     const char *path, const char *method, void **context)
{
	struct allo_http_request *request = allo_http_request_new(server, connection);

	if (!request)
		return MHD_NO;
	*context = request;
	request->is_head = strcmp(method, "HEAD") == 0;
	request->is_post = strcmp(method, "POST") == 0;
	if (!admit(request, path, method))
		return send_reply(request);
	allo_connection_set_timeout(peer_of(connection), ALLO_CONNECTION_BODY_S);
	return MHD_YES;
}

/* A piece of its body; what is too much is not kept. */
static enum MHD_Result take_body(struct allo_http_request *request, const char *data, size_t *len)
{
	if (*len > request->body_room - request->body.len ||
	    !allo_vec_append(&request->body, data, *len))
		return MHD_NO;
	*len = 0;
	return MHD_YES;
}

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
			list_first(request);
		else
			request->route->answer(request);
	}
	/* Else it waits, and this is called again. */
	return request->reply.status != 0 ? send_reply(request) : MHD_YES;
}

static void end_request(void *context, struct MHD_Connection *connection, void **request,
			enum MHD_RequestTerminationCode code)
{
	(void)context;
	(void)code;
	allo_http_request_free(*request);
	*request = NULL;
	allo_connection_set_timeout(peer_of(connection), ALLO_CONNECTION_HEAD_S);
}

static void note_peer(void *context, struct MHD_Connection *connection, void **socket_context,
		      enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct allo_http_server *server = context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		allo_connections_remove(&server->connections, *socket_context);
		*socket_context = NULL;
		return;
	}
	info = allo_http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*socket_context = allo_connections_add(&server->connections, info->connect_fd);
}

/* The server. */

static unsigned connections_most(void)
{
	const rlim_t wanted = CONNECTIONS_MOST + ALLO_PROCESS_LIST_MAX + OTHER_FILES;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 128;
	files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur < wanted ? (unsigned)files.rlim_cur / 2 : CONNECTIONS_MOST;
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
	server->daemon = allo_http.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
		MHD_OPTION_LISTEN_SOCKET, server->listener.fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT, connections_most(),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)ALLO_CONNECTION_IDLE_S,
		MHD_OPTION_NOTIFY_COMPLETED, end_request, server, MHD_OPTION_NOTIFY_CONNECTION,
		note_peer, server, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!server->daemon)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the server does not start");
	/* The library closes it from now on; ours still stands for the path. */
	server->listener.fd = -1;
	return true;
}

static int timeout_ms(const struct allo_http_server *server)
{
	MHD_UNSIGNED_LONG_LONG library_ms;
	int timeout = server->connections.first ? 1000 : -1;

	for (size_t i = 0; i < ALLO_LANES; i++) {
		if (server->lanes[i].worker.pid != 0)
			timeout = 1000;
	}
	if (allo_http.get_timeout(server->daemon, &library_ms) == MHD_YES &&
	    (timeout < 0 || library_ms < (unsigned)timeout))
		timeout = (int)library_ms;
	return timeout;
}

static void look_after(struct allo_http_server *server, enum allo_lane number, bool has_ended)
{
	struct allo_lane_state *lane = &server->lanes[number];

	if (lane->worker.pid == 0 || (!has_ended && allo_clock_ns() < lane->worker.deadline_ns))
		return;
	if (number == ALLO_LANE_ROSTER)
		end_listing(server);
	else
		end_errand(lane);
}

bool allo_http_server_run(struct allo_http_server *server, struct allo_error *err)
{
	const union MHD_DaemonInfo *info = allo_http.get_daemon_info(server->daemon,
								     MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd polled[2 + ALLO_LANES] = { { .fd = server->signals, .events = POLLIN },
						 { .fd = info->epoll_fd, .events = POLLIN } };

	for (;;) {
		for (size_t i = 0; i < ALLO_LANES; i++) {
			const struct allo_worker *worker = &server->lanes[i].worker;

			polled[2 + i] = (struct pollfd){ .fd = worker->pid ? worker->pidfd : -1,
							 .events = POLLIN };
		}
		if (poll(polled, 2 + ALLO_LANES, timeout_ms(server)) < 0 && errno != EINTR)
			return allo_fail_errno(err, NULL, "wait for requests");
		if (polled[0].revents)
			return true;
		for (enum allo_lane i = 0; i < ALLO_LANES; i++)
			look_after(server, i, polled[2 + i].revents != 0);
		allo_connections_look(&server->connections);
		if (allo_http.run(server->daemon) != MHD_YES)
			return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the server has broken down");
	}
}

/* Those who wait are told that there is nothing to wait for. */
static void give_up(struct allo_http_server *server)
{
	for (size_t i = 0; i < ALLO_LANES; i++) {
		struct allo_lane_state *lane = &server->lanes[i];

		allo_worker_drop(&lane->worker);
		for (size_t k = 0; k < lane->waiting.len; k++)
			allo_http_request_refuse(lane->waiting.at[k], ALLO_UNAVAILABLE,
						 "the server ends");
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
