/* test_live_state.c - cli/live/live_state.h: keys to state, without a terminal. */
#include "check.h"

#include "cli/live/live_state.h"
#include "report/keys.h"

enum { ROWS = 20, LINES = 5 };

/* A screen of 5 lines and a list of 20 rows with the ids 1 to 20. */
struct fixture {
	struct allo_live_state state;
	struct allo_live_row rows[ROWS];
	const struct allo_live_row *order[ROWS];
	struct allo_live_shown shown;
};

static struct fixture fixture;

static int set_up(void **state)
{
	(void)state;
	fixture = (struct fixture){ .shown = { fixture.order, ROWS, LINES } };
	for (size_t i = 0; i < ROWS; i++) {
		fixture.rows[i].id = i + 1;
		fixture.order[i] = &fixture.rows[i];
	}
	allo_live_state_settle(&fixture.state, &fixture.shown);
	return 0;
}

static enum allo_live_action press(int key)
{
	return allo_live_state_key(&fixture.state, key, &fixture.shown);
}

static void type_text(const char *text)
{
	for (; *text; text++)
		press((unsigned char)*text);
}

static void assert_at(uint64_t id, size_t first)
{
	assert_int_equal(allo_live_state_selected(&fixture.state, &fixture.shown)->id, id);
	assert_int_equal(allo_live_state_cursor(&fixture.state)->first, first);
}

/* Moves a row to the front. */
static void to_front(size_t place)
{
	const struct allo_live_row *row = fixture.order[place];

	memmove(fixture.order + 1, fixture.order, place * sizeof(*fixture.order));
	fixture.order[0] = row;
	allo_live_state_settle(&fixture.state, &fixture.shown);
}

static void arrows_move_and_scroll(void **state)
{
	(void)state;
	assert_at(1, 0);
	press(ALLO_KEY_UP);
	assert_at(1, 0);
	for (int i = 0; i < LINES; i++)
		press(ALLO_KEY_DOWN);
	assert_at(6, 1);
	press(ALLO_KEY_UP);
	assert_at(5, 1);
}

static void pages_and_ends(void **state)
{
	(void)state;
	press(ALLO_KEY_PAGE_DOWN);
	assert_at(6, 1);
	press(ALLO_KEY_END);
	assert_at(ROWS, ROWS - LINES);
	press(ALLO_KEY_DOWN);
	assert_at(ROWS, ROWS - LINES);
	press(ALLO_KEY_PAGE_UP);
	assert_at(ROWS - LINES, ROWS - LINES - 1);
	press(ALLO_KEY_HOME);
	assert_at(1, 0);
}

static void the_selection_follows_its_row(void **state)
{
	(void)state;
	press(ALLO_KEY_DOWN);
	assert_at(2, 0);
	to_front(9);
	assert_at(2, 0);
	assert_int_equal(allo_live_state_cursor(&fixture.state)->place, 2);
}

static void at_the_top_the_selection_stays_there(void **state)
{
	(void)state;
	to_front(9);
	assert_at(10, 0);
}

static void a_selected_row_that_goes_leaves_its_neighbour(void **state)
{
	(void)state;
	press(ALLO_KEY_END);
	fixture.shown.count = 3;
	allo_live_state_settle(&fixture.state, &fixture.shown);
	assert_at(3, 0);
	fixture.shown.count = 0;
	allo_live_state_settle(&fixture.state, &fixture.shown);
	assert_null(allo_live_state_selected(&fixture.state, &fixture.shown));
	assert_int_equal(press(ALLO_KEY_DOWN), ALLO_LIVE_DRAW);
	assert_int_equal(press(ALLO_KEY_ENTER), ALLO_LIVE_DRAW);
}

static void a_larger_screen_shows_no_empty_lines(void **state)
{
	(void)state;
	press(ALLO_KEY_END);
	fixture.shown.lines = 2 * ROWS;
	allo_live_state_settle(&fixture.state, &fixture.shown);
	assert_at(ROWS, 0);
}

static void letters_and_arrows_sort(void **state)
{
	(void)state;
	assert_int_equal(press('w'), ALLO_LIVE_SORT);
	assert_int_equal(fixture.state.sort, ALLO_LIVE_BY_GROWTH);
	press(ALLO_KEY_RIGHT);
	assert_int_equal(fixture.state.sort, ALLO_LIVE_BY_RATE);
	press(ALLO_KEY_RIGHT);
	assert_int_equal(fixture.state.sort, ALLO_LIVE_BY_BYTES);
	press(ALLO_KEY_LEFT);
	assert_int_equal(fixture.state.sort, ALLO_LIVE_BY_RATE);
}

