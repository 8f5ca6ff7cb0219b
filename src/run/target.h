/*
 * target.h - the program that is to be recorded: which file it is, and whether it can be.
 *
 * A library is preloaded by glibc's dynamic linker, into programs for the same processor as the
 * library, and not where the kernel gives a program more rights than its caller has.  Where that
 * fails the program would run as ever and nothing would be recorded, so we look beforehand.
 */
#ifndef ALLO_RUN_TARGET_H
#define ALLO_RUN_TARGET_H

#include "base/error.h"

#include <limits.h>

/* Why a program is not run, for those who tell it by their exit status. */
enum allo_target_fault {
	ALLO_TARGET_FINE,
	ALLO_TARGET_MISSING,  /* there is no such program, or what it needs to start is not there */
	ALLO_TARGET_UNUSABLE, /* the kernel would not execute it */
	ALLO_TARGET_REFUSED,  /* it would run, but not be recorded */
};

struct allo_target {
	char path[PATH_MAX]; /* what to hand to execve() */
	char runs[PATH_MAX]; /* the same, or the interpreter that a script comes to in the end */
	enum allo_target_fault fault;
	/* It has an allocator of its own, by which it may well go without ever calling another. */
	bool defines_malloc;
};

/* Finds a program as execvp() does: in PATH, unless the name has a slash. */
bool allo_target_find(struct allo_target *target, const char *name, struct allo_error *err);

/* Whether what was found can be recorded; `name` is what the user calls it.  Goes on from a script
 * to its interpreter. */
bool allo_target_check(struct allo_target *target, const char *name, struct allo_error *err);

#endif
