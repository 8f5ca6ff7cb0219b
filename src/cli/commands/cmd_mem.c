/* cmd_mem.c - allo mem: a breakdown of the resident memory of a running process. */
#include "base/assert.h"
#include "base/defer.h"
#include "base/units.h"
#include "cli/common.h"
#include "ledger/ledger.h"
#include "report/messages.h"
#include "run/allocator_name.h"
#include "run/allocator_walk.h"
#include "run/known_runtime.h"
#include "telemetry/metric_table.h"
#include "telemetry/metrics.h"
#include "telemetry/snapshots.h"
#include "watch/program_name.h"
#include "watch/recorded_process.h"
#include "watch/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct mem {
	struct allo_common common;
	bool watch, no_walk, walk, metrics, openmetrics, list;
	uint64_t interval_ns, count;
};

static const struct mem defaults = { .interval_ns = 2000000000 };

#define AT(field) offsetof(struct mem, field)
static const struct allo_option options[] = {
	OPT_FLAG(
		0, "no-walk", no_walk,
		"do not walk through glibc's blocks, which tells used from free blocks and takes about "
		"half a second per GiB"),
	OPT_FLAG('v', "verbose", common.verbose, "also list the largest mappings"),
	OPT_END,
};

static const struct allo_option watch_options[] = {
	OPT_FLAG('w', "watch", watch, "print again until the process ends or Ctrl-C is pressed"),
	OPT_TIME(
		0, "interval", "TIME", interval_ns,
		"time between updates (default: 2s); at least 19 times as long as an update takes"),
	OPT_COUNT('n', "count", "N", count, "number of updates (default: unlimited)"),
	OPT_END,
};

static const struct allo_option metric_options[] = {
	OPT_FLAG(0, "metrics", metrics,
		 "print all cheap metrics in the Prometheus format, instead of the table"),
	OPT_FLAG(0, "openmetrics", openmetrics, "the same in the OpenMetrics format"),
	OPT_FLAG(
		0, "walk", walk,
		"add the metrics of glibc's malloc, from a walk through its blocks, which takes about "
		"half a second per GiB"),
	OPT_FLAG(0, "list", list,
		 "list the names, meanings and costs of these metrics; takes no process"),
	OPT_END,
};

static const struct allo_option quiet_options[] = {
	OPT_FLAG('q', "quiet", common.quiet, "do not print notes about unknown numbers"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Table", options };
static const struct allo_option_group watch_group = { "Watching", watch_options };
static const struct allo_option_group metrics_group = { "Metrics", metric_options };
static const struct allo_option_group quiet_group = { "Notes", quiet_options };

static const struct allo_option_group *const groups[] = {
	&group,       &watch_group, &metrics_group, &allo_number_group, &allo_printing_group,
	&quiet_group, NULL,
};

static const struct allo_example examples[] = {
	{ "allo mem 4711", "the parts of its resident memory" },
	{ "allo mem --watch %redis", "the same every two seconds, of the process named redis-..." },
	{ "allo mem --json 4711 | jq .cgroup.limit_bytes", "one number, for a script" },
	{ "allo mem --metrics 4711", "all metrics, for Prometheus" },
	{ "allo mem --metrics --walk 4711", "with those of glibc's malloc" },
	{ NULL, NULL },
};

/* A process, and the results of the last look at it. */
struct process {
	const struct mem *opt;
	uint64_t pid;
	struct allo_snapshots shots;
	struct allo_memory_snapshot snapshot;
	struct allo_other_memory memory;
	struct allo_vmas vmas;
	struct allo_ledger ledger;
	struct allo_heap_counts live;
	char program[64];
	/* Why the live blocks are unknown; "": they are known. */
	char live_why[sizeof(((struct allo_error *)NULL)->message)];
	uint64_t took_ns;
};

static void process_done(struct process *process)
{
	allo_vmas_done(&process->vmas);
	allo_other_memory_close(&process->memory);
}

static bool parse_pid(const char *text, uint64_t *pid, struct allo_error *err)
{
	pid_t found;

	if (text[0] == '%') {
		if (!allo_program_name_find(text + 1, &found, err))
			return false;
		*pid = (uint64_t)found;
		return true;
	}
	if (allo_text_u64(allo_text_of(text), pid) && *pid > 0)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'%.80s' is not a process id", text);
	return allo_hint(err, "give a pid or %%NAME");
}

static void read_program(struct process *process)
{
	char path[64];
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, process->program, sizeof(process->program) - 1);
		close(fd);
	}
	while (len > 0 && process->program[len - 1] == '\n')
		len--;
	process->program[len > 0 ? len : 0] = '\0';
}

