/*
 * missing.h - the parts of glibc that the core uses and that wasi-libc lacks.
 *
 * The build of the engine includes it in front of every file, so that no file of the core needs an
 * #ifdef.  platform.c has the functions.
 */
#ifndef ALLO_WASM_MISSING_H
#define ALLO_WASM_MISSING_H

/* Declares getpid() without a warning. */
#define _WASI_EMULATED_GETPID

#include <stddef.h>

/* <limits.h>, <unistd.h> */
#define NAME_MAX  255
#define SEEK_DATA 3

/* <fcntl.h>, <stdio.h>, <sys/stat.h>, for output to files: every call fails. */
#define O_TMPFILE        0
#define RENAME_NOREPLACE 1
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
int fchmod(int fd, unsigned mode);

/* <stdlib.h> */
char *realpath(const char *path, char *resolved);
void qsort_r(void *items, size_t count, size_t size,
	     int (*compare)(const void *a, const void *b, void *context), void *context);

#endif
