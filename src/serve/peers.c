/* peers.c - see peers.h. */
#include "serve/peers.h"

#include "telemetry/ticking.h"

#include <stdlib.h>
#include <sys/socket.h>

struct allo_peer *allo_peers_add(struct allo_peers *peers, int fd)
{
	struct allo_peer *peer = malloc(sizeof(*peer));

	if (!peer)
		return NULL;
	*peer = (struct allo_peer){ .fd = fd, .next = peers->first };
	if (peers->first)
		peers->first->before = peer;
	peers->first = peer;
	allo_peer_gets(peer, ALLO_PEER_ASKS_S);
	return peer;
}

void allo_peers_remove(struct allo_peers *peers, struct allo_peer *peer)
{
	if (!peer)
		return;
	if (peer->next)
		peer->next->before = peer->before;
	if (peer->before)
		peer->before->next = peer->next;
	else
		peers->first = peer->next;
	free(peer);
}

void allo_peer_gets(struct allo_peer *peer, unsigned seconds)
{
	if (peer)
		peer->deadline_ns = seconds ? allo_clock_ns() + seconds * (uint64_t)ALLO_SECOND_NS
					    : 0;
}

void allo_peers_look(struct allo_peers *peers)
{
	uint64_t now_ns = allo_clock_ns();

	if (now_ns - peers->looked_ns < ALLO_SECOND_NS)
		return;
	peers->looked_ns = now_ns;
	for (struct allo_peer *peer = peers->first; peer; peer = peer->next) {
		/* The library sees the end of it, and closes. */
		if (peer->deadline_ns != 0 && now_ns > peer->deadline_ns)
			shutdown(peer->fd, SHUT_RDWR);
	}
}