static void enter_opens_a_site_and_escape_returns_to_it(void **state)
{
	(void)state;
	press(ALLO_KEY_DOWN);
	assert_int_equal(press(ALLO_KEY_ENTER), ALLO_LIVE_LIST);
	assert_int_equal(fixture.state.site, 2);
	assert_int_equal(allo_live_state_cursor(&fixture.state)->place, 0);
	press(ALLO_KEY_END);
	assert_int_equal(press(ALLO_KEY_ENTER), ALLO_LIVE_DRAW);
	assert_int_equal(fixture.state.site, 2);
	assert_int_equal(press(ALLO_KEY_ESCAPE), ALLO_LIVE_LIST);
	assert_int_equal(fixture.state.site, 0);
	assert_at(2, 0);
}

static void a_filter_is_typed_and_removed(void **state)
{
	(void)state;
	press('/');
	type_text("diq");
	press(ALLO_KEY_BACKSPACE);
	type_text("ct \xc3\xa9");
	press(ALLO_KEY_BACKSPACE); /* both bytes of the letter */
	press(ALLO_KEY_BACKSPACE);
	assert_string_equal(fixture.state.filter, "");
	assert_int_equal(press(ALLO_KEY_ENTER), ALLO_LIVE_FILTER);
	assert_string_equal(fixture.state.filter, "dict");
	assert_false(fixture.state.is_typing);
	assert_int_equal(press(ALLO_KEY_ESCAPE), ALLO_LIVE_FILTER);
	assert_string_equal(fixture.state.filter, "");
}

static void escape_cancels_typing(void **state)
{
	(void)state;
	press('/');
	type_text("q");
	assert_int_equal(press(ALLO_KEY_ESCAPE), ALLO_LIVE_DRAW);
	assert_string_equal(fixture.state.filter, "");
	press('/');
	assert_int_equal(press(ALLO_KEY_BACKSPACE), ALLO_LIVE_DRAW);
	assert_false(fixture.state.is_typing);
}

static void a_filter_longer_than_the_line_is_cut(void **state)
{
	(void)state;
	press('/');
	for (int i = 0; i < 3 * ALLO_LIVE_TYPED; i++)
		press('x');
	press(ALLO_KEY_ENTER);
	assert_int_equal(strlen(fixture.state.filter), ALLO_LIVE_TYPED - 1);
}

static void any_key_leaves_the_help(void **state)
{
	(void)state;
	press('?');
	assert_true(fixture.state.has_help);
	assert_int_equal(press('q'), ALLO_LIVE_DRAW);
	assert_false(fixture.state.has_help);
	assert_int_equal(press('q'), ALLO_LIVE_QUIT);
}

static void keys_that_act(void **state)
{
	(void)state;
	assert_int_equal(press('g'), ALLO_LIVE_MARK);
	assert_int_equal(press('m'), ALLO_LIVE_MARK_RECORDING);
	assert_int_equal(press('s'), ALLO_LIVE_SNAPSHOT);
	assert_int_equal(press('h'), ALLO_LIVE_HIDE);
	assert_int_equal(press('u'), ALLO_LIVE_UNHIDE);
	press(' ');
	assert_true(fixture.state.is_paused);
	press(' ');
	assert_false(fixture.state.is_paused);
	assert_int_equal(press(ALLO_KEY_GONE), ALLO_LIVE_QUIT);
}

static void a_key_clears_the_message(void **state)
{
	(void)state;
	strcpy(fixture.state.message, "wrote it");
	press(ALLO_KEY_DOWN);
	assert_string_equal(fixture.state.message, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(arrows_move_and_scroll, set_up),
		cmocka_unit_test_setup(pages_and_ends, set_up),
		cmocka_unit_test_setup(the_selection_follows_its_row, set_up),
		cmocka_unit_test_setup(at_the_top_the_selection_stays_there, set_up),
		cmocka_unit_test_setup(a_selected_row_that_goes_leaves_its_neighbour, set_up),
		cmocka_unit_test_setup(a_larger_screen_shows_no_empty_lines, set_up),
		cmocka_unit_test_setup(letters_and_arrows_sort, set_up),
		cmocka_unit_test_setup(enter_opens_a_site_and_escape_returns_to_it, set_up),
		cmocka_unit_test_setup(a_filter_is_typed_and_removed, set_up),
		cmocka_unit_test_setup(escape_cancels_typing, set_up),
		cmocka_unit_test_setup(a_filter_longer_than_the_line_is_cut, set_up),
		cmocka_unit_test_setup(any_key_leaves_the_help, set_up),
		cmocka_unit_test_setup(keys_that_act, set_up),
		cmocka_unit_test_setup(a_key_clears_the_message, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
