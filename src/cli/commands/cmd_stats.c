/* cmd_stats.c - allo stats: the counts of a process's heap. */
#include "base/defer.h"
#include "cli/common.h"
#include "watch/recorded_process.h"

struct stats {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_number_group, &allo_printing_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo stats 4711", "the live memory of the process" },
	{ "allo stats %redis-server --json", "the same as JSON" },
	{ NULL, NULL },
};

static void describe_line(struct allo_report *report, const char *name, uint64_t bytes,
			  uint64_t blocks)
{
	allo_report_line(report, "%-10s %12s in %s block%s", name, allo_report_bytes(report, bytes),
			 allo_report_number(report, blocks, ALLO_UNIT_COUNT), allo_plural(blocks));
}

static void describe(struct allo_report *report, const struct allo_recorded_process *process,
		     const struct allo_heap_counts *counts, bool is_asked)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_report_heading(report);
	allo_report_line(report, "%s", allo_recorded_process_name(process, name));
	describe_line(report, "live", counts->live_bytes, counts->live_blocks);
	describe_line(report, "peak", counts->peak_bytes, counts->peak_blocks);
	describe_line(report, "allocated", counts->total_bytes, counts->total_blocks);
	allo_report_field_u64(report, "pid", (uint64_t)process->pid);
	allo_report_field_text(report, "program", allo_text_of(process->program));
	allo_report_field_string(report, "from", is_asked ? "process" : "recording");
	allo_report_heap_counts(report, counts);
}

static bool run_stats(const void *options_given, char **names, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct stats *opt = options_given;
	struct allo_recorded_process process;
	struct allo_heap_counts counts;
	bool is_asked;

	if (!allo_recorded_process_find(&list, names[0], &process, err))
		return false;
	is_asked = process.has_stats && strcmp(process.state, "recording") == 0;
	if (!(is_asked ? allo_heap_counts_ask(&process, &counts, err)
		       : allo_heap_counts_replay(&list, &process, allo_common_host(&opt->common),
						 &counts, err)) ||
	    !allo_common_report(&opt->common, &report, counts.is_estimated, err))
		return false;
	allo_report_json_lines(&report, 1);
	describe(&report, &process, &counts, is_asked);
	return allo_common_finish(&opt->common, &report, NULL, err);
}

const struct allo_command allo_cmd_stats = {
	.name = "stats",
	.heading = "Watch",
	.summary = "show the live, peak and total memory of a process",
	.arguments = "PID",
	.about =
		"Shows the memory that a process holds now, held at its peak, and has allocated in "
		"all since the recording began. A process that keeps statistics and has a control "
		"socket ('allo run --control -m counters', 'allo start --stats') reports them. For "
		"any other process, the recording "
		"is read, which takes longer the larger it is.\n\n"
		"PID is a process id, the path of its socket, or %NAME with the name of a "
		"single process, or its beginning.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct stats),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_stats,
};
