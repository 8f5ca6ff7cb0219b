/*
 * live_screen.h - draws the page of 'allo live' on the whole terminal.
 */
#ifndef ALLO_CLI_LIVE_SCREEN_H
#define ALLO_CLI_LIVE_SCREEN_H

#include "cli/live/live_page.h"
#include "report/history.h"

/* The parts of the screen that a printed page lacks. */
struct allo_live_screen {
	const struct allo_live_page *page;
	const struct allo_live_state *state;
	const struct allo_history *history;
	bool is_ascii;
};

/* Lines of the terminal for rows: at least 1. */
size_t allo_live_screen_lines(const struct allo_live_page *page);

/* Draws the screen; the state has to be settled. */
bool allo_live_screen_draw(const struct allo_live_screen *screen, struct allo_error *err);

#endif
