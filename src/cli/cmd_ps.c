/* cmd_ps.c - allo ps: the processes that can be watched. */
#include "base/defer.h"
#include "base/json_write.h"
#include "cli/common.h"
#include "cli/show_live.h"
#include "report/show.h"
#include "report/table.h"
#include "telemetry/monotonic_clock.h"
#include "watch/recorded_process.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

struct ps {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_number_group, &allo_table_group,
							  &allo_printing_group, NULL };

static const struct allo_example examples[] = {
	{ "allo ps", "which processes have the runtime, and what they do with it" },
	{ "allo ps --json", "the same for programs" },
	{ NULL, NULL },
};

/* A line, and what its process does not say by itself. */
struct row {
	const struct allo_recorded_process *process;
	bool has_counts, has_size, has_time;
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
	struct stat status;

	row.has_counts = process->has_stats && allo_heap_counts_ask(process, &row.counts, &err);
	row.has_size = file && stat(file, &status) == 0;
	row.file_bytes = row.has_size ? (uint64_t)status.st_size : 0;
	row.has_time = process->start_ns > 0 && process->start_ns <= now;
	row.ns = row.has_time ? now - process->start_ns : 0;
	return row;
}

static const char *state_of(const struct allo_recorded_process *process)
{
	return process->is_silent ? "silent" : process->state;
}

static const char *format_if(bool is_known, uint64_t value, enum allo_unit unit,
			     const struct ps *opt, char out[ALLO_NUMBER_SIZE])
{
	return is_known          ? allo_format((struct allo_number){ .magnitude = value }, unit,
					       opt->common.plain || opt->common.csv, out)
	       : opt->common.csv ? ""
				 : "-";
}

static const char *or_dash(const char *text, const struct ps *opt)
{
	return text[0] || opt->common.csv ? text : "-";
}

static bool add_row(struct allo_table *table, const struct row *row, const struct ps *opt,
		    struct allo_error *err)
{
	const struct allo_recorded_process *process = row->process;
	char pid[24], number[ALLO_NUMBER_SIZE];

	snprintf(pid, sizeof(pid), "%d", (int)process->pid);
	return allo_table_string(table, pid, err) &&
	       allo_table_string(table, or_dash(process->program, opt), err) &&
	       allo_table_string(table, state_of(process), err) &&
	       allo_table_string(table, or_dash(process->mode, opt), err) &&
	       allo_table_string(
		       table, format_if(row->has_time, row->ns, ALLO_UNIT_NS, opt, number), err) &&
	       allo_table_string(table,
				 format_if(row->has_counts, row->counts.live_bytes, ALLO_UNIT_BYTES,
					   opt, number),
				 err) &&
	       allo_table_string(
		       table,
		       format_if(row->has_size, row->file_bytes, ALLO_UNIT_BYTES, opt, number),
		       err) &&
	       allo_table_string(table, or_dash(process->file, opt), err);
}

static bool print_table(struct allo_output *out, struct allo_recorded_processes *list,
			const struct ps *opt, struct allo_error *err)
{
	static const char *const titles[] = { "pid", "program", "state", "mode",
					      "for", "live",    "size",  "file" };
	enum { COLUMNS = sizeof(titles) / sizeof(*titles) };
	struct allo_style style = allo_common_style(&opt->common);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = COLUMNS,
				    .is_left = { [1] = true, [2] = true, [3] = true, [7] = true },
				    .style = { [1] = style.bold },
				    .style_end = style.reset,
				    .max_width = allo_common_width(&opt->common) };

	for (size_t i = 0; i < COLUMNS; i++) {
		if (!allo_table_string(&table, titles[i], err))
			return false;
	}
	for (size_t i = 0; i < list->all.len; i++) {
		struct row row = row_of(list, &list->all.at[i]);

		if (!add_row(&table, &row, opt, err))
			return false;
	}
	if (opt->common.csv)
		allo_table_print_csv(&table, out);
	else if (list->all.len > 0)
		allo_table_print(&table, out);
	else
		allo_output_string(out, "no process has the runtime\n");
	return true;
}

static void print_process(struct allo_json_out *json, const struct row *row)
{
	const struct allo_recorded_process *process = row->process;

	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "pid", (uint64_t)process->pid);
	allo_json_out_member_u64(json, "uid", process->uid);
	allo_json_out_member_text(json, "program", allo_text_of(process->program));
	allo_json_out_member_text(json, "runtime", allo_text_of(process->version));
	allo_json_out_member_text(json, "state", allo_text_of(state_of(process)));
	allo_json_out_member_text(json, "mode", allo_text_of(process->mode));
	if (process->rate)
		allo_json_out_member_u64(json, "rate", process->rate);
	allo_json_out_member_text(json, "file", allo_text_of(process->file));
	if (row->has_size)
		allo_json_out_member_u64(json, "file_bytes", row->file_bytes);
	if (row->has_time)
		allo_json_out_member_u64(json, "duration_ns", row->ns);
	allo_json_out_key(json, "by_program");
	allo_json_out_bool(json, process->is_own);
	if (row->has_counts)
		allo_show_heap_counts(json, &row->counts);
	allo_json_out_member_text(json, "socket", allo_text_of(process->socket));
	allo_json_out_end(json);
}

static void print_json(struct allo_output *out, struct allo_recorded_processes *list)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };

	allo_show_json_begin(&json);
	allo_json_out_key(&json, "processes");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < list->all.len; i++) {
		struct row row = row_of(list, &list->all.at[i]);

		print_process(&json, &row);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool run_ps(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct ps *opt = options_given;

	(void)files;
	if (!allo_common_check(&opt->common, err) || !allo_recorded_processes_list(&list, err) ||
	    !allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		print_json(&out, &list);
	else if (!print_table(&out, &list, opt, err))
		return false;
	return allo_common_end(&opt->common, &out, NULL, err);
}

const struct allo_command allo_cmd_ps = {
	.name = "ps",
	.heading = "Watch",
	.summary = "list the processes that can be watched",
	.arguments = "",
	.about = "Lists the processes that have the runtime in them: those that 'allo run' has "
		 "started, with all that they have started, and programs that are linked with it. "
		 "Each has a socket, by which 'allo start' and the others reach it. A process that "
		 "is dormant is not recorded; one that waits is, from its first allocation on; one "
		 "that has ended was, until a limit or a full disk. One that is silent does not "
		 "answer: it may be stopped.\n\n"
		 "Root sees everybody's processes, others their own. Sockets of processes that "
		 "were killed are removed.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct ps),
	.files_least = 0,
	.files_most = 0,
	.run = run_ps,
};
