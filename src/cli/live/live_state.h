/*
 * live_state.h - the state of the screen of 'allo live', and the effect of keys on it.
 *
 * Nothing here draws or reads: a key changes the state and returns the action that is left to do.
 */
#ifndef ALLO_CLI_LIVE_STATE_H
#define ALLO_CLI_LIVE_STATE_H

#include "engine/live/live_sites.h"

/* The selection in a list of rows.  It follows its row; at the top it stays there. */
struct allo_live_cursor {
	uint64_t id;  /* of the selected row; 0: the first row, whichever it is */
	size_t place; /* of the selected row */
	size_t first; /* place of the topmost row on the screen */
};

/* The rows of the list, and the lines for it on the screen. */
struct allo_live_shown {
	const struct allo_live_row *const *rows;
	size_t count, lines;
};

enum { ALLO_LIVE_TYPED = 128, ALLO_LIVE_MESSAGE = 256 };

/* All zeros: the list of sites, sorted by live bytes. */
struct allo_live_state {
	enum allo_live_sort sort;
	bool is_paused;
	bool has_help; /* the keys are shown */
	uint64_t site; /* its callers are shown; 0: all sites are */
	struct allo_live_cursor of_sites, of_callers;
	bool is_typing;                  /* a filter */
	char typed[ALLO_LIVE_TYPED];     /* so far */
	char filter[ALLO_LIVE_TYPED];    /* in use; empty: none */
	char message[ALLO_LIVE_MESSAGE]; /* about the last key; empty: none */
};

enum allo_live_action {
	ALLO_LIVE_DRAW,
	ALLO_LIVE_QUIT,
	ALLO_LIVE_SORT,
	ALLO_LIVE_MARK,           /* growth counts from now on */
	ALLO_LIVE_MARK_RECORDING, /* names this moment of the recording */
	ALLO_LIVE_SNAPSHOT,
	ALLO_LIVE_FILTER, /* the filter has changed */
	ALLO_LIVE_HIDE,   /* the selected function */
	ALLO_LIVE_UNHIDE, /* the functions that were hidden */
	ALLO_LIVE_LIST,   /* other rows: those of a site's callers, or of all sites */
};

/* Takes a key. */
enum allo_live_action allo_live_state_key(struct allo_live_state *state, int key,
					  const struct allo_live_shown *shown);

/* Finds the selected row again, and scrolls to it, after the rows or the screen have changed. */
void allo_live_state_settle(struct allo_live_state *state, const struct allo_live_shown *shown);

/* The cursor of the list on the screen. */
const struct allo_live_cursor *allo_live_state_cursor(const struct allo_live_state *state);

/* The selected row; NULL if there are no rows. */
const struct allo_live_row *allo_live_state_selected(const struct allo_live_state *state,
						     const struct allo_live_shown *shown);

/* The keys and their effects. */
struct allo_live_key {
	const char *key, *effect; /* NULL ends the table */
};
extern const struct allo_live_key allo_live_keys[];

/* The letters of the sort orders, and their names. */
extern const char allo_live_sort_keys[ALLO_LIVE_SORTS];
extern const char *const allo_live_sort_names[]; /* NULL ends */

#endif
