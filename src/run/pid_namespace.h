/*
 * pid_namespace.h - finds processes that other PID namespaces number differently.
 *
 * A program may start others in a new PID namespace, as unshare(1) and bwrap(1) do.  They know only
 * their own process ids, which mean other processes here.
 */
#ifndef ALLO_RUN_PID_NAMESPACE_H
#define ALLO_RUN_PID_NAMESPACE_H

#include <stdint.h>
#include <sys/types.h>

/* The process id in our namespace of the process that has the id `pid` in its own namespace, whose
 * inode is `space` (0: unknown).  Finds processes that started after this one.  0: it has ended. */
pid_t allo_pid_from_namespace(pid_t pid, uint64_t space);

#endif
