/* live_state.c - keys to state. */
#include "cli/live/live_state.h"

#include "base/assert.h"
#include "report/keys.h"

const char allo_live_sort_keys[ALLO_LIVE_SORTS] = { 'l', 'b', 'w', 'r' };
const char *const allo_live_sort_names[] = { "live", "blocks", "growth", "rate", NULL };

const struct allo_live_key allo_live_keys[] = {
	{ "up, down", "select a row; also page up, page down, home and end" },
	{ "enter", "show the callers of the selected site" },
	{ "esc", "go back; in the list of sites, remove the filter" },
	{ "/", "filter: only stacks with a matching frame, as with --focus" },
	{ "h", "hide the selected function, as with --hide: its callers remain" },
	{ "u", "show the hidden functions again" },
	{ "l, b, w, r", "sort by live bytes, blocks, growth or rate; also left and right" },
	{ "g", "count growth from now on" },
	{ "m", "add a mark to the recording" },
	{ "s", "write a snapshot for pprof into the current directory" },
	{ "space", "pause" },
	{ "q", "quit" },
	{ NULL, NULL },
};

/* Cursors. */

static struct allo_live_cursor *cursor_of(struct allo_live_state *state)
{
	return state->site ? &state->of_callers : &state->of_sites;
}

const struct allo_live_cursor *allo_live_state_cursor(const struct allo_live_state *state)
{
	return state->site ? &state->of_callers : &state->of_sites;
}

static void select_row(struct allo_live_cursor *cursor, const struct allo_live_shown *shown,
		       size_t place)
{
	if (shown->count == 0) {
		*cursor = (struct allo_live_cursor){ 0 };
		return;
	}
	cursor->place = place < shown->count ? place : shown->count - 1;
	cursor->id = cursor->place > 0 ? shown->rows[cursor->place]->id : 0;
	if (cursor->place < cursor->first)
		cursor->first = cursor->place;
	if (cursor->place >= cursor->first + shown->lines)
		cursor->first = cursor->place - shown->lines + 1;
	/* No empty lines at the end of a list that fills the screen. */
	if (cursor->first + shown->lines > shown->count)
		cursor->first = shown->count > shown->lines ? shown->count - shown->lines : 0;
}

void allo_live_state_settle(struct allo_live_state *state, const struct allo_live_shown *shown)
{
	struct allo_live_cursor *cursor = cursor_of(state);
	size_t place = cursor->id ? cursor->place : 0;

	ALLO_ASSERT(shown->lines > 0);
	for (size_t i = 0; i < shown->count && cursor->id; i++) {
		if (shown->rows[i]->id == cursor->id)
			place = i;
	}
	select_row(cursor, shown, place);
}

const struct allo_live_row *allo_live_state_selected(const struct allo_live_state *state,
						     const struct allo_live_shown *shown)
{
	const struct allo_live_cursor *cursor = allo_live_state_cursor(state);

	return cursor->place < shown->count ? shown->rows[cursor->place] : NULL;
}

static enum allo_live_action move(struct allo_live_state *state, int key,
				  const struct allo_live_shown *shown)
{
	struct allo_live_cursor *cursor = cursor_of(state);
	size_t page = shown->lines, place = cursor->place;

	if (key == ALLO_KEY_UP)
		place -= place > 0;
	else if (key == ALLO_KEY_DOWN)
		place++;
	else if (key == ALLO_KEY_PAGE_UP)
		place -= place > page ? page : place;
	else if (key == ALLO_KEY_PAGE_DOWN)
		place += page;
	else
		place = key == ALLO_KEY_HOME ? 0 : shown->count;
	select_row(cursor, shown, place);
	return ALLO_LIVE_DRAW;
}

/* Typing. */

static enum allo_live_action end_typing(struct allo_live_state *state, bool applies)
{
	state->is_typing = false;
	if (!applies)
		return ALLO_LIVE_DRAW;
	memcpy(state->filter, state->typed, sizeof(state->filter));
	return ALLO_LIVE_FILTER;
}

