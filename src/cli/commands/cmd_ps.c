/* cmd_ps.c - allo ps: lists the processes that have the runtime. */
#include "base/defer.h"
#include "cli/common.h"
#include "report/messages.h"
#include "telemetry/monotonic_clock.h"
#include "watch/claimed_file.h"

struct ps {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_number_group, &allo_table_group,
							  &allo_printing_group, NULL };

static const struct allo_example examples[] = {
	{ "allo ps", "the processes that are or can be recorded, and their state" },
	{ "allo ps --json", "the same as JSON" },
	{ NULL, NULL },
};

/* Bytes of a recording; larger ones take more than a second to read. */
enum { LARGE = 128 << 20 };

/* A process, and facts about it from elsewhere. */
struct row {
	const struct allo_recorded_process *process;
	bool has_counts, has_size, has_time;
	bool is_large; /* its recording is not read, which would take seconds */
	struct allo_heap_counts counts;
	uint64_t file_bytes, ns;
};

static struct row row_of(struct allo_recorded_processes *list,
			 const struct allo_recorded_process *process)
{
	struct row row = { .process = process };
	const char *file = process->file[0] ? allo_recorded_process_file(list, process) : NULL;
	struct allo_error err = { 0 };
	uint64_t now = allo_clock_ns();

	row.has_size = file &&
		       allo_claimed_file_size(file, process->pid, process->uid, &row.file_bytes);
	row.is_large = row.file_bytes > LARGE;
	if (process->has_stats)
		row.has_counts = allo_heap_counts_ask(process, &row.counts, &err);
	else if (row.has_size && !row.is_large)
		row.has_counts = allo_heap_counts_replay(list, process, NULL, &row.counts, &err);
	row.has_time = process->start_ns > 0 && process->start_ns <= now;
	row.ns = row.has_time ? now - process->start_ns : 0;
	return row;
}

enum { PID, PROGRAM, STATE, MODE, AGE, LIVE, SIZE, FILE_NAME, COLUMNS };

