/* cmd_mem.c - allo mem: what the memory of a running process is made of. */
#include "base/defer.h"
#include "cli/show_ledger.h"
#include "engine/heap_counts.h"
#include "report/messages.h"
#include "run/allocator_name.h"
#include "telemetry/metrics.h"
#include "telemetry/snapshots.h"
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
	bool watch, no_walk, metrics, openmetrics, list;
	uint64_t interval_ns, count;
};

static const struct mem defaults = { .interval_ns = 2000000000 };

static const struct allo_option options[] = {
	{ .name = "no-walk",
	  .help = "leave out the walk through glibc's blocks, which tells those in use from free "
		  "ones and takes about half a second for each GiB",
	  .offset = offsetof(struct mem, no_walk) },
	{ .letter = 'v',
	  .name = "verbose",
	  .help = "list the largest mappings, too",
	  .offset = offsetof(struct mem, common.verbose) },
	{ .name = NULL },
};

static const struct allo_option watch_options[] = {
	{ .letter = 'w',
	  .name = "watch",
	  .help = "print it again and again, until the process ends or Ctrl-C is pressed",
	  .offset = offsetof(struct mem, watch) },
	{ .name = "interval",
	  .argument = "TIME",
	  .help = "how long to wait in between, 2s without it; longer where looking takes so long "
		  "that it would take a twentieth of the time",
	  .kind = ALLO_OPTION_TIME,
	  .offset = offsetof(struct mem, interval_ns) },
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how often to print it at most",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct mem, count) },
	{ .name = NULL },
};

static const struct allo_option metric_options[] = {
	{ .name = "metrics",
	  .help = "print all figures that are read in passing as Prometheus reads them; there is "
		  "no table then, and no walk",
	  .offset = offsetof(struct mem, metrics) },
	{ .name = "openmetrics",
	  .help = "the same in the form of OpenMetrics",
	  .offset = offsetof(struct mem, openmetrics) },
	{ .name = "list",
	  .help = "list what these figures are called and mean, and what it takes to know them; "
		  "there is no process then",
	  .offset = offsetof(struct mem, list) },
	{ .name = NULL },
};

static const struct allo_option quiet_options[] = {
	{ .letter = 'q',
	  .name = "quiet",
	  .help = "leave out notes on what could not be told",
	  .offset = offsetof(struct mem, common.quiet) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Looking", options };
static const struct allo_option_group watch_group = { "Watching", watch_options };
static const struct allo_option_group metrics_group = { "Metrics", metric_options };
static const struct allo_option_group quiet_group = { "Notes", quiet_options };

static const struct allo_option_group *const groups[] = {
	&group,       &watch_group, &metrics_group, &allo_number_group, &allo_printing_group,
	&quiet_group, NULL,
};

static const struct allo_example examples[] = {
	{ "allo mem 4711", "what its resident memory is made of" },
	{ "allo mem --watch $(pidof redis-server)", "the same every two seconds" },
	{ "allo mem --json 4711 | jq .cgroup.limit_bytes", "one number, for a script" },
	{ "allo mem --metrics 4711", "all figures, for Prometheus" },
	{ NULL, NULL },
};

/* All that is kept from one look to the next. */
struct looking {
	const struct mem *opt;
	uint64_t pid;
	struct allo_snapshots shots;
	struct allo_memory_snapshot snapshot;
	struct allo_other_memory memory;
	struct allo_vmas vmas;
	struct allo_ledger ledger;
	struct allo_heap_counts live;
	char program[64];
	char live_why[sizeof(((struct allo_error *)NULL)->message)]; /* "": it is known */
	uint64_t took_ns;
};

static void looking_done(struct looking *looking)
{
	allo_vmas_done(&looking->vmas);
	allo_other_memory_close(&looking->memory);
}

static bool take_pid(const char *text, uint64_t *pid, struct allo_error *err)
{
	if (allo_text_u64(allo_text_of(text), pid) && *pid > 0)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'%.80s' is no number of a process", text);
	return allo_hint(err, "pidof or pgrep find it by its name");
}

static void read_program(struct looking *looking)
{
	char path[64];
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", looking->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, looking->program, sizeof(looking->program) - 1);
		close(fd);
	}
	while (len > 0 && looking->program[len - 1] == '\n')
		len--;
	looking->program[len > 0 ? len : 0] = '\0';
}

/* What can be read in passing.  False when there is no such process. */
static bool take_snapshot(struct looking *looking, struct allo_error *err)
{
	const struct allo_memory_source *status = &looking->snapshot.sources[0];

	read_program(looking);
	if (allo_snapshots_take(&looking->shots, 0, &looking->snapshot))
		return true;
	if (status->why[0])
		return allo_fail(
			err, ALLO_IO, ALLO_NOWHERE, "process %" PRIu64 ": %s", looking->pid,
			kill((pid_t)looking->pid, 0) < 0 && errno == ESRCH ? "there is none"
									   : status->why);
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
			 "process %" PRIu64 " has no memory: it has ended, or is the kernel's",
			 looking->pid);
}

