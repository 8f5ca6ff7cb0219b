/*
 * server.h - the HTTP server of `allo serve`.
 *
 * One thread waits for connections, signals and workers.  Quick requests are answered at once. Slow
 * ones start a worker (worker.h) and stay suspended until it ends.
 */
#ifndef ALLO_SERVE_SERVER_H
#define ALLO_SERVE_SERVER_H

#include "base/vec.h"
#include "serve/access.h"
#include "serve/follower.h"
#include "serve/listener.h"
#include "serve/process_list.h"
#include "serve/worker.h"
#include "symbols/symbols.h"

struct MHD_Daemon;
struct allo_asked_files;
struct allo_connection;
struct allo_http_request;

/* Kinds of slow work.  Each has at most one worker, or one follower at work, at a time. */
enum allo_lane {
	ALLO_LANE_HEAP,
	ALLO_LANE_PAGE, /* requests of the page; they wait for each other */
	ALLO_LANE_SMALL,
	ALLO_LANE_LIST, /* lists processes; its result serves every request that waits for it */
	ALLO_LANES,
};

/* All zeros and a listener's descriptor of -1: nothing to close. */
struct allo_http_server {
	struct allo_listener listener;
	struct allo_access access;
	struct allo_process_list processes;
	struct allo_symbol_options symbols;
	/* Files that `allo view` shows; or NULL: the page shows processes. */
	const struct allo_asked_files *viewed;
	allo_answer *(*find_more)(const char *ask); /* the same as in that, for processes */

	/* Private from here on. */
	struct MHD_Daemon *daemon;
	int signals;
	struct allo_connection *connections, *oldest; /* a list, the newest first, and its end */
	size_t connection_count, connection_limit;
	uint64_t checked_ns; /* when deadlines of connections were last checked */
	size_t bodies;       /* bytes reserved for bodies of requests */
	size_t files;        /* replies in files, which occupy memory until they are sent */
	struct allo_lane_state {
		struct allo_worker worker;
		uint64_t busy_until_ns; /* the earliest time at which the worker or follower can end
					 */
		ALLO_VEC(struct allo_http_request *) waiting;
		struct allo_followers followers;
		struct allo_follower *asked; /* answers the first waiting request; or NULL */
	} lanes[ALLO_LANES];
};

/* Starts to answer requests.  The caller has set the fields above `daemon`.  SIGINT, SIGTERM and
 * SIGHUP are for the server from now on. */
bool allo_http_server_open(struct allo_http_server *server, struct allo_error *err);

/* Runs until one of these signals arrives. */
bool allo_http_server_run(struct allo_http_server *server, struct allo_error *err);

void allo_http_server_close(struct allo_http_server *server);

/* Work for a lane. */
struct allo_job {
	enum allo_lane lane;
	allo_worker_function function;
	const void *task;  /* copied by the fork */
	int kept;          /* a descriptor that the worker needs, or -1 */
	uint64_t limit_ns; /* the worker is killed then */
};

/* Starts a worker and suspends the request until it ends; refuses the request if the lane is busy.
 */
void allo_http_server_start(struct allo_http_request *request, const struct allo_job *job);

/* The same for a heap, or a request of the page: a follower of the process answers.  Requests of
 * the page wait for each other. */
void allo_http_server_follow(struct allo_http_request *request,
			     const struct allo_heap_request *heap, uint64_t limit_ns);

#endif
