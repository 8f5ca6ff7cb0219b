/*
 * program_name.h - processes by the names of their programs: %NAME on the command line.
 *
 * NAME is the whole name or, if only one program is meant, its beginning.
 */
#ifndef ALLO_WATCH_PROGRAM_NAME_H
#define ALLO_WATCH_PROGRAM_NAME_H

#include "base/error.h"
#include "base/text.h"

#include <stddef.h>
#include <sys/types.h>

enum { ALLO_PROGRAM_NAME_SIZE = 64 };

/* The name of a program by the first argument of its process and by the kernel's name of that: the
 * argument without the folder and without the text that servers append ("nginx: worker process",
 * "redis-server *:6379"). */
struct allo_text allo_program_name_of(struct allo_text first, struct allo_text comm);

/* The same, read from /proc.  Empty for kernel threads, and for processes that have ended. */
void allo_program_name_read(pid_t pid, char name[ALLO_PROGRAM_NAME_SIZE]);

struct allo_named_process {
	pid_t pid;
	const char *program;
};

/* The name among those of the processes that `wanted` stands for.  NULL if there is none; NULL and
 * a failure, with the names as a hint, if there are several. */
const char *allo_program_name_select(const struct allo_named_process *processes, size_t count,
				     const char *wanted, struct allo_error *err);

/* The failure for a name of several processes, with their pids as a hint. */
bool allo_program_name_fail_several(const struct allo_named_process *processes, size_t count,
				    const char *program, struct allo_error *err);

/* Finds the only process of a program, with the runtime or without. */
bool allo_program_name_find(const char *wanted, pid_t *pid, struct allo_error *err);

#endif
