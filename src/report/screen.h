/*
 * screen.h - draws on the whole terminal.
 *
 * The previous contents are restored however the program ends: by return, exit(), a signal or a
 * crash.
 */
#ifndef ALLO_REPORT_SCREEN_H
#define ALLO_REPORT_SCREEN_H

#include "base/error.h"
#include "base/text.h"
#include "report/keys.h"

/* Takes over the terminal on standard input and output.  False if there is none, or if it cannot
 * do this. */
bool allo_screen_open(void);

/* Gives it back. */
void allo_screen_close(void);

/* Replaces the lines on the screen; lines that do not fit are left out.  One of them, counted from
 * 0, is highlighted, if it is there. */
void allo_screen_draw(struct allo_text lines, size_t highlighted);

/* Waits for a key and returns it; ALLO_KEY_NONE after the time (-1: never). */
int allo_screen_key(int patience_ms);

#endif
