/* cmd_live.c - allo live: what a process holds, from moment to moment. */
#include "base/defer.h"
#include "base/json_write.h"
#include "cli/heap_counts.h"
#include "cli/live_sites.h"
#include "cli/messages.h"
#include "cli/screen.h"
#include "cli/show.h"
#include "cli/snapshot.h"
#include "cli/table.h"
#include "watch/speak.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum sort { SORT_LIVE, SORT_BLOCKS, SORT_RATE };

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

/* What a look has found. */
struct look {
	struct allo_heap_counts counts;
	uint64_t frees;
	uint64_t ns; /* on the monotonic clock */
	bool has_frees;
};

/* What is being looked at. */
struct watch {
	const struct live *opt;
	struct allo_common common; /* for names */
	enum sort sort;
	struct allo_watched_list list;
	struct allo_watched process; /* .pid is 0: a file that nobody is known to write to */
	bool has_file, has_ended, is_paused;
	const char *file;
	struct allo_follow follow;
	struct allo_live_sites sites;
	struct look now, before;
	const char *said; /* about the last key; NULL: nothing */
	unsigned marks;   /* put by us */
};

static void drop_follow(struct watch *watch)
{
	allo_live_sites_done(&watch->sites);
	watch->sites = (struct allo_live_sites){ 0 };
	allo_follow_close(&watch->follow);
}

static void watch_done(struct watch *watch)
{
	drop_follow(watch);
	allo_watched_list_done(&watch->list);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Looking. */

static bool open_follow(struct watch *watch, struct allo_error *err)
{
	struct allo_progress_bar bar;
	bool ok;

	allo_progress_bar_init(&bar, "replaying what there is");
	ok = allo_follow_open(&watch->follow, watch->file, bar.is_on ? &bar.progress : NULL, err);
	allo_progress_bar_done(&bar);
	return ok;
}

static bool open_process(struct watch *watch, struct allo_error *err)
{
	struct allo_snapshot snapshot;

	watch->has_file = watch->process.file[0] || !watch->process.has_stats;
	if (!watch->has_file)
		return true;
	if (!allo_snapshot_of(&snapshot, &watch->list, &watch->process, &watch->opt->common, NULL,
			      err))
		return false;
	watch->file = snapshot.file;
	watch->common.sysroot = snapshot.common.sysroot;
	return open_follow(watch, err);
}

static bool open_watch(struct watch *watch, const char *name, struct allo_error *err)
{
	struct stat status;

	watch->common = watch->opt->common;
	watch->common.quiet = true; /* what is on the screen stays */
	if (stat(name, &status) == 0 && S_ISREG(status.st_mode)) {
		watch->has_file = true;
		watch->file = name;
		return open_follow(watch, err);
	}
	return allo_watched_find(&watch->list, name, &watch->process, err) &&
	       open_process(watch, err);
}

/* What has become of the process: it may have stopped its recording, and begun another. */
static bool ask_process(struct watch *watch, struct allo_error *err)
{
	ALLO_DEFER(allo_watched_list_done) struct allo_watched_list list = { 0 };
	struct allo_error failure = { 0 };
	struct allo_watched now;

	if (watch->process.pid == 0)
		return true;
	if (!allo_watched_find(&list, watch->process.socket, &now, &failure)) {
		watch->has_ended = true;
		return true;
	}
	if (now.is_silent ||
	    (strcmp(now.file, watch->process.file) == 0 && strcmp(now.state, "dormant") != 0))
		return true;
	if (strcmp(now.state, "dormant") == 0) {
		watch->has_ended = true;
		return true;
	}
	drop_follow(watch);
	watch->now = (struct look){ 0 };
	return allo_watched_find(&watch->list, watch->process.socket, &watch->process, err) &&
	       open_process(watch, err);
}

static void count_heap(struct watch *watch)
{
	const struct allo_live_blocks *blocks = &watch->follow.heap.blocks;
	struct allo_block_totals totals = allo_live_blocks_totals(blocks);

	watch->now.counts = (struct allo_heap_counts){
		.total_blocks = totals.allocations,
		.total_bytes = totals.total_bytes,
		.live_blocks = totals.blocks,
		.live_bytes = totals.bytes,
		.peak_blocks = totals.peak_blocks,
		.peak_bytes = totals.peak_bytes,
		.is_estimated = allo_is_sampled(&blocks->weighing),
	};
	watch->now.frees = totals.frees;
	watch->now.has_frees = true;
}

/* Looks once more; rates are those since the look before. */
static bool look(struct watch *watch, bool is_first, struct allo_error *err)
{
	struct look now = { .ns = monotonic_ns() };

	watch->before = watch->now;
	watch->now = now;
	if (!watch->has_file)
		return allo_heap_counts_ask(&watch->process, &watch->now.counts, err);
	if (!is_first && !allo_follow_step(&watch->follow, err))
		return false;
	watch->has_ended |= watch->process.pid == 0 &&
			    watch->follow.recording.head.end != ALLO_END_NONE;
	count_heap(watch);
	return allo_live_sites_look(&watch->sites, &watch->follow, &watch->common, err);
}

/* Seconds between the last two looks, or since the recording began; 0: nobody knows. */
static double seconds(const struct watch *watch)
{
	uint64_t from = watch->before.ns ? watch->before.ns : watch->process.start_ns;

	return from > 0 && watch->now.ns > from ? (double)(watch->now.ns - from) / 1e9 : 0;
}

static uint64_t rate(const struct watch *watch, uint64_t now, uint64_t before)
{
	double time = seconds(watch);

	return time > 0 && now > before ? (uint64_t)((double)(now - before) / time + 0.5) : 0;
}

/* Showing. */

static uint64_t key_of(const struct watch *watch, const struct allo_live_site *site)
{
	switch (watch->sort) {
	case SORT_BLOCKS:
		return site->live_blocks;
	case SORT_RATE:
		return site->alloc_blocks - site->earlier_blocks;
	case SORT_LIVE:
		break;
	}
	return site->live_bytes;
}

static int compare_sites(const void *a, const void *b, void *context)
{
	const struct allo_live_site *x = *(const struct allo_live_site *const *)a;
	const struct allo_live_site *y = *(const struct allo_live_site *const *)b;
	uint64_t first = key_of(context, x), second = key_of(context, y);

	return first != second ? (first > second ? -1 : 1) : allo_text_compare(x->name, y->name);
}

/* The first sites, to be freed; NULL when memory is short. */
static const struct allo_live_site **sorted_sites(struct watch *watch)
{
	size_t count = watch->sites.all.len;
	const struct allo_live_site **sites = calloc(count + 1, sizeof(*sites));

	for (size_t i = 0; sites && i < count; i++)
		sites[i] = &watch->sites.all.at[i];
	if (sites && count > 0)
		qsort_r(sites, count, sizeof(*sites), compare_sites, watch);
	return sites;
}

static const char *format(const struct watch *watch, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ value, false, watch->now.counts.is_estimated },
			   unit, watch->opt->common.plain, out);
}

