/* live_screen.c - the page in the lines of the terminal, with a history, a selection and keys. */
#include "cli/live/live_screen.h"

#include "base/defer.h"
#include "base/utf8.h"
#include "report/chart.h"
#include "report/screen.h"

#include <stdio.h>
#include <stdlib.h>

/* Lines of the terminal from which on the screen has each part. */
enum {
	LINES_FOR_RATES = 10,
	LINES_FOR_HISTORY = 12,
	LINES_FOR_BLANKS = 14,
	LINES_FOR_CHART = 30,
	CHART_LINES = 3,
};

struct layout {
	bool has_rates, has_blanks;
	size_t history_lines;
	size_t head_lines; /* above the first row */
	size_t row_lines;
};

static struct layout layout_of(const struct allo_live_page *page)
{
	size_t lines = allo_terminal_rows() ? allo_terminal_rows() : 24, other;
	struct layout layout = { .has_rates = lines >= LINES_FOR_RATES,
				 .has_blanks = lines >= LINES_FOR_BLANKS,
				 .history_lines = lines >= LINES_FOR_CHART     ? CHART_LINES
						  : lines >= LINES_FOR_HISTORY ? 1
									       : 0 };

	/* The process, its totals and the titles; rates and growth. */
	layout.head_lines = 3 + 2 * layout.has_rates + layout.history_lines + layout.has_blanks +
			    allo_live_page_has_selection(page);
	other = layout.head_lines + layout.has_blanks + 1; /* keys */
	layout.row_lines = lines > other ? lines - other : 1;
	return layout;
}

size_t allo_live_screen_lines(const struct allo_live_page *page)
{
	return layout_of(page).row_lines;
}

/* History. */

/* Memory that hardly changes is drawn flat: the scale covers at least 1 % of it. */
static uint64_t top_of_scale(const struct allo_history *history)
{
	uint64_t least = history->least + history->most / 100;

	return history->most > least ? history->most : least;
}

static void describe_history(struct allo_report *report, const struct allo_live_screen *screen,
			     size_t lines)
{
	const struct allo_history *history = screen->history;
	const char *range = allo_report_string(report, "%s to %s",
					       allo_report_bytes(report, history->least),
					       allo_report_bytes(report, history->most));
	size_t width = allo_terminal_columns(), other = 6 + 2 + strlen(range);
	struct allo_spark spark = { .values = history->values,
				    .count = history->count,
				    .low = history->least,
				    .high = top_of_scale(history),
				    .columns = width > other + 8 ? width - other : 8,
				    .rows = lines,
				    .is_ascii = screen->is_ascii };

	for (size_t i = 0; i < lines; i++) {
		struct allo_output *out = allo_report_drawing(report);

		allo_output_string(out, i == 0 ? "past  " : "      ");
		allo_output_string(out, report->options.style.green);
		allo_spark_draw(&spark, i, out);
		allo_output_string(out, report->options.style.reset);
		allo_output_printf(out, "%s%s\n", i == 0 ? "  " : "", i == 0 ? range : "");
	}
}

/* The last line. */

static void put_keys(struct allo_report *report, const struct allo_live_state *state)
{
	allo_report_put(report, ALLO_STYLE_DIM, "q quit  ? keys  / filter  %s   ",
			state->site ? "esc back" : "enter callers");
	for (int i = 0; i < ALLO_LIVE_SORTS; i++)
		allo_report_put(report, (int)state->sort == i ? ALLO_STYLE_BOLD : ALLO_STYLE_DIM,
				(int)state->sort == i ? "[%c %s] " : "%c %s  ",
				allo_live_sort_keys[i], allo_live_sort_names[i]);
}

static void describe_last_line(struct allo_report *report, const struct allo_live_screen *screen)
{
	const struct allo_live_state *state = screen->state;

	if (state->is_typing) {
		allo_report_put(report, ALLO_STYLE_BOLD, "/");
		allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(state->typed));
		allo_report_put(report, ALLO_STYLE_DIM, "_   enter applies, esc cancels");
	} else if (state->message[0] != '\0') {
		allo_report_put_text(report, ALLO_STYLE_YELLOW, allo_text_of(state->message));
	} else if (screen->page->heap->has_ended) {
		allo_report_put(report, ALLO_STYLE_YELLOW,
				"the recording has ended: this is its last state   q quit  ? keys");
	} else {
		if (state->is_paused)
			allo_report_put(report, ALLO_STYLE_YELLOW, "paused (space)  ");
		put_keys(report, state);
	}
}

/* The whole. */

static void describe_help(struct allo_report *report)
{
	allo_report_line(report, "any key goes back");
	for (const struct allo_live_key *key = allo_live_keys; key->key; key++) {
		allo_report_put(report, ALLO_STYLE_BOLD, "  %-12s", key->key);
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s", key->effect);
		allo_report_end_line(report);
	}
}

static void describe_rows(struct allo_report *report, const struct allo_live_screen *screen,
			  const struct layout *layout)
{
	const struct allo_live_page *page = screen->page;
	const struct allo_live_cursor *cursor = allo_live_state_cursor(screen->state);
	size_t shown = page->shown.count - cursor->first;

	if (!page->heap->file) {
		allo_report_line(report,
				 "the process keeps counts only: its sites are not recorded");
		shown = 0;
	} else {
		allo_live_page_rows(report, page, cursor->first, layout->row_lines);
	}
	if (shown == 0 && page->heap->file)
		allo_report_line(report, "%s",
				 page->patterns[0] ? "no stack matches" : "no live block");
	for (size_t i = shown ? shown : 1; i < layout->row_lines; i++)
		allo_report_blank(report);
	if (layout->has_blanks)
		allo_report_blank(report);
}

static void describe(struct allo_report *report, const struct allo_live_screen *screen)
{
	const struct layout layout = layout_of(screen->page);

	allo_live_page_process(report, screen->page);
	if (screen->state->has_help) {
		describe_help(report);
		return;
	}
	allo_live_page_totals(report, screen->page);
	if (layout.has_rates)
		allo_live_page_rates(report, screen->page);
	if (layout.history_lines > 0)
		describe_history(report, screen, layout.history_lines);
	allo_live_page_selection(report, screen->page);
	if (layout.has_blanks)
		allo_report_blank(report);
	describe_rows(report, screen, &layout);
	describe_last_line(report, screen);
	allo_report_end_line(report);
}

/* The line of the selected row; none while the keys are shown. */
static size_t highlighted_line(const struct allo_live_screen *screen)
{
	const struct allo_live_cursor *cursor = allo_live_state_cursor(screen->state);

	if (screen->state->has_help || screen->page->shown.count == 0)
		return (size_t)-1;
	return layout_of(screen->page).head_lines + cursor->place - cursor->first;
}

bool allo_live_screen_draw(const struct allo_live_screen *screen, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(allo_free_pointer) char *text = NULL;
	struct allo_report_options options = allo_common_report_options(
		screen->page->common, screen->page->heap->now.counts.is_estimated);
	size_t len;

	options.max_width = allo_terminal_columns();
	options.keeps_lines = true; /* each has a row of the screen */
	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err))
		return false;
	allo_report_begin(&report, &options, &out);
	describe(&report, screen);
	allo_report_end(&report);
	if (!allo_output_finish(&out, err))
		return false;
	text = allo_output_take_memory(&out, &len, err);
	if (text)
		allo_screen_draw((struct allo_text){ text, len }, highlighted_line(screen));
	return text != NULL;
}
