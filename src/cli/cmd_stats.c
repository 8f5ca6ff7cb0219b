/* cmd_stats.c - allo stats: what a process has allocated and holds now. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show_live.h"
#include "report/show.h"
#include "watch/recorded_process.h"

struct stats {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_number_group, &allo_printing_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo stats 4711", "what the process holds now" },
	{ "allo stats %redis-server --json", "the same for programs" },
	{ NULL, NULL },
};

static void print_line(struct allo_output *out, const struct stats *opt, const char *what,
		       uint64_t bytes, uint64_t blocks, bool is_estimated)
{
	char size[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE];

	allo_output_printf(out, "%-10s %12s in %s block%s\n", what,
			   allo_format((struct allo_number){ bytes, false, is_estimated },
				       ALLO_UNIT_BYTES, opt->common.plain, size),
			   allo_format((struct allo_number){ blocks, false, is_estimated },
				       ALLO_UNIT_COUNT, opt->common.plain, count),
			   blocks == 1 ? "" : "s");
}

static void print_text(struct allo_output *out, const struct stats *opt,
		       const struct allo_recorded_process *process,
		       const struct allo_heap_counts *counts)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_show_cut(out, allo_text_of(allo_recorded_process_name(process, name)), 0, false);
	allo_output_string(out, "\n");
	print_line(out, opt, "live", counts->live_bytes, counts->live_blocks, counts->is_estimated);
	print_line(out, opt, "peak", counts->peak_bytes, counts->peak_blocks, counts->is_estimated);
	print_line(out, opt, "allocated", counts->total_bytes, counts->total_blocks,
		   counts->is_estimated);
}

static void print_json(struct allo_output *out, const struct allo_recorded_process *process,
		       const struct allo_heap_counts *counts, bool is_asked)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 1 };

	allo_show_json_begin_numbers(&json, counts->is_estimated);
	allo_json_out_member_u64(&json, "pid", (uint64_t)process->pid);
	allo_json_out_member_text(&json, "program", allo_text_of(process->program));
	allo_json_out_member_text(&json, "from",
				  is_asked ? ALLO_TEXT("process") : ALLO_TEXT("recording"));
	allo_show_heap_counts(&json, counts);
	allo_json_out_end(&json);
}

static bool run_stats(const void *options_given, char **names, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct stats *opt = options_given;
	struct allo_heap_counts counts;
	struct allo_recorded_process process;
	bool is_asked;

	if (!allo_recorded_process_find(&list, names[0], &process, err))
		return false;
	is_asked = process.has_stats && strcmp(process.state, "recording") == 0;
	if (!(is_asked ? allo_heap_counts_ask(&process, &counts, err)
		       : allo_heap_counts_replay(&list, &process, allo_common_host(&opt->common),
						 &counts, err)) ||
	    !allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		print_json(&out, &process, &counts, is_asked);
	else
		print_text(&out, opt, &process, &counts);
	return allo_common_end(&opt->common, &out, NULL, err);
}

const struct allo_command allo_cmd_stats = {
	.name = "stats",
	.heading = "Watch",
	.summary = "show what a process has allocated and holds now",
	.arguments = "PID",
	.about =
		"Shows what the heap of a process has in it now, had in it at its peak, and what was "
		"ever allocated, since the recording began. A process that keeps statistics ('allo "
		"run -m counters', 'allo start --stats') is asked; the recording of any other is "
		"added up, which takes the longer the larger it is.\n\n"
		"PID is the number of a process, the path of its socket, or %NAME for the only one "
		"of a name.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct stats),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_stats,
};