/* Reads the cheap metrics.  False if there is no such process. */
static bool take_snapshot(struct process *process, struct allo_error *err)
{
	const struct allo_memory_source *status = &process->snapshot.sources[0];

	read_program(process);
	if (allo_snapshots_take(&process->shots, 0, &process->snapshot))
		return true;
	if (status->why[0])
		return allo_fail(
			err, ALLO_IO, ALLO_NOWHERE, "process %" PRIu64 ": %s", process->pid,
			kill((pid_t)process->pid, 0) < 0 && errno == ESRCH ? "no such process"
									   : status->why);
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			 "process %" PRIu64 " has no memory: it has ended, or is a kernel thread",
			 process->pid);
}

/* A process with a control socket reports its counts and the statistics of its allocator. */
static void ask_process(struct process *process)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	struct allo_recorded_process recorded;
	struct allo_error ignored = { 0 };
	char pid[24];

	snprintf(pid, sizeof(pid), "%" PRIu64, process->pid);
	if (!allo_recorded_process_find(&list, pid, &recorded, &ignored) || recorded.is_silent)
		return;
	if (recorded.socket[0]) {
		allo_remote_memory_add(recorded.socket, &process->snapshot);
		return;
	}
	allo_remote_memory_add_recording(&list, &recorded, &process->snapshot);
	allo_snapshot_add_source(&process->snapshot, "allocator", 0,
				 "the process has no control socket: see 'allo run --control'");
}

static void set_live(struct process *process, const char *why)
{
	snprintf(process->live_why, sizeof(process->live_why), "%s", why);
}

/* Live blocks come from the process or, if it writes one, from its recording. */
static void read_live(struct process *process)
{
	const struct allo_heap_memory *heap = &process->snapshot.heap;
	struct allo_error why = { 0 };

	process->live = (struct allo_heap_counts){ .live_bytes = heap->live_bytes,
						   .live_blocks = heap->live_blocks };
	if (heap->live_bytes != ALLO_UNKNOWN)
		set_live(process, "");
	else if (allo_ledger_recording(&process->vmas).len == 0)
		set_live(process, "the process is not recorded");
	else if (process->opt->watch)
		set_live(process, "--watch does not read the recording");
	else if (!allo_heap_counts_of_pid((pid_t)process->pid,
					  allo_common_host(&process->opt->common), &process->live,
					  &why))
		set_live(process, why.message);
	else
		set_live(process, "");
}

/* Guesses the allocator from the mappings, unless the process reported it. */
static void name_allocator(struct process *process)
{
	struct allo_allocator_memory *allocator = &process->snapshot.allocator;

	if (!allocator->name[0])
		snprintf(allocator->name, sizeof(allocator->name), "%s",
			 allo_allocator_name(&process->vmas, process->pid));
}

/* Why the allocator's statistics are missing; NULL: they are not, or were not requested. */
static const char *why_not_reported(const struct allo_memory_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->source_count; i++) {
		if (strcmp(snapshot->sources[i].name, "allocator") == 0 &&
		    snapshot->sources[i].why[0])
			return snapshot->sources[i].why;
	}
	return NULL;
}

