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

/* Takes over the terminal on standard input and output.  False if there is none, or if it cannot
 * do this. */
bool allo_screen_open(void);

/* Gives it back. */
void allo_screen_close(void);

/* Replaces the lines on the screen; lines that do not fit are left out. */
void allo_screen_draw(struct allo_text lines);

enum { ALLO_KEY_NONE = 0, ALLO_KEY_RESIZED = -1, ALLO_KEY_END = -2 };

/* Waits for a key and returns it; ALLO_KEY_NONE after the time, ALLO_KEY_RESIZED when the size of
 * the terminal has changed, ALLO_KEY_END when the terminal is gone. */
int allo_screen_key(int patience_ms);

#endif