/* What only the process itself knows, if it has the runtime: what it has counted, and what its
 * allocator says. */
static void ask_process(struct looking *looking)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	struct allo_recorded_process process;
	struct allo_error unseen = { 0 };
	char pid[24];

	snprintf(pid, sizeof(pid), "%" PRIu64, looking->pid);
	if (allo_recorded_process_find(&list, pid, &process, &unseen) && !process.is_silent)
		allo_remote_memory_add(process.socket, &looking->snapshot);
}

static void set_live(struct looking *looking, const char *why)
{
	snprintf(looking->live_why, sizeof(looking->live_why), "%s", why);
}

/* What is live is told by the process, or by a recording, if it writes one. */
static void read_live(struct looking *looking)
{
	struct allo_text path = allo_ledger_recording(&looking->vmas);
	const struct allo_heap_memory *heap = &looking->snapshot.heap;
	struct allo_error why = { 0 };

	looking->live = (struct allo_heap_counts){ .live_bytes = heap->live_bytes,
						   .live_blocks = heap->live_blocks };
	if (heap->live_bytes != ALLO_UNKNOWN)
		set_live(looking, "");
	else if (path.len == 0)
		set_live(looking, "the process is not recorded");
	else if (looking->opt->watch)
		set_live(looking, "the recording is not read again and again");
	else if (!allo_heap_counts_of_file(path, looking->pid,
					   allo_common_host(&looking->opt->common), &looking->live,
					   &why))
		set_live(looking, why.message);
	else
		set_live(looking, "");
}

/* Where it was not told. */
static void name_allocator(struct looking *looking)
{
	struct allo_allocator_memory *allocator = &looking->snapshot.allocator;

	if (!allocator->name[0])
		snprintf(allocator->name, sizeof(allocator->name), "%s",
			 allo_allocator_name(&looking->vmas, looking->pid));
}

/* NULL: it was not asked, or has told everything. */
static const char *why_not_told(const struct allo_memory_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->source_count; i++) {
		if (strcmp(snapshot->sources[i].name, "allocator") == 0 &&
		    snapshot->sources[i].why[0])
			return snapshot->sources[i].why;
	}
	return NULL;
}

static bool look(struct looking *looking, struct allo_error *err)
{
	struct allo_ledger_facts facts = { .walks = !looking->opt->no_walk };

	allo_vmas_done(&looking->vmas);
	looking->vmas = (struct allo_vmas){ 0 };
	if (!take_snapshot(looking, err) || !allo_vmas_read(&looking->vmas, "", looking->pid, err))
		return false;
	ask_process(looking);
	read_live(looking);
	name_allocator(looking);
	facts.allocator = looking->snapshot.allocator.name;
	facts.reported = &looking->snapshot.allocator;
	facts.reported_why = why_not_told(&looking->snapshot);
	facts.live_bytes = looking->live.live_bytes;
	facts.live_blocks = looking->live.live_blocks;
	facts.has_earlier = looking->live.has_earlier;
	if (!allo_ledger_make(&looking->ledger, &looking->vmas, &looking->memory, &facts, err))
		return false;
	looking->took_ns = looking->vmas.read_ns + looking->ledger.walk_ns;
	return true;
}

static struct allo_shown_process shown(const struct looking *looking)
{
	return (struct allo_shown_process){
		.snapshot = &looking->snapshot,
		.ledger = &looking->ledger,
		.vmas = &looking->vmas,
		.program = looking->program,
		.live_why = looking->live_why[0] ? looking->live_why : NULL,
		.is_live_estimated = looking->live.is_estimated,
	};
}

static bool show(struct allo_output *out, const struct allo_shown_process *process,
		 const struct allo_common *common, struct allo_error *err)
{
	if (!common->json)
		return allo_show_process(out, process, common, err);
	allo_show_process_json(out, process);
	return true;
}

/* Again and again. */

/* As much of a page as the screen has room for, in place of the one before.  The terminal is left
 * as it is at every moment, so that there is nothing to set right however this ends. */
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

static bool show_again(const struct looking *looking, size_t *lines_before, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output page = { .fd = -1 }, out = { .fd = -1 };
	static const struct allo_output_options plain = { 0 };
	const struct allo_common *common = &looking->opt->common;
	struct allo_shown_process process = shown(looking);

	if (!allo_output_open_memory(&page, &plain, err) || !show(&page, &process, common, err))
		return false;
	if (!common->json && !common->quiet)
		allo_show_process_notes(&process, &page);
	if (!allo_output_finish(&page, err) || !allo_common_open_result(&out, err))
		return false;
	if (allo_terminal_is_output() && !common->json) {
		replace_page(&out, allo_output_memory(&page), lines_before);
	} else {
		if (*lines_before > 0 && !common->json)
			allo_output_string(&out, "\n");
		allo_output_text(&out, allo_output_memory(&page));
		*lines_before = 1;
	}
	return allo_output_finish(&out, err);
}