static bool read_rss(const struct watch *watch, uint64_t *bytes)
{
	unsigned long long size, pages;
	char path[48];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)watch->process.pid);
	file = watch->process.pid > 0 ? fopen(path, "re") : NULL;
	ok = file && fscanf(file, "%llu %llu", &size, &pages) == 2;
	if (file)
		fclose(file);
	*bytes = ok ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	return ok;
}

static void print_head(struct watch *watch, struct allo_output *out)
{
	const struct allo_heap_counts *now = &watch->now.counts, *before = &watch->before.counts;
	struct allo_style style = allo_common_style(&watch->opt->common);
	char one[ALLO_NUMBER_SIZE], two[ALLO_NUMBER_SIZE], three[ALLO_NUMBER_SIZE];
	char name[ALLO_WATCHED_NAME_SIZE];
	uint64_t rss;

	allo_output_string(out, style.bold);
	allo_show_cut(out,
		      allo_text_of(watch->process.pid ? allo_watched_name(&watch->process, name)
						      : watch->file),
		      0, false);
	allo_output_string(out, style.reset);
	if (watch->process.pid && watch->has_file) {
		allo_output_string(out, "   ");
		allo_show_cut(out, allo_text_of(watch->file), 0, false);
	}
	allo_output_printf(out, "\nlive  %s in %s blocks   peak %s",
			   format(watch, now->live_bytes, ALLO_UNIT_BYTES, one),
			   format(watch, now->live_blocks, ALLO_UNIT_COUNT, two),
			   format(watch, now->peak_bytes, ALLO_UNIT_BYTES, three));
	if (read_rss(watch, &rss))
		allo_output_printf(out, "   rss %s", allo_format_bytes(rss, one));
	allo_output_printf(out, "\nrate  %s allocations/s of %s/s",
			   format(watch, rate(watch, now->total_blocks, before->total_blocks),
				  ALLO_UNIT_COUNT, one),
			   format(watch, rate(watch, now->total_bytes, before->total_bytes),
				  ALLO_UNIT_BYTES, two));
	if (watch->now.has_frees)
		allo_output_printf(out, ", %s frees/s",
				   format(watch, rate(watch, watch->now.frees, watch->before.frees),
					  ALLO_UNIT_COUNT, three));
	allo_output_string(out, "\n");
}

