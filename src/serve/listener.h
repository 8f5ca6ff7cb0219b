/*
 * listener.h - the socket that `allo serve` listens on: TCP or Unix.
 */
#ifndef ALLO_SERVE_LISTENER_H
#define ALLO_SERVE_LISTENER_H

#include "base/error.h"

#include <sys/stat.h>

#define ALLO_SERVE_LISTEN "127.0.0.1:6070" /* the default */

/* All zeros and a descriptor of -1: nothing to close. */
struct allo_listener {
	int fd;
	bool is_local; /* reachable from this machine only */
	bool is_path;  /* a Unix socket: permissions of the file apply */
	char url[160]; /* shown to users: http://127.0.0.1:6070, unix:/run/allo.sock */

	/* Private. */
	char path[108];
	struct stat made; /* the socket file; closing removes no other file */
};

/* Listens on HOST:PORT, [HOST]:PORT, PORT or unix:PATH.  HOST is a numeric address or localhost;
 * port 0 picks a free one. */
bool allo_listener_open(struct allo_listener *listener, const char *where, struct allo_error *err);

/* Whether an address is reachable from this machine only.  Fails if it is malformed. */
bool allo_listener_is_local(const char *where, bool *is_local, struct allo_error *err);

/* Closes the socket and removes its file. */
void allo_listener_close(struct allo_listener *listener);

#endif
