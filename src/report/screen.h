/*
 * screen.h - the whole terminal, for a while.
 *
 * What was on it before is there again afterwards, however the program ends: by returning, by
 * exit(), by a signal, or by a fault of its own.
 */
#ifndef ALLO_REPORT_SCREEN_H
#define ALLO_REPORT_SCREEN_H

#include "base/error.h"
#include "base/text.h"

/* Takes the terminal that standard input and output are.  False, without a failure, where they are
 * none, or one that cannot do it. */
bool allo_screen_open(void);

/* Gives it back. */
void allo_screen_close(void);

/* Puts lines on it, from the top, in the place of those before; those that do not fit are left out.
 */
void allo_screen_draw(struct allo_text lines);

enum { ALLO_KEY_NONE = 0, ALLO_KEY_RESIZED = -1, ALLO_KEY_END = -2 };

/* Waits so long for a key, which is returned; ALLO_KEY_NONE when none comes, ALLO_KEY_RESIZED when
 * the terminal has another size now, ALLO_KEY_END when it is gone. */
int allo_screen_key(int patience_ms);

#endif
