/*
 * last_error.h - why a call of allo.h's failed.
 */
#ifndef ALLO_CAPTURE_LAST_ERROR_H
#define ALLO_CAPTURE_LAST_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* What allo_error() says from now on in this thread: all of these texts.  False. */
#define allo_set_error(...) allo_set_error_texts((const char *const[]){ __VA_ARGS__, NULL })

bool allo_set_error_texts(const char *const *texts);

#endif
