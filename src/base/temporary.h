/*
 * temporary.h - files without a name.
 */
#ifndef ALLO_BASE_TEMPORARY_H
#define ALLO_BASE_TEMPORARY_H

/* A file in $TMPDIR, or /tmp, that nobody else sees and that goes away with its descriptor, to be
 * read and written; -1 at failure, with errno set. */
int allo_temporary_open(void);

#endif
