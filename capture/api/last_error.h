/*
 * last_error.h - the error message of each thread's last failed call of allo.h.
 */
#ifndef ALLO_CAPTURE_LAST_ERROR_H
#define ALLO_CAPTURE_LAST_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Sets this thread's error message to the concatenation of the arguments.  Returns false. */
#define allo_set_error(...) allo_set_error_texts((const char *const[]){ __VA_ARGS__, NULL })

bool allo_set_error_texts(const char *const *texts);

#endif
