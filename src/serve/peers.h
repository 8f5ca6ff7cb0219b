/*
 * peers.h - who is connected, and until when somebody has to get on.
 *
 * The library drops who says nothing for a while, but not who says a byte now and then.
 */
#ifndef ALLO_SERVE_PEERS_H
#define ALLO_SERVE_PEERS_H

#include <stddef.h>
#include <stdint.h>

enum {
	ALLO_PEER_ASKS_S = 10,  /* for the head of a request, from the end of the last one on */
	ALLO_PEER_TELLS_S = 20, /* for what comes behind it */
	ALLO_PEER_TAKES_S = 60, /* for an answer */
	ALLO_PEER_IDLE_S = 10,  /* between two bytes */
};

struct allo_peer {
	int fd;
	uint64_t deadline_ns; /* 0: it is waited for us */
	struct allo_peer *before, *next;
};

/* All zeros: nobody. */
struct allo_peers {
	struct allo_peer *first;
	uint64_t looked_ns; /* when deadlines were looked at */
};

/* NULL when memory is short. */
struct allo_peer *allo_peers_add(struct allo_peers *peers, int fd);
void allo_peers_remove(struct allo_peers *peers, struct allo_peer *peer);

/* It has so long from now on; 0: however long it takes.  `peer` may be NULL. */
void allo_peer_gets(struct allo_peer *peer, unsigned seconds);

/* Hangs up on all that have taken too long. */
void allo_peers_look(struct allo_peers *peers);

#endif
