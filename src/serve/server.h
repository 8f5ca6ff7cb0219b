/*
 * server.h - answers requests until it is told to end.
 *
 * One thread waits for everything: the library for connections, which it takes over, signals, and
 * children that are on an worker.  A request that needs one is put aside until it is back.
 */
#ifndef ALLO_SERVE_SERVER_H
#define ALLO_SERVE_SERVER_H

#include "serve/access.h"
#include "serve/connections.h"
#include "serve/listener.h"
#include "serve/process_list.h"
#include "serve/worker.h"
#include "symbols/symbols.h"

struct MHD_Daemon;
struct allo_http_request;

/* Errands of a kind are under way one at a time. */
enum allo_lane {
	ALLO_LANE_HEAP,
	ALLO_LANE_SMALL,
	ALLO_LANE_ROSTER, /* whose outcome is for all that ask meanwhile */
	ALLO_LANES,
};

/* All zeros but for the listener's descriptor, -1: nothing to close. */
struct allo_http_server {
	struct allo_listener listener;
	struct allo_access access;
	struct allo_process_list processes;
	const struct allo_symbol_options *symbols;

	/* Private from here on. */
	struct MHD_Daemon *daemon;
	int signals;
	struct allo_connections connections;
	size_t bodies; /* room that they have all together */
	size_t files;  /* that hold answers */
	struct allo_lane_state {
		struct allo_worker worker;
		uint64_t busy_until_ns; /* at least */
		ALLO_VEC(struct allo_http_request *) waiting;
	} lanes[ALLO_LANES];
};

/* Begins to answer; all above `daemon` is the caller's to fill in.  From now on signals to end are
 * for the server. */
bool allo_http_server_open(struct allo_http_server *server, struct allo_error *err);

/* Until SIGINT, SIGTERM or SIGHUP. */
bool allo_http_server_run(struct allo_http_server *server, struct allo_error *err);

void allo_http_server_close(struct allo_http_server *server);

/* For routes: sends somebody on an worker, and has the request wait for it, or refuses it where
 * somebody is under way already. */
struct allo_sending {
	enum allo_lane lane;
	allo_worker_function work;
	const void *wish; /* good until this returns is good enough */
	int kept;
	uint64_t busy_ns;  /* that it takes in any case */
	uint64_t limit_ns; /* that it may take besides */
};

void allo_http_server_send(struct allo_http_request *request, const struct allo_sending *sending);

#endif
