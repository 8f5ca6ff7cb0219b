/*
 * name_pattern.h - patterns for the names of recordings, which each process expands.
 *
 *     %e program    %p process    %t time    %h host    %n a number not taken yet    %%
 * a %
 *
 * The runtime does the filling in; here a pattern is checked and prepared for it.
 */
#ifndef ALLO_RUN_NAME_PATTERN_H
#define ALLO_RUN_NAME_PATTERN_H

#include "base/error.h"

#define ALLO_NAME_PATTERN "%e.%p.allo"

/* The pattern as an absolute path, to be freed; NULL on failure.  Creates its directory and checks
 * that it is writable.  A directory, or a path that ends in a slash, means the default pattern in
 * it. */
char *allo_name_pattern_prepare(const char *given, struct allo_error *err);

/* The path for a process of `program`, to be freed; NULL, without failure, if it is not known
 * beforehand. */
char *allo_name_pattern_expand(const char *pattern, const char *program, struct allo_error *err);

#endif
