/*
 * temporary.h - unnamed temporary files.
 */
#ifndef ALLO_BASE_TEMPORARY_H
#define ALLO_BASE_TEMPORARY_H

/* Opens an unnamed file in $TMPDIR (default: /tmp) for reading and writing; it disappears with its
 * descriptor.  -1 on failure, with errno set. */
int allo_temporary_open(void);

#endif
