/* cmd_live.c - allo live: the heap of a running process, updated every second. */
#include "base/assert.h"
#include "base/defer.h"
#include "cli/live/live_group.h"
#include "cli/live/live_screen.h"
#include "engine/live/live_callers.h"
#include "report/messages.h"
#include "report/screen.h"
#include "telemetry/monotonic_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_ROWS = 10, SNAPSHOTS_MOST = 1000 };

struct live {
	struct allo_common common;
	uint64_t interval_ns, count;
	int sort, by;
	bool once, is_ascii;
};

static const struct live defaults = { .interval_ns = ALLO_SECOND_NS };

/* In the order of enum allo_by. */
static const char *const by_names[] = { "function", "site", "file", "module", NULL };

#define AT(field) offsetof(struct live, field)
static const struct allo_option options[] = {
	OPT_TIME(0, "interval", "TIME", interval_ns, "time between updates (default: 1s)"),
	OPT_COUNT('n', "count", "N", count,
		  "number of rows (default: all on a terminal, where the list scrolls, or 10)"),
	OPT_CHOICE('g', "by", "GROUP", by, by_names,
		   "group by function, site (a line of a function), file or module (default: "
		   "function)"),
	OPT_CHOICE(0, "sort", "KEY", sort, allo_live_sort_names,
		   "sort by live (bytes), blocks, growth (bytes since the start of watching), or "
		   "rate (allocations per second) (default: live)"),
	OPT_FLAG(0, "once", once, "print one page and exit; rates are since the recording began"),
	OPT_FLAG(0, "ascii", is_ascii, "draw in ASCII (default: only if the locale is not UTF-8)"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Page", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_site_group,
	&allo_stack_filter_group,
	&allo_number_group,
	&allo_printing_group,
	&allo_symbols_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo live 4711", "live bytes, growth and the functions that hold the most" },
	{ "allo live %redis-server --sort rate", "the functions that allocate the most" },
	{ "allo live %nginx", "the workers of a server, added up" },
	{ "allo live 4711 --focus dict --ignore expire", "one part of the program" },
	{ "allo live 4711 --once --json", "one page as JSON" },
	{ NULL, NULL },
};

/* A session of watching. */
struct session {
	const struct live *opt;
	struct allo_live_heap heap;
	struct allo_live_sites sites;
	struct allo_live_callers callers;
	struct allo_live_state state;
	struct allo_history history;
	ALLO_VEC(const struct allo_live_row *) rows; /* that are shown, in order */
	/* The filter's additions to the options: patterns, which the filter refers to. */
	char *focus;
	char *hidden[ALLO_FILTER_PATTERNS];
	size_t hidden_count;
	char patterns[256]; /* all of them, for the page */
	unsigned marks;     /* that we added to the recording */
};

static void unhide(struct session *session)
{
	while (session->hidden_count > 0)
		free(session->hidden[--session->hidden_count]);
}

static void session_done(struct session *session)
{
	allo_live_callers_done(&session->callers);
	allo_live_sites_done(&session->sites);
	allo_live_heap_close(&session->heap);
	allo_vec_done(&session->rows);
	free(session->focus);
	unhide(session);
}

/* Filters. */

static bool make_filter(const struct session *session, const char *focus,
			struct allo_filter *filter, struct allo_error *err)
{
	if (!allo_common_filter(&session->opt->common, false, filter, err) ||
	    (focus && !allo_patterns_add(&filter->focus, focus, err)))
		return false;
	for (size_t i = 0; i < session->hidden_count; i++) {
		if (!allo_patterns_add(&filter->hide, session->hidden[i], err))
			return false;
	}
	return true;
}

static void add_words(struct session *session, const char *option, const char *const *words,
		      size_t count)
{
	size_t len = strlen(session->patterns), room = sizeof(session->patterns) - len;

	for (size_t i = 0; i < count; i++) {
		int more = snprintf(session->patterns + len, room, "%s--%s %s", len > 0 ? " " : "",
				    option, words[i]);

		if (more < 0 || (size_t)more >= room)
			return;
		len += (size_t)more;
		room -= (size_t)more;
	}
}

/* The patterns as options, such as "--focus dict --hide zmalloc". */
static void describe_filter(struct session *session)
{
	const struct allo_common *common = &session->opt->common;

	session->patterns[0] = '\0';
	add_words(session, "focus", common->focus.item, common->focus.count);
	add_words(session, "focus", (const char *const *)&session->focus, session->focus != NULL);
	add_words(session, "ignore", common->ignore.item, common->ignore.count);
	add_words(session, "hide", common->hide.item, common->hide.count);
	add_words(session, "hide", (const char *const *)session->hidden, session->hidden_count);
	add_words(session, "show", common->show.item, common->show.count);
	add_words(session, "mine", (const char *const[]){ "" }, common->mine);
}

/* Replaces the filter by one with another focus, which may be empty.  A failure changes nothing. */
static bool change_filter(struct session *session, const char *focus, struct allo_error *err)
{
	struct allo_filter filter = { 0 };
	char *copy = focus[0] ? strdup(focus) : NULL;

	if ((focus[0] && !copy && !allo_fail_memory(err)) ||
	    !make_filter(session, copy, &filter, err)) {
		allo_filter_done(&filter);
		free(copy);
		return false;
	}
	allo_filter_done(&session->sites.filter);
	session->sites.filter = filter;
	allo_live_sites_regroup(&session->sites);
	free(session->focus);
	session->focus = copy;
	describe_filter(session);
	return true;
}

/* The pattern that matches the frames of a row; to be freed. */
static char *pattern_of(const struct session *session, const struct allo_live_row *row)
{
	static const char *const fields[] = { "fn:=", "fn:=", "file:=", "mod:=" };
	const char *field = session->state.site ? "fn:=" : fields[session->opt->by];
	struct allo_text name = row->name;
	char *pattern;

	/* A function without a name is shown as its module. */
	if (name.len > 2 && name.data[0] == '[') {
		field = "mod:";
		name = (struct allo_text){ name.data + 1, name.len - 2 };
	}
	return asprintf(&pattern, "%s%.*s", field, (int)name.len, name.data) < 0 ? NULL : pattern;
}

/* Rows. */

static int compare_rows(const void *a, const void *b, void *context)
{
	return allo_live_row_compare(*(const struct allo_live_row *const *)a,
				     *(const struct allo_live_row *const *)b,
				     *(const enum allo_live_sort *)context);
}

static bool list_sites(struct session *session, struct allo_error *err)
{
	bool has_all = session->opt->common.json;

	for (size_t i = 0; i < session->sites.rows.len; i++) {
		const struct allo_live_row *row = &session->sites.rows.at[i];

		ALLO_ASSERT(row->sum.alloc_blocks >= row->sum.earlier_blocks);
		if (has_all ? row->sum.alloc_blocks > 0 : !allo_live_is_idle(&row->sum))
			allo_vec_add(&session->rows, row, err);
	}
	if (session->rows.len > 0)
		qsort_r(session->rows.at, session->rows.len, sizeof(*session->rows.at),
			compare_rows, &session->state.sort);
	return !allo_failed(err);
}

static bool list_callers(struct session *session, struct allo_error *err)
{
	if (!allo_live_callers_update(&session->callers, &session->sites, &session->heap,
				      session->state.site, session->state.sort, err))
		return false;
	for (size_t i = 0; i < session->callers.rows.len; i++)
		allo_vec_add(&session->rows, &session->callers.rows.at[i], err);
	return !allo_failed(err);
}

/* The site whose callers are shown; NULL: none. */
static const struct allo_live_row *open_site(const struct session *session)
{
	for (size_t i = 0; i < session->sites.rows.len && session->state.site; i++) {
		if (session->sites.rows.at[i].id == session->state.site)
			return &session->sites.rows.at[i];
	}
	return NULL;
}

/* Brings the rows up to date with the heap, the filter and the state. */
static bool update_rows(struct session *session, struct allo_error *err)
{
	session->rows.len = 0;
	if (!allo_live_sites_update(&session->sites, &session->heap, err))
		return false;
	if (!open_site(session)) /* the filter may have removed it */
		session->state.site = 0;
	return session->state.site ? list_callers(session, err) : list_sites(session, err);
}

static bool look(struct session *session, struct allo_error *err)
{
	if (!allo_live_heap_look(&session->heap, err))
		return false;
	allo_history_add(&session->history, session->heap.now.ns,
			 session->heap.now.counts.live_bytes);
	return update_rows(session, err);
}

static struct allo_live_page page_of(struct session *session, size_t max_rows)
{
	struct allo_live_page page = {
		.common = &session->opt->common,
		.heap = &session->heap,
		.sites = &session->sites,
		.shown = { .rows = session->rows.at, .count = session->rows.len },
		.site = open_site(session),
		.has_growth = !session->opt->once,
		.patterns = session->patterns,
	};

	if (session->opt->count > 0)
		max_rows = session->opt->count;
	if (page.shown.count > max_rows)
		page.shown.count = max_rows;
	return page;
}

/* Without a terminal. */

static bool print_once(struct session *session, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_live_page page = page_of(session, DEFAULT_ROWS);

	if (!allo_common_open_result(&out, err))
		return false;
	allo_live_page_print(&page, &out);
	return allo_output_finish(&out, err);
}

static bool print_all(struct session *session, struct allo_error *err)
{
	while (!session->heap.has_ended && look(session, err) && print_once(session, err) &&
	       !session->opt->once) {
		allo_wait_ns(session->opt->interval_ns);
		if (!session->opt->common.json)
			(void)!write(STDOUT_FILENO, "\n", 1);
		if (!allo_live_heap_check(&session->heap, err))
			break;
	}
	return !allo_failed(err);
}

/* On a terminal. */

static struct allo_live_page settled_page(struct session *session)
{
	struct allo_live_page page = page_of(session, SIZE_MAX);

	page.shown.lines = allo_live_screen_lines(&page);
	allo_live_state_settle(&session->state, &page.shown);
	return page;
}

static bool draw(struct session *session, struct allo_error *err)
{
	struct allo_live_page page = settled_page(session);
	const struct allo_live_screen screen = { .page = &page,
						 .state = &session->state,
						 .history = &session->history,
						 .is_ascii = session->opt->is_ascii ||
							     !allo_terminal_is_utf8() };

	return allo_live_screen_draw(&screen, err);
}

static void say(struct session *session, const char *message)
{
	snprintf(session->state.message, sizeof(session->state.message), "%s", message);
}

static void add_mark(struct session *session)
{
	struct allo_error err = { 0 };
	char name[32];

	if (session->heap.process.pid == 0) {
		say(session, "marks need a process, not a file");
		return;
	}
	snprintf(name, sizeof(name), "live-%u", ++session->marks);
	if (allo_recorded_process_mark(&session->heap.process, name, &err))
		snprintf(session->state.message, sizeof(session->state.message),
			 "marked this moment of the recording as %s", name);
	else
		say(session, err.message);
}

/* A name for a snapshot that no file has yet. */
static void name_snapshot(const struct session *session, char *path, size_t room)
{
	const struct allo_recorded_process *process = &session->heap.process;
	const char *program = process->pid ? process->program : "heap";
	const char *slash = strrchr(program, '/');

	/* The process chose the name: the file stays in this folder. */
	program = slash ? slash + 1 : program;
	for (unsigned i = 1; i < SNAPSHOTS_MOST; i++) {
		snprintf(path, room, "%.64s.%d-%u.pb.gz", program, (int)process->pid, i);
		if (access(path, F_OK) != 0)
			return;
	}
}

static void write_snapshot(struct session *session)
{
	struct allo_error err = { 0 };
	char path[128];

	if (!session->heap.file) {
		say(session, "the process keeps counts only: there is no heap to write");
		return;
	}
	name_snapshot(session, path, sizeof(path));
	if (allo_live_heap_write(&session->heap, path, &err))
		snprintf(session->state.message, sizeof(session->state.message), "wrote %s", path);
	else
		say(session, err.message);
}

/* Applies the filter that was typed; if it is wrong, typing goes on. */
static void apply_filter(struct session *session)
{
	struct allo_live_state *state = &session->state;
	struct allo_error err = { 0 };

	if (change_filter(session, state->filter, &err))
		return;
	say(session, err.message);
	snprintf(state->filter, sizeof(state->filter), "%s", session->focus ? session->focus : "");
}

static void hide_selected(struct session *session, const struct allo_live_shown *shown)
{
	const struct allo_live_row *row = allo_live_state_selected(&session->state, shown);
	struct allo_error err = { 0 };
	char *pattern;

	if (!row || session->hidden_count == ALLO_FILTER_PATTERNS)
		return;
	pattern = pattern_of(session, row);
	if (!pattern)
		return;
	session->hidden[session->hidden_count++] = pattern;
	if (change_filter(session, session->state.filter, &err))
		return;
	free(session->hidden[--session->hidden_count]);
	say(session, err.message);
}

static void unhide_all(struct session *session)
{
	struct allo_error err = { 0 };

	/* The filter refers to the patterns, so it goes first. */
	allo_filter_done(&session->sites.filter);
	session->sites.filter = (struct allo_filter){ 0 };
	unhide(session);
	if (!change_filter(session, session->state.filter, &err))
		say(session, err.message);
}

/* Returns false to quit. */
static bool handle_key(struct session *session, int key, struct allo_error *err)
{
	struct allo_live_page page = settled_page(session);

	switch (allo_live_state_key(&session->state, key, &page.shown)) {
	case ALLO_LIVE_QUIT:
		return false;
	case ALLO_LIVE_MARK:
		say(session, "growth counts from now on");
		if (!allo_live_heap_mark(&session->heap, err))
			return false;
		break;
	case ALLO_LIVE_MARK_RECORDING:
		add_mark(session);
		break;
	case ALLO_LIVE_SNAPSHOT:
		write_snapshot(session);
		break;
	case ALLO_LIVE_FILTER:
		apply_filter(session);
		break;
	case ALLO_LIVE_HIDE:
		hide_selected(session, &page.shown);
		break;
	case ALLO_LIVE_UNHIDE:
		unhide_all(session);
		break;
	default:
		break;
	}
	return update_rows(session, err) && draw(session, err);
}

/* Looks again.  If the process has ended, the last state stays on the screen. */
static bool look_again(struct session *session, struct allo_error *err)
{
	struct allo_error last = { 0 };

	if (session->heap.now.ns != 0 && !allo_live_heap_check(&session->heap, err))
		return false;
	if (session->heap.has_ended)
		(void)look(session, &last);
	else if (!look(session, err))
		return false;
	return draw(session, err);
}

static bool is_watching(const struct session *session)
{
	return !session->heap.has_ended && !session->state.is_paused;
}

static bool show(struct session *session, struct allo_error *err)
{
	uint64_t next = 0, now;
	int key = ALLO_KEY_NONE;

	do {
		now = allo_clock_ns();
		if (is_watching(session) && now >= next) {
			if (!look_again(session, err))
				break;
			now = allo_clock_ns();
			next = now + session->opt->interval_ns;
		}
		key = allo_screen_key(is_watching(session) ? (int)((next - now) / 1000000) + 1
							   : -1);
	} while (key == ALLO_KEY_NONE || handle_key(session, key, err));
	allo_screen_close();
	if (session->heap.has_ended && !allo_failed(err))
		allo_say("the recording has ended");
	return !allo_failed(err);
}

/* Whether the name stands for several processes, which `list` gets. */
static bool is_group(const char *name, struct allo_recorded_processes *list)
{
	struct allo_error err = { 0 }; /* opening the name fails with the same reason */

	return name[0] == '%' && allo_recorded_processes_find(list, name, &err) &&
	       list->all.len > 1;
}

static bool run_group(const struct live *opt, const struct allo_recorded_processes *list,
		      struct allo_error *err)
{
	const struct allo_live_group_options given = {
		.common = &opt->common,
		.interval_ns = opt->interval_ns,
		.max_rows = opt->count > 0 ? opt->count : DEFAULT_ROWS,
		.by = (enum allo_by)opt->by,
		.sort = (enum allo_live_sort)opt->sort,
		.once = opt->once,
	};

	return allo_common_check(&opt->common, err) && allo_live_group_print(&given, list, err);
}

static bool run_live(const void *options_given, char **names, struct allo_error *err)
{
	const struct live *opt = options_given;
	bool prints = opt->common.json || opt->common.markdown || opt->once;
	ALLO_DEFER(session_done)
	struct session session = { .opt = opt,
				   .sites = { .by = (enum allo_by)opt->by,
					      .has_attribution = !opt->common.keep_allocator },
				   .state = { .sort = (enum allo_live_sort)opt->sort },
				   .history = { .step_ns = opt->interval_ns } };
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	struct allo_source_options source;

	if (opt->interval_ns < ALLO_SECOND_NS / 10)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--interval must be at least 100ms");
	if (is_group(names[0], &list))
		return run_group(opt, &list, err);
	if (allo_common_check(&opt->common, err) &&
	    allo_common_attribution(&opt->common, &session.sites.attribution, err) &&
	    change_filter(&session, "", err) && allo_common_source(&opt->common, &source, err) &&
	    allo_live_heap_open(&session.heap, &source, names[0], err)) {
		if (prints || !allo_screen_open())
			print_all(&session, err);
		else
			show(&session, err);
	}
	return allo_common_keep_error(err);
}

const struct allo_command allo_cmd_live = {
	.name = "live",
	.heading = "Watch",
	.summary = "show the heap of a running process, updated every second",
	.arguments = "PID|FILE",
	.about =
		"Shows the live memory of a process that is being recorded, its history, its growth "
		"and allocations per second, and the functions that hold the most. On a terminal it "
		"updates one page; otherwise it prints one page after the other. It reads the "
		"recording from outside the process: once from the start, and then only new events. "
		"FILE may be a recording that is still being written. A process that keeps counts "
		"only has no functions.\n\n"
		"Keys on a terminal: the arrow keys select a function, enter shows its callers and "
		"esc goes back. l, b, w and r sort by live bytes, blocks, growth and allocations per "
		"second. / types a filter, h hides the selected function and u shows hidden ones "
		"again. g counts growth from now on. s writes a snapshot for pprof, m adds a mark to "
		"the recording, space pauses, ? lists the keys and q quits.\n\n"
		"PID is a process id, the path of its socket, or %NAME. If several processes have "
		"that name, such as the workers of a server, each page has a row for each of them "
		"and one table of the functions of all; these pages have no keys.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct live),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_live,
};
