/* connections.c - see connections.h. */
#include "serve/connections.h"

#include "telemetry/monotonic_clock.h"

#include <stdlib.h>
#include <sys/socket.h>

struct allo_connection *allo_connections_add(struct allo_connections *connections, int fd)
{
	struct allo_connection *connection = malloc(sizeof(*connection));

	if (!connection)
		return NULL;
	*connection = (struct allo_connection){ .fd = fd, .next = connections->first };
	if (connections->first)
		connections->first->before = connection;
	connections->first = connection;
	allo_connection_set_timeout(connection, ALLO_CONNECTION_HEAD_S);
	return connection;
}

void allo_connections_remove(struct allo_connections *connections,
			     struct allo_connection *connection)
{
	if (!connection)
		return;
	if (connection->next)
		connection->next->before = connection->before;
	if (connection->before)
		connection->before->next = connection->next;
	else
		connections->first = connection->next;
	free(connection);
}

void allo_connection_set_timeout(struct allo_connection *connection, unsigned seconds)
{
	if (connection)
		connection->deadline_ns = seconds ? allo_clock_ns() +
							    seconds * (uint64_t)ALLO_SECOND_NS
						  : 0;
}

void allo_connections_look(struct allo_connections *connections)
{
	uint64_t now_ns = allo_clock_ns();

	if (now_ns - connections->looked_ns < ALLO_SECOND_NS)
		return;
	connections->looked_ns = now_ns;
	for (struct allo_connection *connection = connections->first; connection;
	     connection = connection->next) {
		/* The library sees the end of it, and closes. */
		if (connection->deadline_ns != 0 && now_ns > connection->deadline_ns)
			shutdown(connection->fd, SHUT_RDWR);
	}
}
