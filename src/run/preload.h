/*
 * preload.h - finds the runtime library, and builds the environment that preloads and configures
 * it.
 */
#ifndef ALLO_RUN_PRELOAD_H
#define ALLO_RUN_PRELOAD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

/* Path of the library, to be freed; NULL on failure. */
char *allo_preload_library(struct allo_error *err);

/* All zeros: nothing to free. */
struct allo_environment {
	ALLO_VEC(char *) all; /* "NAME=value"; ends with NULL when finished */
	struct allo_arena arena;
	bool is_short_of_memory;
};

/* Adds a variable. */
void allo_environment_set(struct allo_environment *environment, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds the variables of our environment that are not set yet, puts the library in front of
 * LD_PRELOAD, and ends the list. */
bool allo_environment_finish(struct allo_environment *environment, const char *library,
			     struct allo_error *err);

void allo_environment_done(struct allo_environment *environment);

#endif
