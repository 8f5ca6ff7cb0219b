/*
 * target.h - finds the program to record, and checks that it can be recorded.
 *
 * Only the dynamic linkers of glibc and musl preload our library, only into programs for the same
 * processor, and not if the kernel gives the program more rights than its caller has.  Otherwise
 * the program would run without being recorded, so we check first.
 */
#ifndef ALLO_RUN_TARGET_H
#define ALLO_RUN_TARGET_H

#include "base/error.h"
#include "run/direct_allocator.h"
#include "wire/runtime_name.h"

#include <limits.h>

/* Why a program is not run; decides the exit status. */
enum allo_target_fault {
	ALLO_TARGET_FINE,
	ALLO_TARGET_MISSING, /* the program, its interpreter or its dynamic linker does not exist */
	ALLO_TARGET_UNUSABLE, /* the kernel would refuse to execute it */
	ALLO_TARGET_REFUSED,  /* it would run, but not be recorded */
};

struct allo_target {
	char path[PATH_MAX]; /* for execve() */
	char runs[PATH_MAX]; /* the same, or the interpreter of a script */
	enum allo_target_fault fault;
	enum allo_libc libc; /* of the program; glibc if that is not known */
	/* It contains an allocator, and may never call another. */
	bool defines_malloc;
	/* An allocator that it calls by its own functions. */
	struct allo_direct_allocator allocator;
};

/* Finds a program as execvp() does: in PATH, unless the name has a slash. */
bool allo_target_find(struct allo_target *target, const char *name, struct allo_error *err);

/* Checks that the program, or the interpreter of a script, can be recorded.  `name` is the name
 * that the user typed. */
bool allo_target_check(struct allo_target *target, const char *name, struct allo_error *err);

#endif
