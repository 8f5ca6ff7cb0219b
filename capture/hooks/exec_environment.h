/*
 * exec_environment.h - our library in the environment of a program that is about to be executed.
 *
 * As in exec_target.h, nothing is written but the caller's memory.
 */
#ifndef ALLO_CAPTURE_EXEC_ENVIRONMENT_H
#define ALLO_CAPTURE_EXEC_ENVIRONMENT_H

#include "wire/runtime_name.h"
#include "wire/skip.h"

#include <limits.h>
#include <stdbool.h>

#include <stddef.h>

/* The value of LD_PRELOAD if it contains our library; NULL otherwise. */
const char *allo_exec_environment_preload(char *const *environment);

/* The sanitizer in a value of LD_PRELOAD: it refuses to come after our library. */
enum allo_skip allo_exec_environment_sanitizer(const char *preload);

/* The number of variables. */
size_t allo_exec_environment_count(char *const *environment);

/* The path of the runtime for another C library, in the folder of ours.  False if it is not there.
 */
bool allo_exec_environment_other(const char *preload, enum allo_libc libc, char path[PATH_MAX]);

/* Copies the variables, up to NULL, to `copy`, which has room for them.  LD_PRELOAD is built in
 * `variable`, with the library `other` instead of ours, or none if that is ""; it has room for
 * sizeof("LD_PRELOAD="), the old value and `other`. */
void allo_exec_environment_copy(char *const *environment, char **copy, const char *other,
				char *variable);

#endif
