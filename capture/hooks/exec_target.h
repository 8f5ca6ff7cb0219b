/*
 * exec_target.h - whether a program that is about to be executed can be recorded.
 *
 * Preloading the runtime into some programs does nothing (static and setuid ones), makes the
 * dynamic linker complain (32-bit ones), or kills them (programs with a sanitizer or for another C
 * library). `allo run` refuses such a program (src/run/target.h); here they are found among its
 * children.
 *
 * Everything here runs in children made by vfork(), and in signal handlers: it makes system calls,
 * and writes to its own stack only.
 */
#ifndef ALLO_CAPTURE_EXEC_TARGET_H
#define ALLO_CAPTURE_EXEC_TARGET_H

#include "wire/runtime_name.h"
#include "wire/skip.h"

#include <stdbool.h>

/* Checks a file, or the interpreter of a script, relative to the folder `at` as in openat(2).  NONE
 * as well if the file cannot be read.  LIBC: *libc is its C library, which is not the runtime's. */
enum allo_skip allo_exec_target_check(int at, const char *path, enum allo_libc *libc);

/* The same for the file of a descriptor. */
enum allo_skip allo_exec_target_check_fd(int fd, enum allo_libc *libc);

/* The sanitizer whose library has this name, or NONE. */
enum allo_skip allo_exec_target_sanitizer(const char *name);

#endif
