/* cmd_live.c - allo live: what a process holds, from moment to moment. */
#include "base/defer.h"
#include "cli/show_live.h"
#include "report/messages.h"
#include "report/screen.h"
#include "telemetry/monotonic_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	SITES_USUAL = 10,
	OTHER_ROWS = 7, /* of the screen */
};

/* As enum allo_live_sort has them. */
static const char *const sort_names[] = { "live", "blocks", "rate", NULL };

struct live {
	struct allo_common common;
	uint64_t interval_ns, count;
	int sort;
	bool once;
};

static const struct live defaults = { .interval_ns = 1000000000 };

static const struct allo_option options[] = {
	{ .name = "interval",
	  .argument = "TIME",
	  .help = "how often to look, every second without it",
	  .kind = ALLO_OPTION_TIME,
	  .offset = offsetof(struct live, interval_ns) },
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many sites to show; without it as many as fit the screen, or 10",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct live, count) },
	{ .name = "sort",
	  .argument = "WHAT",
	  .help = "what comes first: live (most bytes), blocks, or rate (most allocations a "
		  "second)",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct live, sort),
	  .choices = sort_names },
	{ .name = "once",
	  .help = "look once and end; rates are those since the recording began",
	  .offset = offsetof(struct live, once) },
	{ .name = NULL },
};
static const struct allo_option_group group = { "Looking", options };

static const struct allo_option_group *const groups[] = { &group, &allo_number_group,
							  &allo_printing_group, &allo_symbols_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo live 4711", "live bytes, allocations a second and who holds what" },
	{ "allo live %redis-server --sort rate", "who allocates most" },
	{ "allo live 4711 --once --json", "one look, for programs" },
	{ NULL, NULL },
};

/* The page, and who looks at it. */
struct page {
	const struct live *opt;
	struct allo_live_heap heap;
	enum allo_live_sort sort;
	bool is_paused;
	const char *said; /* about the last key; NULL: nothing */
	unsigned marks;   /* put by us */
};

static void page_done(struct page *page)
{
	allo_live_heap_close(&page->heap);
}

static struct allo_live_form form_of(const struct page *page, size_t most)
{
	return (struct allo_live_form){ .common = &page->opt->common,
					.sort = page->sort,
					.most = page->opt->count ? page->opt->count : most };
}

/* Without a terminal. */

static bool print_once(struct page *page, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_live_form form = form_of(page, SITES_USUAL);

	return allo_common_open_result(&out, err) &&
	       (page->opt->common.json ? allo_show_live_json(&page->heap, &form, &out, err)
				       : allo_show_live(&page->heap, &form, &out, err)) &&
	       allo_output_finish(&out, err);
}

static bool print_all(struct page *page, struct allo_error *err)
{
	while (!page->heap.has_ended && allo_live_heap_look(&page->heap, err) &&
	       print_once(page, err) && !page->opt->once) {
		allo_wait_ns(page->opt->interval_ns);
		if (!page->opt->common.json)
			(void)!write(STDOUT_FILENO, "\n", 1);
		if (!allo_live_heap_check(&page->heap, err))
			break;
	}
	return !allo_failed(err);
}

/* On a terminal. */

static bool draw(struct page *page, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	size_t rows = allo_terminal_rows(), len;
	struct allo_live_form form = form_of(page, rows > OTHER_ROWS ? rows - OTHER_ROWS : 1);
	struct allo_style style = allo_common_style(&page->opt->common);
	char *text;

	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err) ||
	    !allo_show_live(&page->heap, &form, &out, err))
		return false;
	allo_output_printf(&out, "\n%s%s%s%s", style.dim,
			   page->said ? page->said
				      : "q quit  space pause  l live  b blocks  r rate  m mark",
			   page->is_paused ? "   paused" : "", style.reset);
	if (!allo_output_finish(&out, err))
		return false;
	text = allo_output_take_memory(&out, &len, err);
	if (!text)
		return false;
	allo_screen_draw((struct allo_text){ text, len });
	free(text);
	return true;
}

static const char *put_mark(struct page *page)
{
	struct allo_error err = { 0 };
	char name[32];

	if (page->heap.process.pid == 0)
		return "a file has no marks";
	snprintf(name, sizeof(name), "live-%u", ++page->marks);
	return allo_recorded_process_mark(&page->heap.process, name, &err)
		       ? "marked"
		       : "it could not be marked";
}

/* Whether to go on. */
static bool obey(struct page *page, int key)
{
	page->said = NULL;
	switch (key) {
	case 'q':
	case ALLO_KEY_END:
		return false;
	case ' ':
		page->is_paused = !page->is_paused;
		break;
	case 'l':
		page->sort = ALLO_LIVE_BY_BYTES;
		break;
	case 'b':
		page->sort = ALLO_LIVE_BY_BLOCKS;
		break;
	case 'r':
		page->sort = ALLO_LIVE_BY_RATE;
		break;
	case 'm':
		page->said = put_mark(page);
		break;
	default:
		break;
	}
	return true;
}

/* Waits until it is time for another look; false when nobody wants one. */
static bool wait_for_look(struct page *page, struct allo_error *err)
{
	uint64_t until = allo_clock_ns() + page->opt->interval_ns;

	for (;;) {
		uint64_t now = allo_clock_ns();
		int key;

		if (now >= until && !page->is_paused)
			return true;
		key = allo_screen_key(now >= until ? 1000 : (int)((until - now) / 1000000) + 1);
		if (key != ALLO_KEY_NONE && (!obey(page, key) || !draw(page, err)))
			return false;
	}
}

static bool show(struct page *page, struct allo_error *err)
{
	while (!page->heap.has_ended && allo_live_heap_look(&page->heap, err) && draw(page, err) &&
	       wait_for_look(page, err) && allo_live_heap_check(&page->heap, err))
		;
	allo_screen_close();
	if (page->heap.has_ended && !allo_failed(err))
		allo_say("the recording has ended");
	return !allo_failed(err);
}

static bool run_live(const void *options_given, char **names, struct allo_error *err)
{
	const struct live *opt = options_given;
	ALLO_DEFER(page_done)
	struct page page = { .opt = opt, .sort = (enum allo_live_sort)opt->sort };
	struct allo_source_options source;

	if (opt->interval_ns < 100000000)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "an interval has to be 100ms or more");
	if (!allo_common_source(&opt->common, &source, err) ||
	    !allo_live_heap_open(&page.heap, &source, names[0], err))
		return false;
	if (opt->common.json || opt->once || !allo_screen_open())
		return print_all(&page, err);
	return show(&page, err);
}

const struct allo_command allo_cmd_live = {
	.name = "live",
	.heading = "Watch",
	.summary = "show what a process holds, from moment to moment",
	.arguments = "PID|FILE",
	.about =
		"Shows what is live in a process that is being recorded, how much it allocates a "
		"second, and the functions that hold most: on a terminal as a page that is "
		"renewed, otherwise one after the other. The recording is read from outside, once "
		"from the start, and then only what has come since; FILE may be a recording that is "
		"still being written. Of a process that only counts there are no functions.\n\n"
		"On a terminal q ends it, space holds it, l, b and r sort by live bytes, blocks and "
		"allocations a second, and m puts a mark into the recording.\n\n"
		"PID is the number of a process, the path of its socket, or %NAME for the only one "
		"of a name.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct live),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_live,
};
