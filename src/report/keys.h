/*
 * keys.h - decodes the bytes that a terminal sends for keys.
 */
#ifndef ALLO_REPORT_KEYS_H
#define ALLO_REPORT_KEYS_H

#include "base/text.h"

/* A key is a byte (a character of more bytes is several keys) or one of these. */
enum allo_key {
	ALLO_KEY_NONE = 0, /* no key yet, or one that has no name here */
	ALLO_KEY_BACKSPACE = 8,
	ALLO_KEY_ENTER = 10,
	ALLO_KEY_ESCAPE = 27,
	ALLO_KEY_UP = 256,
	ALLO_KEY_DOWN,
	ALLO_KEY_LEFT,
	ALLO_KEY_RIGHT,
	ALLO_KEY_PAGE_UP,
	ALLO_KEY_PAGE_DOWN,
	ALLO_KEY_HOME,
	ALLO_KEY_END,
	ALLO_KEY_RESIZED, /* the size of the terminal has changed */
	ALLO_KEY_GONE,    /* the terminal is gone */
};

/* Takes a key off the front of `bytes`, which is not empty.  False if the rest of its bytes is
 * still to come: a lone escape may be the escape key. */
bool allo_key_take(struct allo_text *bytes, int *key);

#endif
