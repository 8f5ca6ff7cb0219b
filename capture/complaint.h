/*
 * complaint.h - why a call of allo.h's failed.
 */
#ifndef ALLO_CAPTURE_COMPLAINT_H
#define ALLO_CAPTURE_COMPLAINT_H

#include <stdbool.h>
#include <stddef.h>

/* What allo_error() says from now on in this thread: all of these texts.  False. */
#define allo_complain(...) allo_complain_of((const char *const[]){ __VA_ARGS__, NULL })

bool allo_complain_of(const char *const *texts);

#endif