/* JSON has the members in another order: describe_fields() adds the others. */
static const struct allo_column columns[COLUMNS] = {
	[PID] = { "pid", "pid", "pid", ALLO_CELL_ID },
	[PROGRAM] = { "program", "program", NULL, ALLO_CELL_TEXT, .is_bold = true },
	[STATE] = { "state", "state", NULL, ALLO_CELL_TEXT },
	[MODE] = { "mode", "mode", NULL, ALLO_CELL_TEXT },
	[AGE] = { "for", "for", NULL, ALLO_CELL_NS },
	[LIVE] = { "live", "live", NULL, ALLO_CELL_BYTES },
	[SIZE] = { NULL, "size", NULL, ALLO_CELL_BYTES },
	[FILE_NAME] = { "file", "file", NULL, ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "processes", columns, COLUMNS, .needs_rows = true };

static const char *state_of(const struct allo_recorded_process *process)
{
	return process->is_silent ? "silent" : process->state;
}

static void describe_fields(struct allo_report *report, const struct row *row)
{
	const struct allo_recorded_process *process = row->process;

	allo_report_field_u64(report, "uid", process->uid);
	allo_report_field_text(report, "program", allo_text_of(process->program));
	allo_report_field_text(report, "runtime", allo_text_of(process->version));
	allo_report_field_text(report, "state", allo_text_of(state_of(process)));
	allo_report_field_text(report, "mode", allo_text_of(process->mode));
	if (process->rate)
		allo_report_field_u64(report, "rate", process->rate);
	allo_report_field_text(report, "file", allo_text_of(process->file));
	if (row->has_size)
		allo_report_field_u64(report, "file_bytes", row->file_bytes);
	if (row->has_time)
		allo_report_field_u64(report, "duration_ns", row->ns);
	allo_report_field_bool(report, "by_program", process->is_own);
	if (row->has_counts)
		allo_report_heap_counts(report, &row->counts);
	allo_report_field_text(report, "socket", allo_text_of(process->socket));
}

static void put_text(struct allo_report *report, size_t column, const char *text)
{
	if (text[0])
		allo_cell_string(report, column, text);
	else
		allo_cell_missing(report, column);
}

static void put_number(struct allo_report *report, size_t column, bool is_known, uint64_t number)
{
	if (is_known)
		allo_cell_u64(report, column, number);
	else
		allo_cell_missing(report, column);
}

static void put_live(struct allo_report *report, const struct row *row)
{
	struct allo_number bytes = { .magnitude = row->counts.live_bytes,
				     .is_estimated = row->counts.is_estimated };

	if (row->has_counts)
		allo_cell_number(report, LIVE, bytes, ALLO_UNIT_BYTES);
	else
		allo_cell_missing(report, LIVE);
}

static void describe_row(struct allo_report *report, const struct row *row)
{
	const struct allo_recorded_process *process = row->process;

	allo_report_row(report);
	allo_cell_u64(report, PID, (uint64_t)process->pid);
	describe_fields(report, row);
	put_text(report, PROGRAM, process->program);
	allo_cell_string(report, STATE, state_of(process));
	put_text(report, MODE, process->mode);
	put_number(report, AGE, row->has_time, row->ns);
	put_live(report, row);
	put_number(report, SIZE, row->has_size, row->file_bytes);
	put_text(report, FILE_NAME, process->file);
}

/* Another user may have made the folder first. */
static void tell_obstacle(const struct ps *opt)
{
	char path[PATH_MAX];
	const char *obstacle = allo_control_folder_obstacle(path);

	if (obstacle && !opt->common.quiet)
		allo_say_note("%s %s: processes make no control sockets there; remove it, or set "
			      "XDG_RUNTIME_DIR",
			      path, obstacle);
}

/* The usual mode is not worth a column. */
static bool are_exact(const struct allo_recorded_processes *list)
{
	for (size_t i = 0; i < list->all.len; i++) {
		if (strcmp(list->all.at[i].mode, "exact") != 0)
			return false;
	}
	return true;
}

static bool run_ps(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct ps *opt = options_given;
	bool are_large = false;

	(void)files;
	if (!allo_common_check(&opt->common, err) || !allo_recorded_processes_list(&list, err) ||
	    !allo_common_report(&opt->common, &report, false, err))
		return false;
	if (list.all.len == 0)
		allo_report_line(&report, "no process is recorded or has a control socket");
	allo_report_table(&report, &table);
	if (allo_report_is_prose(&report) && are_exact(&list))
		allo_report_hide(&report, MODE);
	for (size_t i = 0; i < list.all.len; i++) {
		struct row row = row_of(&list, &list.all.at[i]);

		describe_row(&report, &row);
		are_large |= row.is_large && !row.has_counts;
	}
	allo_report_end_table(&report);
	if (are_large && !opt->common.quiet)
		allo_say_note("large recordings are not read for this list: 'allo stats PID' shows "
			      "their live memory");
	tell_obstacle(opt);
	return allo_common_finish(&opt->common, &report, NULL, err);
}

const struct allo_command allo_cmd_ps = {
	.name = "ps",
	.heading = "Watch",
	.summary = "list recorded processes",
	.arguments = "",
	.about =
		"Lists the processes that are being recorded, and those that have a control socket "
		"('allo run --control', 'allo run --dormant' or ALLO_CONTROL=1), through which 'allo "
		"start' and 'allo mark' reach them. A process without a socket is found "
		"by its recording, and takes no part; with -m counters it writes none, and is not "
		"listed. Live memory is read from recordings of up to 128 MiB.\n\n"
		"States: a dormant process is not recorded. A waiting process, such as one that was "
		"just forked, is recorded from its first allocation on. An ended recording has reached a limit or a full disk. A "
		"silent process does not reply on its socket: it may be stopped.\n\n"
		"Root sees the processes of all users, other users see their own. Sockets of killed "
		"processes are removed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct ps),
	.files_least = 0,
	.files_most = 0,
	.run = run_ps,
};
