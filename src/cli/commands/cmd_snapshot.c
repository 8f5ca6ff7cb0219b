/* cmd_snapshot.c - allo snapshot: writes the heap of a running process as a profile. */
#include "base/defer.h"
#include "cli/convert_job.h"
#include "engine/live/snapshot.h"
#include "report/messages.h"
#include "telemetry/monotonic_clock.h"

struct snapshot {
	struct allo_convert_options writing;
	uint64_t delta_ns;
};

#define AT(field) offsetof(struct snapshot, field)
static const struct allo_option options[] = {
	OPT_TIME(
		0, "delta", "TIME", delta_ns,
		"wait this long, and write the allocations and the change of live memory during that "
		"time"),
	OPT_END,
};
#undef AT
static const struct allo_option_group group = { "Window", options };

static const struct allo_option_group *const groups[] = {
	&group, &allo_convert_group, &allo_filter_group, &allo_symbols_group, &allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo snapshot 4711 -o heap.pb.gz", "the live heap, for go tool pprof" },
	{ "allo snapshot %redis-server --delta 30s -o half-a-minute.pb.gz",
	  "the allocations of the next half minute" },
	{ "allo snapshot 4711 --to folded -M live | flamegraph.pl > live.svg",
	  "a flame graph of the live heap" },
	{ NULL, NULL },
};

/* Finds the recording; with --delta, after the window is over. */
static bool prepare(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		    const char *name, const struct snapshot *opt,
		    struct allo_snapshot_window *window, struct allo_error *err)
{
	struct allo_source_options source;
	struct allo_recorded_process process;

	if (!allo_common_source(&opt->writing.common, &source, err) ||
	    !allo_recorded_process_find(list, name, &process, err) ||
	    !allo_snapshot_of(snapshot, list, &process, &source, NULL, err))
		return false;
	if (opt->delta_ns == 0)
		return true;
	if (!allo_snapshot_begin(&process, window, err))
		return false;
	allo_wait_ns(opt->delta_ns);
	return allo_snapshot_of(snapshot, list, &process, &source, window, err);
}

static bool run_snapshot(const void *options_given, char **names, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	const struct snapshot *opt = options_given;
	struct allo_common common = opt->writing.common;
	char *files[] = { NULL, NULL };
	struct allo_snapshot_window window;
	struct allo_snapshot snapshot;
	struct allo_convert_job job;

	/* A usage error is reported before the window, not after it. */
	if (!allo_convert_job_init(&job, &opt->writing, files, err) ||
	    !prepare(&snapshot, &list, names[0], opt, &window, err))
		return allo_common_keep_error(err);
	files[0] = (char *)snapshot.file;
	job.conversion.files = files;
	common.view = &snapshot.source.view;
	common.sysroot = snapshot.source.symbols.places.root;
	job.common = &common;
	if (!allo_convert_job_run(&job, err))
		return allo_common_keep_error(err);
	/* The program still runs, so its recording has no end. */
	job.conversion.notes.of[ALLO_NOTE_KILLED].count = 0;
	if (!common.quiet)
		allo_convert_job_report(&job);
	return true;
}

const struct allo_command allo_cmd_snapshot = {
	.name = "snapshot",
	.heading = "Watch",
	.summary = "write the live heap of a process as a profile",
	.arguments = "PID",
	.about =
		"Writes the heap of a process that is being recorded, in any output format: its live "
		"memory, and all allocations since the recording began. The process is not disturbed: "
		"the recording is read from the start, which takes longer the larger it is. Numbers "
		"from a sampled recording are estimates. If the process has a control socket, --delta "
		"adds a mark to the recording at the start of its window.\n\n"
		"PID is a process id, the path of its socket, or %NAME with the name of a "
		"single process, or its beginning. A process that is dormant or only counts has no "
		"recording to read.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct snapshot),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_snapshot,
};