static bool print_sites(struct watch *watch, struct allo_output *out, size_t most,
			struct allo_error *err)
{
	static const char *const titles[] = { "live", "share", "blocks", "allocs/s", "site" };
	enum { COLUMNS = sizeof(titles) / sizeof(*titles) };
	struct allo_style style = allo_common_style(&watch->opt->common);
	ALLO_DEFER(allo_free_pointer) const struct allo_live_site **sites = sorted_sites(watch);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = COLUMNS,
				    .is_left = { [COLUMNS - 1] = true },
				    .style = { [COLUMNS - 1] = style.bold },
				    .style_end = style.reset,
				    .max_width = allo_common_width(&watch->opt->common) };
	char number[ALLO_NUMBER_SIZE];

	if (!sites)
		return allo_fail_memory(err);
	for (size_t i = 0; i < COLUMNS; i++)
		allo_table_string(&table, titles[i], err);
	for (size_t i = 0; i < watch->sites.all.len && i < most; i++) {
		const struct allo_live_site *site = sites[i];

		if (site->live_blocks == 0 && site->alloc_blocks == site->earlier_blocks)
			continue;
		allo_table_string(&table, format(watch, site->live_bytes, ALLO_UNIT_BYTES, number),
				  err);
		allo_table_string(&table,
				  allo_format_share((double)site->live_bytes,
						    (double)watch->now.counts.live_bytes, number),
				  err);
		allo_table_string(&table, format(watch, site->live_blocks, ALLO_UNIT_COUNT, number),
				  err);
		allo_table_string(&table,
				  format(watch,
					 rate(watch, site->alloc_blocks, site->earlier_blocks),
					 ALLO_UNIT_COUNT, number),
				  err);
		allo_show_place(&table, false, site->name, site->file, 0, err);
	}
	if (!allo_failed(err))
		allo_table_print(&table, out);
	return !allo_failed(err);
}

static bool print_text(struct watch *watch, struct allo_output *out, size_t most,
		       struct allo_error *err)
{
	print_head(watch, out);
	if (!watch->has_file) {
		allo_output_string(out, "the process only counts: who holds it is not known\n");
		return true;
	}
	allo_output_string(out, "\n");
	return print_sites(watch, out, most, err);
}

static bool print_json(struct watch *watch, struct allo_output *out, size_t most,
		       struct allo_error *err)
{
	const struct allo_heap_counts *now = &watch->now.counts, *before = &watch->before.counts;
	ALLO_DEFER(allo_free_pointer) const struct allo_live_site **sites = sorted_sites(watch);
	struct allo_json_out json = { .out = out };
	uint64_t rss;

	if (!sites)
		return allo_fail_memory(err);
	allo_show_json_begin_numbers(&json, now->is_estimated);
	if (watch->process.pid) {
		allo_json_out_member_u64(&json, "pid", (uint64_t)watch->process.pid);
		allo_json_out_member_text(&json, "program", allo_text_of(watch->process.program));
	}
	allo_heap_counts_json(&json, now);
	allo_json_out_member_u64(&json, "allocs_per_second",
				 rate(watch, now->total_blocks, before->total_blocks));
	allo_json_out_member_u64(&json, "bytes_per_second",
				 rate(watch, now->total_bytes, before->total_bytes));
	if (read_rss(watch, &rss))
		allo_json_out_member_u64(&json, "rss_bytes", rss);
	allo_json_out_key(&json, "sites");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < watch->sites.all.len && i < most; i++) {
		allo_json_out_begin(&json, '{');
		allo_json_out_member_text(&json, "function", sites[i]->name);
		allo_json_out_member_text(&json, "file", sites[i]->file);
		allo_json_out_member_u64(&json, "live_bytes", sites[i]->live_bytes);
		allo_json_out_member_u64(&json, "live_blocks", sites[i]->live_blocks);
		allo_json_out_member_u64(&json, "alloc_bytes", sites[i]->alloc_bytes);
		allo_json_out_member_u64(&json, "alloc_blocks", sites[i]->alloc_blocks);
		allo_json_out_member_u64(
			&json, "allocs_per_second",
			rate(watch, sites[i]->alloc_blocks, sites[i]->earlier_blocks));
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	allo_output_string(out, "\n");
	return true;
}

/* Without a terminal. */