static bool look(struct process *process, struct allo_error *err)
{
	struct allo_ledger_facts facts = { .walks = !process->opt->no_walk };

	allo_vmas_done(&process->vmas);
	process->vmas = (struct allo_vmas){ 0 };
	if (!take_snapshot(process, err) || !allo_vmas_read(&process->vmas, "", process->pid, err))
		return false;
	ask_process(process);
	read_live(process);
	name_allocator(process);
	facts.allocator = process->snapshot.allocator.name;
	facts.reported = &process->snapshot.allocator;
	facts.reported_why = why_not_reported(&process->snapshot);
	facts.live_bytes = process->live.live_bytes;
	facts.live_blocks = process->live.live_blocks;
	facts.has_earlier = process->live.has_earlier;
	if (!allo_ledger_make(&process->ledger, &process->vmas, &process->memory, &facts, err))
		return false;
	process->took_ns = process->vmas.read_ns + process->ledger.walk_ns;
	return true;
}

/* The heading, and the line on the control group. */

static void put_known(struct allo_report *report, const char *before, uint64_t bytes,
		      const char *after)
{
	if (bytes != ALLO_UNKNOWN)
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s%s%s", before,
				allo_report_bytes(report, bytes), after);
}

static void describe_heading(struct allo_report *report, const struct process *process)
{
	const struct allo_ledger *ledger = &process->ledger;

	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_PLAIN, "process %" PRIu64 " (%s)", process->pid,
			process->program);
	put_known(report, ": ", ledger->rss, " resident");
	put_known(report, ", ", process->snapshot.process.rss_peak_bytes, " at most");
	if (ledger->swap > 0)
		put_known(report, ", ", ledger->swap, " swapped out");
	if (ledger->allocator[0])
		allo_report_put(report, ALLO_STYLE_PLAIN, "; %s's %s", ledger->allocator,
				strcmp(ledger->allocator, ALLO_GO) == 0 ? "heap" : "malloc");
	allo_report_end_line(report);
}

static void describe_cgroup(struct allo_report *report, const struct allo_cgroup_memory *cgroup)
{
	if (cgroup->current_bytes == ALLO_UNKNOWN)
		return;
	allo_report_put(report, ALLO_STYLE_PLAIN, "control group %s", cgroup->path);
	put_known(report, ": ", cgroup->current_bytes, " used");
	put_known(report, ", working set ", cgroup->working_set_bytes, "");
	if (cgroup->limit_bytes == ALLO_UNKNOWN)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", no limit");
	else
		put_known(report, ", limit ", cgroup->limit_bytes, "");
	if (cgroup->oom_kills != ALLO_UNKNOWN && cgroup->oom_kills > 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", %" PRIu64 " killed for lack of memory",
				cgroup->oom_kills);
	allo_report_end_line(report);
}

/* The parts. */

enum { RSS, SHARE, BYTES, COUNT, TITLE, ABOUT, PART_COLUMNS };

