/*
 * show_attach.h - what 'allo attach' and 'allo detach' have in common: the process that a name
 * stands for, and the lines about it.
 */
#ifndef ALLO_CLI_SHOW_ATTACH_H
#define ALLO_CLI_SHOW_ATTACH_H

#include "attach/attach.h"
#include "cli/common.h"

/* Finds a process by its id, or by %NAME. */
bool allo_attach_find_process(const char *name, pid_t *pid, struct allo_error *err);

/* What was done to which process, and the path of its recording; NULL: it has none. */
struct allo_printed_attach {
	const char *done; /* "attached to" */
	pid_t pid;
	struct allo_attach_result result;
	const char *file;
	const char *const *next; /* commands; NULL ends.  "PID" and "FILE" are replaced */
};

bool allo_attach_print(const struct allo_common *common, const struct allo_printed_attach *printed,
		       struct allo_error *err);

#endif