static void wait_for_next(const struct looking *looking)
{
	uint64_t wait = looking->opt->interval_ns, least = 19 * looking->took_ns;
	struct timespec time;

	if (wait < least)
		wait = least;
	time = (struct timespec){ (time_t)(wait / 1000000000), (long)(wait % 1000000000) };
	nanosleep(&time, NULL);
}

/* The end of the process is the end of this, and no failure. */
static bool watch(struct looking *looking, struct allo_error *err)
{
	size_t lines = 0;

	for (uint64_t i = 0; looking->opt->count == 0 || i < looking->opt->count; i++) {
		struct allo_error end = { 0 };

		if (i > 0)
			wait_for_next(looking);
		if (!look(looking, &end)) {
			if (i == 0) {
				*err = end;
				return false;
			}
			if (kill((pid_t)looking->pid, 0) == 0) {
				*err = end;
				return false;
			}
			if (!looking->opt->common.quiet)
				allo_say("process %" PRIu64 " has ended", looking->pid);
			return true;
		}
		if (!show_again(looking, &lines, err))
			return false;
	}
	return true;
}

/* Other things to print. */

static bool print_metrics(struct looking *looking, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_metrics_of process = { &looking->snapshot, "" };
	struct allo_error unseen = { 0 }; /* the allocator is not known then */
	char text[64 << 10];
	struct allo_text_buffer draft = { text, sizeof(text), 0 };

	if (!take_snapshot(looking, err) || !allo_common_open_result(&out, err))
		return false;
	ask_process(looking);
	if (allo_vmas_read_names(&looking->vmas, "", looking->pid, &unseen))
		name_allocator(looking);
	allo_metrics_put(&draft,
			 looking->opt->openmetrics ? ALLO_METRICS_OPENMETRICS
						   : ALLO_METRICS_PROMETHEUS,
			 &process, 1);
	allo_buffer_end(&draft);
	allo_output_string(&out, text);
	return allo_output_finish(&out, err);
}

static bool print_list(const struct mem *opt, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	return allo_common_begin(&opt->common, &out, err) &&
	       allo_show_figures(&out, &opt->common, err) &&
	       allo_common_end(&opt->common, &out, NULL, err);
}

static bool print_once(struct looking *looking, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_common *common = &looking->opt->common;
	struct allo_shown_process process;

	if (!look(looking, err))
		return false;
	process = shown(looking);
	if (!allo_common_begin(common, &out, err) || !show(&out, &process, common, err) ||
	    !allo_common_end(common, &out, NULL, err))
		return false;
	if (!common->json && !common->quiet)
		allo_show_process_notes(&process, NULL);
	return true;
}

static bool check(const struct mem *opt, char **files, struct allo_error *err)
{
	if (opt->list && files[0])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--list is of no process");
	if (!opt->list && !files[0])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "which process?");
	if ((opt->metrics || opt->openmetrics) && (opt->watch || opt->common.json))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--metrics and --openmetrics print one text, once");
	if (opt->interval_ns == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--interval may not be 0");
	return allo_common_check(&opt->common, err);
}

static bool run_mem(const void *options_given, char **files, struct allo_error *err)
{
	static struct looking looking; /* too much for a stack, and there is but one */
	const struct mem *opt = options_given;
	bool ok;

	if (!check(opt, files, err))
		return false;
	if (opt->list)
		return print_list(opt, err);
	looking.opt = opt;
	if (!take_pid(files[0], &looking.pid, err))
		return false;
	allo_snapshots_init(&looking.shots, "", looking.pid);
	allo_other_memory_open(&looking.memory, looking.pid);
	if (opt->metrics || opt->openmetrics)
		ok = print_metrics(&looking, err);
	else
		ok = opt->watch ? watch(&looking, err) : print_once(&looking, err);
	looking_done(&looking);
	return ok;
}

const struct allo_command allo_cmd_mem = {
	.name = "mem",
	.heading = "Watch",
	.summary = "show what the memory of a running process is made of",
	.arguments = "PID",
	.about =
		"Explains the resident memory of a process: blocks in use, what they are rounded up "
		"by, free blocks and pages that the allocator keeps, caches of threads, stacks, code "
		"and data of programs and libraries, mapped files, shared memory, our own runtime, and "
		"what is left unexplained. The rows add up to what the kernel counts.\n\n"
		"Nothing needs to be prepared, and the process is not stopped. The kernel walks "
		"through all of its pages for this, which takes about 8 ms for each GiB, during which "
		"the process can map nothing. Blocks of glibc's malloc are walked through from "
		"outside, without holding anything up. What the program has asked for is known if it "
		"is recorded ('allo run', liballo): the recording is read for it.\n\n"
		"What the rows and all other figures mean is described in doc/telemetry.md.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct mem),
	.defaults = &defaults,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_mem,
};
