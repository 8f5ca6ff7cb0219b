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

#include <sys/types.h>

#define ALLO_NAME_PATTERN "%e.%p.allo"

/* Appended to the name of the program's recording: the directory of all others. */
#define ALLO_FAMILY_END ".d"

/* The pattern as an absolute path, to be freed; NULL on failure.  Creates its directory and checks
 * that it is writable.  A directory, or a path that ends in a slash, means the default pattern in
 * it. */
char *allo_name_pattern_prepare(const char *given, struct allo_error *err);

/* The path for a process of `program`, to be freed; NULL, without failure, if it is not known
 * beforehand. */
char *allo_name_pattern_expand(const char *pattern, const char *program, struct allo_error *err);

/* Whether the name differs between processes: then all of them can share the pattern. */
bool allo_name_pattern_is_shared(const char *pattern);

/* The pattern of one recording, that of the program `pid`, in the directory of the pattern: neither
 * it nor its directory for other processes exists yet.  To be freed; NULL on failure. */
char *allo_name_pattern_of_program(const char *pattern, const char *program, pid_t pid,
				   struct allo_error *err);

/* The pattern of all other processes of a run, from that of the program.  To be freed; NULL on
 * failure. */
char *allo_name_pattern_of_family(const char *pattern, struct allo_error *err);

#endif
