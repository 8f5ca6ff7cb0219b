/*
 * attach_obstacles.h - why the runtime cannot be loaded into a process: known before it is touched.
 */
#ifndef ALLO_ATTACH_OBSTACLES_H
#define ALLO_ATTACH_OBSTACLES_H

#include "attach/tracee_modules.h"

/* False, with the reason and the next step, if the process is of a kind that cannot be attached to:
 * it is stopped, a debugger holds it, or it has a seccomp filter or a shadow stack. */
bool allo_attach_check_process(pid_t pid, struct allo_error *err);

/* The same for its program: another architecture, another C library, or none. */
bool allo_attach_check_modules(const struct allo_tracee_modules *modules, pid_t pid,
			       struct allo_error *err);

/* Replaces the error of ptrace() or of the memory by the reason why this is not permitted. */
bool allo_attach_explain(pid_t pid, struct allo_error *err);

#endif
