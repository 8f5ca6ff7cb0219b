/*
 * session.h - recordings that the program itself starts and stops.
 */
#ifndef ALLO_CAPTURE_SESSION_H
#define ALLO_CAPTURE_SESSION_H

#include <stdbool.h>

/* The process exits: what the program has asked for is made of the recording. */
void allo_session_exits(void);

/* Where the recording that is going on is; NULL, and why, when there is none. */
const char *allo_session_path(void);

/* Sees to it that no recording begins or ends meanwhile; false when one does just now.  Whoever
 * has it may not start or stop one. */
bool allo_session_try_hold(void);
void allo_session_let_go(void);

#endif