/* The length of a text without its last character, which may have several bytes. */
static size_t without_last(const char *text, size_t len)
{
	while (len > 0 && ((unsigned char)text[--len] & 0xc0) == 0x80)
		;
	return len;
}

static enum allo_live_action type(struct allo_live_state *state, int key)
{
	size_t len = strlen(state->typed);

	if (key == ALLO_KEY_ENTER || key == ALLO_KEY_ESCAPE)
		return end_typing(state, key == ALLO_KEY_ENTER);
	if (key == ALLO_KEY_BACKSPACE && len == 0)
		return end_typing(state, false);
	if (key == ALLO_KEY_BACKSPACE)
		state->typed[without_last(state->typed, len)] = '\0';
	else if (key >= ' ' && key < 256 && len + 1 < sizeof(state->typed))
		memcpy(state->typed + len, (char[]){ (char)key, '\0' }, 2);
	return ALLO_LIVE_DRAW;
}

/* Other keys. */

static enum allo_live_action escape(struct allo_live_state *state)
{
	if (state->site) {
		state->site = 0;
		return ALLO_LIVE_LIST;
	}
	if (state->filter[0] == '\0')
		return ALLO_LIVE_DRAW;
	state->filter[0] = '\0';
	return ALLO_LIVE_FILTER;
}

static enum allo_live_action open_callers(struct allo_live_state *state,
					  const struct allo_live_shown *shown)
{
	const struct allo_live_row *row = allo_live_state_selected(state, shown);

	if (state->site || !row)
		return ALLO_LIVE_DRAW;
	state->site = row->id;
	state->of_callers = (struct allo_live_cursor){ 0 };
	return ALLO_LIVE_LIST;
}

static enum allo_live_action sort_by(struct allo_live_state *state, int sort)
{
	state->sort = (enum allo_live_sort)((sort + ALLO_LIVE_SORTS) % ALLO_LIVE_SORTS);
	return ALLO_LIVE_SORT;
}

static enum allo_live_action command(struct allo_live_state *state, int key)
{
	for (int i = 0; i < ALLO_LIVE_SORTS; i++) {
		if (key == allo_live_sort_keys[i])
			return sort_by(state, i);
	}
	switch (key) {
	case ALLO_KEY_LEFT:
		return sort_by(state, (int)state->sort - 1);
	case ALLO_KEY_RIGHT:
		return sort_by(state, (int)state->sort + 1);
	case 'g':
		return ALLO_LIVE_MARK;
	case 'm':
		return ALLO_LIVE_MARK_RECORDING;
	case 's':
		return ALLO_LIVE_SNAPSHOT;
	case 'h':
		return ALLO_LIVE_HIDE;
	case 'u':
		return ALLO_LIVE_UNHIDE;
	default:
		return ALLO_LIVE_DRAW;
	}
}

static bool moves(int key)
{
	return key == ALLO_KEY_UP || key == ALLO_KEY_DOWN ||
	       (key >= ALLO_KEY_PAGE_UP && key <= ALLO_KEY_END);
}

enum allo_live_action allo_live_state_key(struct allo_live_state *state, int key,
					  const struct allo_live_shown *shown)
{
	state->message[0] = '\0';
	if (key == ALLO_KEY_GONE)
		return ALLO_LIVE_QUIT;
	if (key == ALLO_KEY_RESIZED)
		return ALLO_LIVE_DRAW;
	if (state->is_typing)
		return type(state, key);
	if (state->has_help || key == '?') {
		state->has_help = !state->has_help;
		return ALLO_LIVE_DRAW;
	}
	if (key == 'q')
		return ALLO_LIVE_QUIT;
	if (moves(key))
		return move(state, key, shown);
	if (key == ALLO_KEY_ESCAPE)
		return escape(state);
	if (key == ALLO_KEY_ENTER)
		return open_callers(state, shown);
	if (key == ' ')
		state->is_paused = !state->is_paused;
	if (key == '/') {
		state->is_typing = true;
		memcpy(state->typed, state->filter, sizeof(state->typed));
	}
	return command(state, key);
}
