/*
 * preload.h - finds the runtime library, and builds the environment that preloads and configures
 * it.
 *
 * The program sees two variables: LD_PRELOAD, and ALLO_SETTINGS with all settings of the runtime.
 */
#ifndef ALLO_RUN_PRELOAD_H
#define ALLO_RUN_PRELOAD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "wire/runtime_name.h"

/* Path of the library for a program of this C library, to be freed; NULL on failure, also if
 * LD_PRELOAD has a library that excludes it. */
char *allo_preload_library(enum allo_libc libc, struct allo_error *err);

/* All zeros: nothing to free. */
struct allo_environment {
	ALLO_VEC(char *) all;    /* "NAME=value"; ends with NULL when finished */
	ALLO_VEC(char) settings; /* the value of ALLO_SETTINGS */
	struct allo_arena arena;
	bool is_short_of_memory;
};

/* Adds a setting: the value of the variable ALLO_NAME. */
void allo_environment_set(struct allo_environment *environment, const char *name, const char *fmt,
			  ...) __attribute__((format(printf, 3, 4)));

/* Adds the variables of our environment, with ALLO_SETTINGS and the library in front of LD_PRELOAD,
 * and ends the list. */
bool allo_environment_finish(struct allo_environment *environment, const char *library,
			     struct allo_error *err);

void allo_environment_done(struct allo_environment *environment);

#endif
