/*
 * name_pattern.h - the names of recordings, as patterns that each process fills in for itself.
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

/* The pattern with an absolute path, to be freed, and its directory, which is made if need be and
 * can be written to; NULL at failure.  The name of a directory, or one that ends in a slash, stands
 * for the usual pattern in it. */
char *allo_name_pattern_prepare(const char *given, struct allo_error *err);

/* The name that it gives to a process of `program`, to be freed; NULL, without failure, when that
 * is not known beforehand. */
char *allo_name_pattern_expand(const char *pattern, const char *program, struct allo_error *err);

#endif
