/*
 * stale_socket.h - removes sockets that were left behind by processes which are gone.
 *
 * Between finding that nobody listens at a path and removing it, somebody new may have taken the
 * path: his socket must not go in place of the old one.
 */
#ifndef ALLO_BASE_STALE_SOCKET_H
#define ALLO_BASE_STALE_SOCKET_H

#include <sys/stat.h>

/* Removes the socket of this name in `folder` (or AT_FDCWD), at which nobody was found to listen.
 * `seen` is what it was before that: if it is another one by now, or no socket, it stays. */
void allo_stale_socket_remove(int folder, const char *name, const struct stat *seen);

#endif
