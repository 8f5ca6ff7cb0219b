/*
 * listener.h - the address that is listened on.
 */
#ifndef ALLO_SERVE_LISTENER_H
#define ALLO_SERVE_LISTENER_H

#include "base/error.h"

#include <sys/stat.h>

#define ALLO_SERVE_LISTEN "127.0.0.1:6070" /* unless told otherwise */

/* All zeros but for the descriptor, -1: nothing to close. */
struct allo_listener {
	int fd;
	bool is_local; /* only who is on this machine gets here */
	bool is_path;  /* and only who may open the path */
	char url[160]; /* for people: http://127.0.0.1:6070, unix:/run/allo.sock */

	/* Private. */
	char path[108];
	struct stat made; /* what is at the path, so that nobody else's is removed */
};

/* Takes HOST:PORT, [HOST]:PORT, PORT or unix:PATH apart and listens there.  Hosts are numbers, or
 * localhost; port 0 is any that is free. */
bool allo_listener_open(struct allo_listener *listener, const char *where, struct allo_error *err);

/* Whether only this machine would get there, before listening; fails for what is no address. */
bool allo_listener_is_local(const char *where, bool *is_local, struct allo_error *err);

/* Closes, and removes the path. */
void allo_listener_close(struct allo_listener *listener);

#endif
