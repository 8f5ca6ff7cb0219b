/*
 * runtime_name.h - the file names of the runtime, one for each C library.
 *
 * `allo run` preloads the one for the program's C library.  The runtime exchanges it for the other
 * one, in the same folder, when a program executes one of the other C library.
 */
#ifndef ALLO_WIRE_RUNTIME_NAME_H
#define ALLO_WIRE_RUNTIME_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum allo_libc { ALLO_LIBC_GLIBC, ALLO_LIBC_MUSL, ALLO_LIBC_OTHER };

/* Of programs that are compiled with these headers. */
#ifdef __GLIBC__
#define ALLO_LIBC_OWN ALLO_LIBC_GLIBC
#else
#define ALLO_LIBC_OWN ALLO_LIBC_MUSL
#endif

/* NULL: there is none. */
static inline const char *allo_runtime_name(enum allo_libc libc)
{
	static const char *const names[] = { "liballo.so.0", "liballo-musl.so.0", NULL };

	return names[libc];
}

/* Whether a file is one of these, whatever its version. */
static inline bool allo_is_runtime_name(const char *file)
{
	return strncmp(file, "liballo.so", strlen("liballo.so")) == 0 ||
	       strncmp(file, "liballo-musl.so", strlen("liballo-musl.so")) == 0;
}

/* The C library of a dynamic linker, by its file name. */
static inline enum allo_libc allo_libc_of_linker(const char *file)
{
	if (strncmp(file, "ld-musl", strlen("ld-musl")) == 0)
		return ALLO_LIBC_MUSL;
	if (strncmp(file, "ld-uClibc", strlen("ld-uClibc")) == 0 ||
	    strncmp(file, "linker", strlen("linker")) == 0)
		return ALLO_LIBC_OTHER;
	return ALLO_LIBC_GLIBC;
}

#endif
