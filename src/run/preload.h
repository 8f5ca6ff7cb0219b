/*
 * preload.h - how the runtime gets into a program: which library it is, and the environment that
 * makes the dynamic linker load it and tells it what to do.
 */
#ifndef ALLO_RUN_PRELOAD_H
#define ALLO_RUN_PRELOAD_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

/* Path of the library, to be freed; NULL at failure. */
char *allo_preload_library(struct allo_error *err);

/* All zeros: nothing to give back. */
struct allo_environment {
	ALLO_VEC(char *) all; /* "NAME=value"; ends with NULL when finished */
	struct allo_arena arena;
	bool is_short_of_memory;
};

/* Adds a variable. */
void allo_environment_set(struct allo_environment *environment, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds those of our own environment, but for the ones that are there already, and the library in
 * front of what is preloaded anyway; then it is finished. */
bool allo_environment_finish(struct allo_environment *environment, const char *library,
			     struct allo_error *err);

void allo_environment_done(struct allo_environment *environment);

#endif
