/*
 * control_socket.h - the socket that a process is spoken to through, and where it lies.
 *
 * In a folder that nobody else can look into, under a name that says which process it is.  The name
 * appears when there is somebody to answer: one that refuses is of a process that is gone.
 */
#ifndef ALLO_CAPTURE_CONTROL_SOCKET_H
#define ALLO_CAPTURE_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

/* Makes it where the settings say; `path` gets where that is.  -1 when it cannot be made. */
int allo_control_socket_open(char *path, size_t room);

/* Whoever is at the other end of a connection: its process, and whether it has the same user as the
 * calling thread, or is root. */
struct allo_control_peer {
	int process;
	bool is_trusted;
};

struct allo_control_peer allo_control_socket_peer(int fd);

#endif
