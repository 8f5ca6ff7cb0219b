/*
 * stale_socket.h - removes the sockets of processes that have ended.
 *
 * Between the check that no process listens on a path and the removal, a new process may bind the
 * path; its socket must stay.
 */
#ifndef ALLO_BASE_STALE_SOCKET_H
#define ALLO_BASE_STALE_SOCKET_H

#include <sys/stat.h>

/* Removes the socket `name` in `folder` (or AT_FDCWD) after a check that no process listens on it.
 * `seen` is its status from before the check: the file stays if it is another one now, or not a
 * socket. */
void allo_stale_socket_remove(int folder, const char *name, const struct stat *seen);

#endif
