/*
 * connections.h - who is connected, and until when somebody has to get on.
 *
 * The library drops who says nothing for a while, but not who says a byte now and then.
 */
#ifndef ALLO_SERVE_CONNECTIONS_H
#define ALLO_SERVE_CONNECTIONS_H

#include <stddef.h>
#include <stdint.h>

enum {
	ALLO_CONNECTION_HEAD_S =
		10, /* for the head of a request, from the end of the last one on */
	ALLO_CONNECTION_BODY_S = 20,  /* for what comes behind it */
	ALLO_CONNECTION_REPLY_S = 60, /* for an answer */
	ALLO_CONNECTION_IDLE_S = 10,  /* between two bytes */
};

struct allo_connection {
	int fd;
	uint64_t deadline_ns; /* 0: it is waited for us */
	struct allo_connection *before, *next;
};

/* All zeros: nobody. */
struct allo_connections {
	struct allo_connection *first;
	uint64_t looked_ns; /* when deadlines were looked at */
};

/* NULL when memory is short. */
struct allo_connection *allo_connections_add(struct allo_connections *connections, int fd);
void allo_connections_remove(struct allo_connections *connections,
			     struct allo_connection *connection);

/* It has so long from now on; 0: however long it takes.  `connection` may be NULL. */
void allo_connection_set_timeout(struct allo_connection *connection, unsigned seconds);

/* Hangs up on all that have taken too long. */
void allo_connections_look(struct allo_connections *connections);

#endif