static const struct allo_column part_columns[PART_COLUMNS] = {
	[RSS] = { "resident", NULL, "rss_bytes", ALLO_CELL_BYTES },
	[SHARE] = { "share", NULL, NULL, ALLO_CELL_SHARE },
	[BYTES] = { "size", NULL, "bytes", ALLO_CELL_BYTES },
	[COUNT] = { "count", NULL, NULL },
	[TITLE] = { "part", NULL, NULL, ALLO_CELL_TEXT, .is_bold = true },
	[ABOUT] = { "", NULL, "about", ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table part_table = { "parts", part_columns, PART_COLUMNS };

static bool is_shown(const struct allo_ledger_row *row)
{
	return row->is_there && (row->rss != 0 || row->bytes != 0);
}

static struct allo_number signed_number(int64_t value)
{
	return (struct allo_number){ .magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value,
				     .is_negative = value < 0 };
}

static void describe_part(struct allo_report *report, const struct process *process,
			  enum allo_ledger_part part)
{
	const struct allo_ledger_row *row = &process->ledger.rows[part];
	const struct allo_ledger_name *name = &allo_ledger_parts[part];
	bool is_estimated = process->live.is_estimated && part == ALLO_PART_LIVE;
	struct allo_number bytes = { .magnitude = row->bytes, .is_estimated = is_estimated };
	struct allo_number count = { .magnitude = row->blocks, .is_estimated = is_estimated };

	allo_report_row(report);
	allo_report_field_string(report, "name", name->name);
	allo_cell_number(report, RSS, signed_number(row->rss), ALLO_UNIT_BYTES);
	allo_cell_share(report, SHARE, (double)row->rss, (double)process->ledger.rss);
	if (row->bytes > 0)
		allo_cell_number(report, BYTES, bytes, ALLO_UNIT_BYTES);
	if (row->blocks > 0 && name->counted[0]) {
		allo_report_field_u64(report, name->counted, row->blocks);
		allo_cell_number(report, COUNT, count, ALLO_UNIT_COUNT);
	}
	allo_cell_string(report, TITLE, name->title);
	allo_cell_string(report, ABOUT, name->about);
}

static void describe_parts(struct allo_report *report, const struct process *process)
{
	allo_report_table(report, &part_table);
	for (int i = 0; i < ALLO_PARTS; i++) {
		if (is_shown(&process->ledger.rows[i]))
			describe_part(report, process, (enum allo_ledger_part)i);
	}
	allo_report_end_table(report);
}

/* In JSON.  Text gets them from say_notes(), on standard error or below the page. */
static void describe_notes(struct allo_report *report, const struct process *process)
{
	allo_report_list(report, "notes");
	if (process->live_why[0])
		allo_report_field_string(report, NULL, process->live_why);
	for (size_t i = 0; process->ledger.notes[i]; i++)
		allo_report_field_string(report, NULL, process->ledger.notes[i]);
	allo_report_close(report);
}

static void describe_ledger(struct allo_report *report, const struct process *process)
{
	const struct allo_ledger *ledger = &process->ledger;

	allo_report_object(report, "ledger");
	allo_report_field_u64(report, "rss_bytes", ledger->rss);
	allo_report_field_u64(report, "swap_bytes", ledger->swap);
	allo_report_field_text(report, "allocator", allo_text_of(ledger->allocator));
	allo_report_field_u64(report, "page_walk_ns", process->vmas.read_ns);
	allo_report_field_u64(report, "block_walk_ns", ledger->walk_ns);
	if (process->live.is_estimated)
		allo_report_field_bool(report, "estimated", true);
	describe_parts(report, process);
	describe_notes(report, process);
	allo_report_close(report);
}

/* The largest mappings, with --verbose. */

enum { MAX_MAPPINGS = 20 };

enum { MAPPING_RSS, MAPPING_SIZE, MAPPING_PART, MAPPING_RANGE, MAPPING_NAME, MAPPING_COLUMNS };

static const struct allo_column mapping_columns[MAPPING_COLUMNS] = {
	[MAPPING_RSS] = { "resident", NULL, NULL, ALLO_CELL_BYTES },
	[MAPPING_SIZE] = { "size", NULL, NULL, ALLO_CELL_BYTES },
	[MAPPING_PART] = { "mostly", NULL, NULL, ALLO_CELL_TEXT },
	[MAPPING_RANGE] = { "addresses", NULL, NULL, ALLO_CELL_TEXT },
	[MAPPING_NAME] = { "name", NULL, NULL, ALLO_CELL_TEXT },
};

static const struct allo_report_table mapping_table = { NULL, mapping_columns, MAPPING_COLUMNS };

static int compare_mappings(const void *left, const void *right)
{
	const struct allo_vma *a = *(const struct allo_vma *const *)left;
	const struct allo_vma *b = *(const struct allo_vma *const *)right;

	if (a->rss != b->rss)
		return a->rss > b->rss ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void describe_mapping(struct allo_report *report, const struct allo_vma *vma,
			     bool has_profiler)
{
	enum allo_ledger_part part = allo_ledger_part_of(vma, has_profiler);

	ALLO_ASSERT(part < ALLO_PARTS && vma->start <= vma->end);
	allo_report_row(report);
	allo_cell_u64(report, MAPPING_RSS, vma->rss);
	allo_cell_u64(report, MAPPING_SIZE, vma->end - vma->start);
	allo_cell_string(report, MAPPING_PART, allo_ledger_parts[part].title);
	allo_cell_string(report, MAPPING_RANGE,
			 allo_report_string(report, "%" PRIx64 "-%" PRIx64, vma->start, vma->end));
	allo_cell_text(report, MAPPING_NAME, vma->name);
}

static void describe_mappings(struct allo_report *report, const struct allo_vmas *vmas)
{
	bool has_profiler = allo_ledger_has_profiler(vmas);
	ALLO_VEC(const struct allo_vma *) sorted = { 0 };

	for (size_t i = 0; i < vmas->all.len; i++) {
		const struct allo_vma *vma = &vmas->all.at[i];

		if (vma->rss > 0 && !allo_vec_append(&sorted, &vma, 1))
			allo_report_fail_memory(report);
	}
	if (sorted.len > 0)
		qsort(sorted.at, sorted.len, sizeof(*sorted.at), compare_mappings);
	allo_report_blank(report);
	allo_report_table(report, &mapping_table);
	for (size_t i = 0; i < sorted.len && i < MAX_MAPPINGS; i++)
		describe_mapping(report, sorted.at[i], has_profiler);
	allo_report_end_table(report);
	allo_report_blank(report);
	allo_vec_done(&sorted);
}

/* All of it. */

static void describe(struct allo_report *report, const struct process *process)
{
	char text[64 << 10];
	struct allo_text_buffer metrics = { text, sizeof(text), 0 };

	allo_metrics_put_members(&metrics, &process->snapshot);
	allo_buffer_end(&metrics);
	describe_heading(report, process);
	allo_report_field_string(report, "program", process->program);
	allo_report_members(report, allo_text_of(text));
	describe_ledger(report, process);
	if (process->opt->common.verbose)
		describe_mappings(report, &process->vmas);
	describe_cgroup(report, &process->snapshot.cgroup);
}

/* JSON takes one line. */
static struct allo_report_options report_options(const struct process *process)
{
	struct allo_report_options chosen = allo_common_report_options(&process->opt->common,
								       false);

	chosen.json_lines = 0;
	return chosen;
}

static void say_note(struct allo_output *page, const char *before, const char *note)
{
	if (page)
		allo_output_printf(page, "note: %s%s\n", before, note);
	else
		allo_say_note("%s%s", before, note);
}

/* Prints the notes to `page` or, if that is NULL, on standard error. */
static void say_notes(const struct process *process, struct allo_output *page)
{
	const struct allo_common *common = &process->opt->common;

	if (common->json || common->quiet)
		return;
	if (process->live_why[0])
		say_note(page, "the requested sizes are unknown: ", process->live_why);
	for (size_t i = 0; process->ledger.notes[i]; i++)
		say_note(page, "", process->ledger.notes[i]);
}

static bool print_once(struct process *process, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_report_options chosen = report_options(process);

	if (!look(process, err) || !allo_report_open(&report, &chosen, err))
		return false;
	describe(&report, process);
	if (!allo_report_finish(&report, err))
		return false;
	say_notes(process, NULL);
	return true;
}

/* --watch. */

/* Prints as much of a page as the screen has room for, in place of the page before.  The terminal
 * keeps its mode, so an interrupt leaves nothing to restore. */
static void replace_page(struct allo_output *out, struct allo_text page, size_t *lines_before)
{
	size_t rows = allo_terminal_rows(), lines = 0;
	struct allo_text line;

	if (*lines_before > 0)
		allo_output_printf(out, "\033[%zuA", *lines_before);
	while (lines + 1 < rows && page.len > 0 && allo_text_next(&page, '\n', &line)) {
		allo_output_text(out, line);
		allo_output_string(out, "\033[K\n");
		lines++;
	}
	allo_output_string(out, "\033[J");
	*lines_before = lines;
}

static bool make_page(const struct process *process, struct allo_output *page,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_report_options chosen = report_options(process);

	if (!allo_output_open_memory(page, &(struct allo_output_options){ 0 }, err))
		return false;
	allo_report_begin(&report, &chosen, page);
	describe(&report, process);
	allo_report_end(&report);
	say_notes(process, page);
	return allo_output_finish(page, err);
}

static bool print_again(const struct process *process, size_t *lines_before, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output page = { .fd = -1 }, out = { .fd = -1 };
	bool is_json = process->opt->common.json;

	if (!make_page(process, &page, err) || !allo_common_open_result(&out, err))
		return false;
	if (allo_terminal_is_output() && !is_json) {
		replace_page(&out, allo_output_memory(&page), lines_before);
	} else {
		if (*lines_before > 0 && !is_json)
			allo_output_string(&out, "\n");
		allo_output_text(&out, allo_output_memory(&page));
		*lines_before = 1;
	}
	return allo_output_finish(&out, err);
}

/* A look takes at most a twentieth of the time. */
static void wait_for_next(const struct process *process)
{
	uint64_t wait = process->opt->interval_ns, least = 19 * process->took_ns;
	struct timespec time;

	if (wait < least)
		wait = least;
	time = (struct timespec){ (time_t)(wait / 1000000000), (long)(wait % 1000000000) };
	nanosleep(&time, NULL);
}

/* Ends with the process, which is no failure. */
static bool watch(struct process *process, struct allo_error *err)
{
	size_t lines = 0;

	for (uint64_t i = 0; process->opt->count == 0 || i < process->opt->count; i++) {
		struct allo_error end = { 0 };

		if (i > 0)
			wait_for_next(process);
		if (!look(process, &end)) {
			if (i == 0 || kill((pid_t)process->pid, 0) == 0) {
				*err = end;
				return false;
			}
			if (!process->opt->common.quiet)
				allo_say("process %" PRIu64 " has ended", process->pid);
			return true;
		}
		if (!print_again(process, &lines, err))
			return false;
	}
	return true;
}

/* --metrics and --list. */

static bool print_metrics(struct process *process, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_metrics_of labelled = { &process->snapshot, "" };
	struct allo_error ignored = { 0 }; /* then the allocator stays unknown */
	char text[64 << 10];
	struct allo_text_buffer metrics = { text, sizeof(text), 0 };

	if (!take_snapshot(process, err) || !allo_common_open_result(&out, err))
		return false;
	ask_process(process);
	if (allo_vmas_read_names(&process->vmas, "", process->pid, &ignored))
		name_allocator(process);
	if (process->opt->walk && !allo_allocator_walk(process->pid, &process->snapshot, err))
		return false;
	allo_metrics_put(&metrics,
			 process->opt->openmetrics ? ALLO_METRICS_OPENMETRICS
						   : ALLO_METRICS_PROMETHEUS,
			 &labelled, 1);
	allo_buffer_end(&metrics);
	allo_output_string(&out, text);
	return allo_output_finish(&out, err);
}

static const char *type_name(enum allo_metric_type type)
{
	switch (type) {
	case ALLO_COUNTER:
		return "counter";
	case ALLO_INFO:
		return "info";
	case ALLO_GAUGE:
		break;
	}
	return "gauge";
}

static const char *cost_name(enum allo_metric_cost cost)
{
	switch (cost) {
	case ALLO_COST_PAGES:
		return "pages";
	case ALLO_COST_ARENAS:
		return "arenas";
	case ALLO_COST_NONE:
		break;
	}
	return "none";
}

enum { METRIC, TYPE, COST, MEMBER, MEANING, METRIC_COLUMNS };

static const struct allo_column metric_columns[METRIC_COLUMNS] = {
	[METRIC] = { "metric", NULL, NULL, ALLO_CELL_TEXT, .is_bold = true },
	[TYPE] = { "type", NULL, "type", ALLO_CELL_TEXT },
	[COST] = { "cost", NULL, "cost", ALLO_CELL_TEXT },
	[MEMBER] = { "json", NULL, NULL, ALLO_CELL_TEXT },
	[MEANING] = { "meaning", NULL, "about", ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table metric_table = { "metrics", metric_columns, METRIC_COLUMNS };

/* Of the metrics of one name, only the first has a help text. */
static void describe_metric(struct allo_report *report, const struct allo_memory_metric *metric,
			    const char *help)
{
	const char *label = metric->label ? metric->label : "";
	const char *member = !metric->name ? ""
					   : allo_report_string(report, "%s.%s", metric->group,
								metric->name);

	allo_report_row(report);
	allo_report_field_string(report, "metric", metric->prometheus);
	allo_report_field_text(report, "label", allo_text_of(label));
	allo_cell_string(report, METRIC,
			 allo_report_string(report, "%s%s%s%s", metric->prometheus,
					    label[0] ? "{" : "", label, label[0] ? "}" : ""));
	allo_cell_string(report, TYPE, type_name(metric->type));
	allo_cell_string(report, COST, cost_name(metric->cost));
	allo_report_field_text(report, "json", allo_text_of(member));
	allo_cell_string(report, MEMBER, member);
	allo_cell_string(report, MEANING, help);
}

static bool print_list(const struct mem *opt, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const char *help = "";

	if (!allo_common_report(&opt->common, &report, false, err))
		return false;
	allo_report_table(&report, &metric_table);
	for (const struct allo_memory_metric *metric = allo_memory_metrics; metric->group;
	     metric++) {
		if (!metric->prometheus)
			continue;
		help = metric->help ? metric->help : help;
		describe_metric(&report, metric, help);
	}
	allo_report_end_table(&report);
	return allo_common_finish(&opt->common, &report, NULL, err);
}

static bool check(const struct mem *opt, char **files, struct allo_error *err)
{
	if (opt->list && files[0])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--list takes no process");
	if (!opt->list && !files[0]) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'allo mem' needs PID");
		return allo_hint(err, "usage: allo mem [OPTION]... PID");
	}
	if ((opt->metrics || opt->openmetrics) && (opt->watch || opt->common.json))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--metrics and --openmetrics exclude --watch and --json");
	if (opt->walk && !opt->metrics && !opt->openmetrics)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--walk is for --metrics and --openmetrics; the table has it");
	if (opt->interval_ns == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--interval must not be 0");
	return allo_common_check(&opt->common, err);
}

static bool run_mem(const void *options_given, char **files, struct allo_error *err)
{
	static struct process process; /* too large for the stack */
	const struct mem *opt = options_given;
	bool ok;

	if (!check(opt, files, err))
		return false;
	if (opt->list)
		return print_list(opt, err);
	process.opt = opt;
	if (!parse_pid(files[0], &process.pid, err))
		return false;
	allo_snapshots_init(&process.shots, "", process.pid);
	allo_other_memory_open(&process.memory, process.pid);
	if (opt->metrics || opt->openmetrics)
		ok = print_metrics(&process, err);
	else
		ok = opt->watch ? watch(&process, err) : print_once(&process, err);
	process_done(&process);
	return ok;
}

const struct allo_command allo_cmd_mem = {
	.name = "mem",
	.heading = "Watch",
	.summary = "break down the resident memory of a running process",
	.arguments = "PID",
	.about =
		"Breaks the resident memory of a process down into parts: blocks in use and their "
		"padding, free blocks and pages that the allocator keeps, thread caches, stacks, code "
		"and data of programs and libraries, mapped files, shared memory, the Allotrope "
		"runtime, and unexplained memory. The parts add up to the resident set that the "
		"kernel reports.\n\n"
		"The process needs no preparation and is not stopped. The kernel walks through all of "
		"its pages, which takes about 8 ms per GiB; during that time the process cannot map "
		"memory. Blocks of glibc's malloc are walked from outside, without delaying the "
		"process. The requested sizes of blocks are known if the process is recorded ('allo "
		"run', liballo): they are read from the recording.\n\n"
		"PID is a process id, or %NAME for the only process of that name; a part of the name, "
		"from its beginning, is enough if no other program matches.\n\n"
		"doc/telemetry.md describes the parts and all metrics.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct mem),
	.defaults = &defaults,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_mem,
};
