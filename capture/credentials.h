/*
 * credentials.h - whose the process is.
 *
 * To the kernel each thread has a user of its own.  libc sees to it that all those change it that
 * it knows; a thread of ours it does not know.
 */
#ifndef ALLO_CAPTURE_CREDENTIALS_H
#define ALLO_CAPTURE_CREDENTIALS_H

#include <stdbool.h>

/* Makes the calling thread's user and groups those of the program's first thread.  False when they
 * are others, and cannot be had. */
bool allo_credentials_adopt(void);

#endif