static bool print_once(struct watch *watch, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	size_t most = watch->opt->count ? watch->opt->count : 10;

	return allo_common_open_result(&out, err) &&
	       (watch->opt->common.json ? print_json(watch, &out, most, err)
					: print_text(watch, &out, most, err)) &&
	       allo_output_finish(&out, err);
}

static void wait_ns(uint64_t ns)
{
	struct timespec left = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static bool print_all(struct watch *watch, struct allo_error *err)
{
	bool is_first = true;

	while (!watch->has_ended && look(watch, is_first, err) && print_once(watch, err) &&
	       !watch->opt->once) {
		wait_ns(watch->opt->interval_ns);
		if (!watch->opt->common.json)
			(void)!write(STDOUT_FILENO, "\n", 1);
		if (!ask_process(watch, err))
			break;
		is_first = watch->now.ns == 0;
	}
	return !allo_failed(err);
}

/* On a terminal. */

static bool draw(struct watch *watch, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	size_t rows = allo_terminal_rows(), len;
	size_t most = watch->opt->count ? watch->opt->count : rows > 8 ? rows - 7 : 1;
	struct allo_style style = allo_common_style(&watch->opt->common);
	char *text;

	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err) ||
	    !print_text(watch, &out, most, err))
		return false;
	allo_output_printf(&out, "\n%s%s%s%s", style.dim,
			   watch->said ? watch->said
				       : "q quit  space pause  l live  b blocks  r rate  m mark",
			   watch->is_paused ? "   paused" : "", style.reset);
	if (!allo_output_finish(&out, err))
		return false;
	text = allo_output_take_memory(&out, &len, err);
	if (!text)
		return false;
	allo_screen_draw((struct allo_text){ text, len });
	free(text);
	return true;
}

static const char *put_mark(struct watch *watch)
{
	ALLO_DEFER(allo_free_pointer) struct allo_answer *answer = malloc(sizeof(*answer));
	struct allo_error err = { 0 };
	struct allo_message request;
	char name[32];

	if (watch->process.pid == 0 || !answer)
		return "a file has no marks";
	snprintf(name, sizeof(name), "live-%u", ++watch->marks);
	allo_message_begin(&request, "mark");
	allo_message_add(&request, "name", name);
	allo_message_end(&request);
	return allo_speak_or_fail(watch->process.socket, "", &request, answer, &err)
		       ? "marked"
		       : "it could not be marked";
}

/* Whether to go on. */
static bool obey(struct watch *watch, int key)
{
	watch->said = NULL;
	switch (key) {
	case 'q':
	case ALLO_KEY_END:
		return false;
	case ' ':
		watch->is_paused = !watch->is_paused;
		break;
	case 'l':
		watch->sort = SORT_LIVE;
		break;
	case 'b':
		watch->sort = SORT_BLOCKS;
		break;
	case 'r':
		watch->sort = SORT_RATE;
		break;
	case 'm':
		watch->said = put_mark(watch);
		break;
	default:
		break;
	}
	return true;
}

/* Waits until it is time for another look; false when nobody wants one. */
static bool wait_for_look(struct watch *watch, struct allo_error *err)
{
	uint64_t until = monotonic_ns() + watch->opt->interval_ns;

	for (;;) {
		uint64_t now = monotonic_ns();
		int key;

		if (now >= until && !watch->is_paused)
			return true;
		key = allo_screen_key(now >= until ? 1000 : (int)((until - now) / 1000000) + 1);
		if (key != ALLO_KEY_NONE && (!obey(watch, key) || !draw(watch, err)))
			return false;
	}
}

static bool show(struct watch *watch, struct allo_error *err)
{
	bool is_first = true;

	do {
		if (!look(watch, is_first, err) || !draw(watch, err))
			break;
		if (!wait_for_look(watch, err) || !ask_process(watch, err))
			break;
		is_first = watch->now.ns == 0;
	} while (!watch->has_ended);
	allo_screen_close();
	if (watch->has_ended && !allo_failed(err))
		allo_say("the recording has ended");
	return !allo_failed(err);
}

static bool run_live(const void *options_given, char **names, struct allo_error *err)
{
	const struct live *opt = options_given;
	ALLO_DEFER(watch_done) struct watch watch = { .opt = opt, .sort = (enum sort)opt->sort };

	if (opt->interval_ns < 100000000)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "an interval has to be 100ms or more");
	if (!open_watch(&watch, names[0], err))
		return false;
	if (opt->common.json || opt->once || !allo_screen_open())
		return print_all(&watch, err);
	return show(&watch, err);
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
