/* cmd_run.c - allo run: runs a program and records its allocations. */
#include "base/defer.h"
#include "base/units.h"
#include "cli/common.h"
#include "cli/show/report_output.h"
#include "cli/show/run_limits.h"
#include "cli/show/run_report.h"
#include "cli/start_options.h"
#include "profile/naming.h"
#include "replay/ring/compact_ring.h"
#include "report/messages.h"
#include "run/family.h"
#include "run/library_link.h"
#include "run/name_pattern.h"
#include "run/own_allocator.h"
#include "run/preload.h"
#include "run/resident_sampler.h"
#include "run/ring_keeper.h"
#include "run/runtime_advice.h"
#include "run/snapshot_triggers.h"
#include "run/target.h"
#include "watch/recorded_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	const char *output, *report;
	bool force, no_command, no_follow, raw, index, quiet, dormant, has_control;
	const char *socket;
	struct allo_list snapshot_on, only;
	const char *snapshot_keep;
	int mode, unwind, time;
	unsigned track;
	uint64_t rate, stack_depth, min_size, max_file, delay_ns, duration_ns;
	double max_overhead; /* percent; negative: not given */
	const char *ring;    /* as given */
	struct allo_run_limits limits;
};

static const char *const modes[] = { "exact", "sampled", "events", "counters", NULL };

enum { MODE_EXACT, MODE_SAMPLED, MODE_COUNTERS = 3 };

static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };
static const char *const clocks[] = { "auto", "exact", NULL };
static const char *const tracks[] = { "malloc", "new", "mmap", "brk", "python", NULL };

enum { DEFAULT_TRACK = 1 | 2 | 16, TRACK_MMAP = 4 }; /* bits of `tracks` */

static const struct run defaults = {
	.output = ALLO_NAME_PATTERN,
	.max_overhead = -1,
	.limits = { ALLO_NO_LIMIT, ALLO_NO_LIMIT, ALLO_NO_LIMIT, ALLO_NO_LIMIT },
};

/* Bytes: 64 pages; and more than any disk, for a recording that is bounded by time. */
static const uint64_t ring_least = 4 << 20, ring_most = (uint64_t)1 << 46;

/* As in env(1) and timeout(1): programs rarely use these. */
enum {
	STATUS_EXCEEDED = 124,
	STATUS_FAILED,
	STATUS_UNUSABLE,
	STATUS_MISSING,
	STATUS_SIGNAL,
};

static int status = STATUS_FAILED;

#define AT(field) offsetof(struct run, field)
static const struct allo_option output_options[] = {
	OPT_FILE(
		'o', "output", "PATH", output,
		"path of the program's recording; other processes have theirs in PATH.d. With a "
		"directory, or a pattern, all have theirs there: %e is the program, %p the process "
		"id, %t the time, %h the host, %n an unused number, %% a % (default: "
		"PROGRAM.PID.allo or, for several recordings, the directory PROGRAM.PID.allo.d)"),
	OPT_MAYBE(0, "report", "FILE", report,
		  "write an HTML report as well, as 'allo report' does (default: the name of the "
		  "recording with the ending .html)"),
	OPT_FORCE(force),
	OPT_FLAG(
		0, "raw", raw,
		"do not pack recordings: much larger, with the addresses of blocks, and ready at once"),
	OPT_FLAG(0, "index", index,
		 "store an index in recordings, about two bytes per event: any range of time is "
		 "then shown at once, also on other machines"),
	OPT_SIZE(
		0, "max-file", "SIZE", max_file,
		"stop recording when a file has this size, such as 500M or 2G; the program continues"),
	OPT_TEXT(
		0, "ring", "BOUND", ring,
		"record without an end within BOUND, a size on disk (256M; at least 4M) or a time "
		"(90s, 30m, 24h): the latest events one by one, and sums of all earlier ones; 'allo "
		"info' shows since when events are exact"),
	OPT_QUIET(quiet),
	OPT_END,
};

static const struct allo_option what_options[] = {
	OPT_CHOICE('m', "mode", "MODE", mode, modes,
		   "exact: every allocation and free; sampled: one allocation per --rate bytes, at "
		   "random, and its free, at a fraction of the cost; events: one in --rate "
		   "allocations; counters: totals only, without a recording (default: exact)"),
	OPT_SIZE(0, "rate", "N", rate,
		 "sampling interval: one allocation per N bytes (default: 512K), or one in N "
		 "allocations (default: 1000)"),
	OPT_PERCENT(
		0, "max-overhead", "PERCENT", max_overhead,
		"adapt the sampling interval to the load, such that recording takes at most "
		"this share of the program's processor time (0.1 to 50); implies -m sampled, and "
		"begins with --rate; 'allo info' shows the share, and the error of "
		"estimates"),
	OPT_SET(0, "track", "LIST", track, tracks,
		"functions to record, separated by commas: malloc, new, mmap (with munmap and "
		"mremap), brk (with sbrk), python (objects of CPython) (default: "
		"malloc,new,python)"),
	OPT_SIZE(0, "min-size", "SIZE", min_size, "ignore smaller blocks"),
	OPT_COUNT(0, "stack-depth", "N", stack_depth,
		  "keep the N innermost frames of a stack (default: 0 for all)"),
	OPT_CHOICE(0, "unwind", "HOW", unwind, unwinders,
		   "how to find stacks: auto, fp (frame pointers), dwarf (unwind tables) or none "
		   "(default: auto)"),
	OPT_CHOICE(0, "time", "HOW", time, clocks,
		   "exact: read the clock at every event; auto: leave that out while a single "
		   "thread allocates in quick succession, which may miss computing of less than "
		   "a timer interrupt (4 ms) but no sleep; 'allo info' shows the accuracy "
		   "(default: auto)"),
	OPT_TIME(0, "delay", "TIME", delay_ns,
		 "start recording this long after the program: 10ms, 2.5s, 3m"),
	OPT_TIME(0, "duration", "TIME", duration_ns,
		 "stop recording after this time; the program continues"),
	OPT_FLAG(0, "no-command", no_command,
		 "do not record the program's arguments, which may contain secrets"),
	OPT_FLAG(0, "no-follow", no_follow, "record only the program, not its child processes"),
	OPT_LIST(0, "only", "PROGRAM", only,
		 "record only processes of this program, by its name or path; may be repeated"),
	OPT_END,
};

static const struct allo_option limit_options[] = {
	OPT_SIZE(0, "max-peak", "SIZE", limits.peak,
		 "most live bytes at once, such as 64M; peaks of several processes are added up"),
	OPT_SIZE(0, "max-leaks", "SIZE", limits.leaks, "most bytes live at the end"),
	OPT_SIZE(0, "max-total", "SIZE", limits.total, "most allocated bytes"),
	OPT_COUNT(0, "max-blocks", "N", limits.blocks, "most allocated blocks"),
	OPT_END,
};

static const struct allo_option watch_options[] = {
	OPT_FLAG(
		0, "dormant", dormant,
		"do not record until 'allo start'; until then each allocation costs one more jump; "
		"implies --control"),
	OPT_FLAG(
		0, "control", has_control,
		"start a thread in each process that serves a control socket, for 'allo start', for "
		"an immediate 'allo stop', and for 'allo stats' with -m counters; 'allo mark' and "
		"commands that read, such as 'allo live', do not need it"),
	OPT_FILE(0, "socket", "PATTERN", socket,
		 "path of the control socket; %p is the process id, as in -o; implies --control "
		 "(default: $XDG_RUNTIME_DIR/allo/%p.sock, or /tmp/allo-UID/%p.sock)"),
	OPT_LIST(
		0, "snapshot-on", "CONDITION", snapshot_on,
		"write a profile of the live heap next to the recording when the process reaches "
		"rss=90% of its limit or rss=512M, exceeds its peak (peak), waits for memory "
		"(pressure, pressure=20%), when allo gets a signal (signal=USR2), or every=5m; may be "
		"repeated"),
	OPT_TEXT(0, "snapshot-keep", "N", snapshot_keep,
		 "number of these profiles to keep: the newest (N or newest:N), or those of the "
		 "largest processes (largest:N) (default: 5)"),
	OPT_END,
};
#undef AT

static const struct allo_option_group output_group = { "Recordings", output_options };
static const struct allo_option_group what_group = { "Recorded events", what_options };
static const struct allo_option_group limit_group = { "Limits", limit_options };
static const struct allo_option_group watch_group = { "Watching", watch_options };

static const struct allo_option_group *const groups[] = {
	&output_group, &what_group, &limit_group, &watch_group, NULL,
};

static const struct allo_example examples[] = {
	{ "allo run ./server --port 8080", "record a program and its child processes" },
	{ "allo run -o heap.allo -f python3 script.py", "name the recording" },
	{ "allo run --only cc1plus make", "record the compiler, not the shells around it" },
	{ "allo run -m sampled ./server", "estimates, at almost no cost" },
	{ "allo run --max-overhead 2% ./server", "estimates, as good as this cost permits" },
	{ "allo run --max-peak 64M --max-leaks 0 -- ./test",
	  "run a test and fail if it needs more memory" },
	{ "allo run --delay 10s --duration 1m ./server", "record one minute of it" },
	{ "allo run --ring 256M ./server", "record a service for days, in a file of this size" },
	{ "allo run --dormant ./server", "record nothing before 'allo start %server'" },
	{ "allo run --snapshot-on rss=90% ./server",
	  "keep a profile from before it runs out of memory" },
	{ NULL, NULL },
};

static const struct allo_example statuses[] = {
	{ "124", "the program succeeded, but exceeded a limit such as --max-peak" },
	{ "125", "allo itself failed, or refused to run the program" },
	{ "126", "the program cannot be executed" },
	{ "127", "the program was not found" },
	{ "else", "the status of the program; if a signal killed it, allo dies of the same signal, "
		  "which a shell shows as 128 plus the signal's number" },
	{ NULL, NULL },
};

static void track_list(unsigned track, char out[32])
{
	if (track == 0)
		track = DEFAULT_TRACK;
	out[0] = '\0';
	for (unsigned i = 0; tracks[i]; i++) {
		if (track & 1u << i)
			strcat(strcat(out, out[0] ? "," : ""), tracks[i]);
	}
}

static int mode_of(const struct run *opt)
{
	return opt->max_overhead > 0 && opt->mode == MODE_EXACT ? MODE_SAMPLED : opt->mode;
}

static uint64_t overhead_ppm(const struct run *opt)
{
	return opt->max_overhead > 0 ? (uint64_t)(opt->max_overhead * 1e4 + 0.5) : 0;
}

/* The runtime reads its settings from the environment. */
static void set_options(struct allo_environment *environment, const struct run *opt,
			const char *control)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "STACK_DEPTH", opt->stack_depth },   { "MIN_SIZE", opt->min_size },
		{ "MAX_FILE", opt->max_file },         { "DELAY_NS", opt->delay_ns },
		{ "DURATION_NS", opt->duration_ns },   { "COMMAND", !opt->no_command },
		{ "FOLLOW", !opt->no_follow },         { "RATE", opt->rate },
		{ "MAX_OVERHEAD", overhead_ppm(opt) },
	};
	char track[32];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		allo_environment_set(environment, numbers[i].name, "%llu",
				     (unsigned long long)numbers[i].value);
	track_list(opt->track, track);
	allo_environment_set(environment, "TRACK", "%s", track);
	allo_environment_set(environment, "DORMANT", "%d", opt->dormant);
	if (opt->has_control || opt->dormant || control)
		allo_environment_set(environment, "CONTROL", "%s", control ? control : "1");
	allo_environment_set(environment, "UNWIND", "%s", unwinders[opt->unwind]);
	allo_environment_set(environment, "MODE", "%s", modes[mode_of(opt)]);
	allo_environment_set(environment, "TIME", "%s", clocks[opt->time]);
}

/* The path of the program's recording, to be freed; NULL if it is not known beforehand.  For a
 * script it has the name of the interpreter. */
static char *find_output(const char *pattern, const struct allo_target *target, const char *name,
			 struct allo_error *err)
{
	bool is_script = strcmp(target->path, target->runs) != 0;

	return allo_name_pattern_expand(pattern, is_script ? target->runs : name, err);
}

/* Before the program runs, so that its user need not wait for the end to learn it. */
static void tell_allocator(const struct allo_run_job *job, const struct allo_target *target,
			   struct allo_runtime_advice *advice)
{
	bool is_script = strcmp(target->path, target->runs) != 0;
	const char *name = is_script ? allo_basename(allo_text_of(target->runs)).data : job->name;

	if (!job->is_quiet && !allo_runtime_advice_tell(advice, target->runs, name))
		allo_own_allocator_tell(&target->allocator, name);
}

/* Another user may have made the folder first. */
static void tell_control(const struct run *opt)
{
	char path[PATH_MAX];
	const char *obstacle = allo_control_folder_obstacle(path);

	if (obstacle && !opt->quiet && !opt->socket && (opt->has_control || opt->dormant))
		allo_say_note("%s %s: no control socket can be made there; remove it, set "
			      "XDG_RUNTIME_DIR, or add --socket",
			      path, obstacle);
}

/* Removes an existing output, with -f. */
static bool clear_file(const struct run *opt, const char *path, struct allo_error *err)
{
	struct allo_pos pos = { .file = opt->output };
	struct stat found;

	if (lstat(path, &found) != 0)
		return true;
	if (!S_ISREG(found.st_mode))
		return allo_fail(err, ALLO_IO, pos, "exists and is not a regular file");
	if (!opt->force) {
		allo_fail(err, ALLO_IO, pos, "exists and was not overwritten");
		return allo_hint(err, "add -f, or choose another name with -o");
	}
	return unlink(path) == 0 || allo_fail_errno(err, opt->output, "replace it");
}

/* The same for the directory of other processes' recordings. */
static bool clear_family(const struct run *opt, const char *path, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *folder = NULL;
	struct stat found;

	if (asprintf(&folder, "%s" ALLO_FAMILY_END, path) < 0) {
		folder = NULL;
		return allo_fail_memory(err);
	}
	if (lstat(folder, &found) != 0)
		return true;
	if (!S_ISDIR(found.st_mode))
		return allo_fail(err, ALLO_IO, (struct allo_pos){ .file = opt->output },
				 "%s" ALLO_FAMILY_END " exists and is not a directory",
				 opt->output);
	if (!opt->force) {
		allo_fail(err, ALLO_IO, (struct allo_pos){ .file = opt->output },
			  "its directory %s" ALLO_FAMILY_END " exists and was not overwritten",
			  opt->output);
		return allo_hint(err, "add -f, or choose another name with -o");
	}
	allo_family_remove(folder);
	return true;
}

static bool clear_output(const struct run *opt, const char *path, struct allo_error *err)
{
	return !path || (clear_file(opt, path, err) && clear_family(opt, path, err));
}

/* The work of allo while the program runs. */
struct watch {
	struct allo_recordings *recordings;
	struct allo_snapshot_triggers triggers;
	struct allo_resident_sampler sampler;
	struct allo_runtime_advice advice;
	struct allo_ring_keeper *keeper; /* of bounded recordings; or NULL */
	bool names_allocators;           /* of all programs that are executed */
};

static void watch_done(struct watch *watch)
{
	allo_ring_keeper_stop(watch->keeper);
	allo_snapshot_triggers_done(&watch->triggers);
	allo_resident_sampler_done(&watch->sampler);
	allo_runtime_advice_done(&watch->advice);
}

static unsigned look(void *context, int signal)
{
	struct watch *watch = context;
	struct allo_error err = { 0 };
	unsigned next_ms;

	allo_recordings_read_more(watch->recordings, &err);
	if (watch->keeper)
		allo_ring_keeper_look(watch->keeper, watch->recordings);
	allo_runtime_advice_look(&watch->advice, watch->recordings);
	if (watch->names_allocators)
		allo_own_allocators_look(watch->recordings, false);
	next_ms = allo_resident_sampler_look(&watch->sampler, watch->recordings);
	if (watch->triggers.all.len == 0)
		return next_ms;
	allo_snapshot_triggers_check(&watch->triggers, signal);
	return next_ms < ALLO_TRIGGERS_MS ? next_ms : ALLO_TRIGGERS_MS;
}

static bool takes_signal(void *context, int signal)
{
	const struct watch *watch = context;

	return allo_snapshot_triggers_have_signal(&watch->triggers, signal);
}

static bool execute(struct allo_launch *program, const char *name, struct allo_error *err)
{
	if (!allo_launch(program, err))
		return false;
	if (program->exec_error == 0)
		return true;
	status = program->exec_error == ENOENT ? STATUS_MISSING : STATUS_UNUSABLE;
	return allo_fail(err, ALLO_IO, (struct allo_pos){ .file = name }, "cannot be run: %s",
			 strerror(program->exec_error));
}

static bool find_program(struct allo_target *target, const char *name, struct allo_error *err)
{
	if (allo_target_find(target, name, err) && allo_target_check(target, name, err))
		return true;
	if (target->fault == ALLO_TARGET_MISSING)
		status = STATUS_MISSING;
	else if (target->fault == ALLO_TARGET_UNUSABLE)
		status = STATUS_UNUSABLE;
	return false;
}

static bool check(const struct run *opt, struct allo_error *err)
{
	if (opt->mode == MODE_COUNTERS && opt->output != defaults.output)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "-m counters makes no recording: drop -o");
	if (opt->mode == MODE_COUNTERS && opt->snapshot_on.count > 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "-m counters makes no recording: drop --snapshot-on");
	if (opt->max_overhead >= 0 && !(opt->max_overhead >= 0.1 && opt->max_overhead <= 50))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--max-overhead must be 0.1 to 50 percent");
	if (opt->max_overhead > 0 && (opt->mode > MODE_SAMPLED || opt->ring))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--max-overhead makes a recording sampled by bytes: drop %s%s",
				 opt->ring ? "--ring" : "-m ", opt->ring ? "" : modes[opt->mode]);
	if (opt->ring && (opt->mode != 0 || opt->max_file > 0))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--ring keeps exact recordings within a size: drop %s",
				 opt->mode != 0 ? "-m" : "--max-file");
	if (opt->index && (opt->raw || opt->mode == MODE_COUNTERS))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--index needs a packed recording: drop %s",
				 opt->raw ? "--raw" : "-m counters");
	if (allo_run_limits_exist(&opt->limits) && (opt->mode == MODE_COUNTERS || opt->dormant))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "limits need a recording: drop %s",
				 opt->dormant ? "--dormant" : "-m counters");
	return allo_start_check_rate(modes[mode_of(opt)], opt->rate, err);
}

/* The pattern of --socket, to be freed; NULL without one. */
static bool find_control(const char *given, char **control, struct allo_error *err)
{
	struct stat found;

	if (!given)
		return true;
	if (stat(given, &found) == 0 && S_ISDIR(found.st_mode)) {
		allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = given }, "is a directory");
		return allo_hint(err, "name the socket as well: %s/%%p.sock", given);
	}
	*control = allo_name_pattern_prepare(given, err);
	return *control != NULL;
}

/* The names of --only, a line each.  A path becomes the one that the kernel reports. */
static void set_only(struct allo_environment *environment, const struct allo_list *only)
{
	ALLO_DEFER(allo_free_pointer) char *lines = NULL;

	for (size_t i = 0; i < only->count; i++) {
		ALLO_DEFER(allo_free_pointer) char *before = lines, *whole = NULL;

		if (strchr(only->item[i], '/'))
			whole = realpath(only->item[i], NULL);
		if (asprintf(&lines, "%s%s\n", before ? before : "",
			     whole ? whole : only->item[i]) < 0) {
			lines = NULL;
			environment->is_short_of_memory = true;
		}
	}
	allo_environment_set(environment, "ONLY", "%s", lines ? lines : "");
}

/* The environment of the program, which has the names of its recordings: without -o, they depend on
 * its pid. */
struct surroundings {
	struct allo_environment environment;
	char *library, *pattern;
	struct allo_library_link link; /* to the library, if its path needs one */
	bool has_family;               /* other processes have another pattern */
};

static void surroundings_done(struct surroundings *around)
{
	allo_environment_done(&around->environment);
	allo_library_link_remove(&around->link);
	free(around->library);
	free(around->pattern);
}

static bool set_names(struct surroundings *around, const struct allo_launch *launch,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *output = NULL, *family = NULL;

	if (!around->has_family) {
		allo_environment_set(&around->environment, "OUTPUT", "%s", around->pattern);
		return true;
	}
	output = allo_name_pattern_is_shared(around->pattern)
			 ? allo_name_pattern_of_program(around->pattern, launch->arguments[0],
							launch->pid, err)
			 : strdup(around->pattern);
	family = output ? allo_name_pattern_of_family(output, err) : NULL;
	if (!family)
		return allo_fail_memory(err);
	allo_environment_set(&around->environment, "OUTPUT", "%s", output);
	allo_environment_set(&around->environment, "FAMILY", "%s", family);
	allo_environment_set(&around->environment, "MAIN", "%d", (int)launch->pid);
	return true;
}

/* In the new process. */
static bool prepare(struct allo_launch *launch)
{
	struct surroundings *around = launch->prepare_context;
	struct allo_error err = { 0 };

	if (set_names(around, launch, &err) &&
	    allo_environment_finish(&around->environment,
				    around->link.path ? around->link.path : around->library,
				    &err)) {
		launch->environment = around->environment.all.at;
		return true;
	}
	errno = ENOMEM;
	return false;
}

static bool is_any_running(const struct allo_recordings *recordings)
{
	for (size_t i = 0; i < recordings->all.len; i++) {
		if (recordings->all.at[i].is_running)
			return true;
	}
	return false;
}

/* Runs the program to its end, and reports on the recordings. */
/* A failure is reported and does not change the exit status. */
static void write_report(const struct run *opt, const struct allo_run_job *job)
{
	const struct allo_common common = { .quiet = true };
	struct allo_source_options reading;
	struct allo_error err = { 0 };

	if (!opt->report)
		return;
	if (job->recordings.all.len != 1 || !job->recordings.all.at[0].path) {
		allo_say_note("the run has %zu recordings, and no report: 'allo report' writes one "
			      "for each",
			      job->recordings.all.len);
		return;
	}
	if (!allo_common_source(&common, &reading, &err) ||
	    !allo_report_beside(job->recordings.all.at[0].path, NULL, opt->report, opt->force,
				opt->quiet, &reading, &err))
		allo_say_error(&err);
}

/* Size and length of the exact part of a bounded recording. */
struct bounds {
	uint64_t bytes, keep_ns;
};

/* 30m is a time, 30M a size. */
static bool read_bounds(const char *given, struct bounds *bounds, struct allo_error *err)
{
	struct allo_text text = allo_text_of(given);
	bool is_time = text.len > 0 && memchr("smh", text.data[text.len - 1], 3);

	bounds->bytes = ring_most;
	if (!(is_time ? allo_parse_ns(text, &bounds->keep_ns)
		      : allo_parse_bytes(text, &bounds->bytes)))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--ring: '%s' is neither a size nor a time (try 256M or 30m)",
				 given);
	if (is_time ? bounds->keep_ns == 0 : bounds->bytes < ring_least)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--ring must be %s",
				 is_time ? "longer than 0 s" : "at least 4 MiB");
	if (bounds->bytes > ring_most)
		bounds->bytes = ring_most;
	return true;
}

static bool start_keeper(struct watch *watch, const char *pattern, uint64_t keep_ns,
			 struct allo_error *err)
{
	const char *slash = strrchr(pattern, '/');
	ALLO_DEFER(allo_free_pointer)
	char *folder = slash > pattern ? strndup(pattern, (size_t)(slash - pattern)) : strdup("/");

	if (!folder)
		return allo_fail_memory(err);
	if (!allo_ring_is_possible(folder)) {
		allo_fail(err, ALLO_IO, (struct allo_pos){ .file = folder },
			  "is on a file system that cannot free parts of a file, as --ring needs");
		return allo_hint(err, "write to ext4, XFS, Btrfs or tmpfs with -o");
	}
	watch->keeper = allo_ring_keeper_start(keep_ns);
	return watch->keeper ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "cannot start the thread that --ring needs");
}

static bool record(const struct run *opt, struct allo_run_job *job, char **words,
		   struct allo_error *err)
{
	ALLO_DEFER(watch_done)
	struct watch watch = { .recordings = &job->recordings,
			       .advice = { .is_quiet = opt->quiet,
					   .tracks_mappings = (opt->track & TRACK_MMAP) != 0 },
			       .names_allocators = !opt->quiet && opt->only.count == 0 };
	ALLO_DEFER(surroundings_done) struct surroundings around = { 0 };
	ALLO_DEFER(allo_free_pointer) char *control = NULL;
	struct bounds bounds = { 0 };
	struct allo_target target;

	if (!check(opt, err) || (opt->ring && !read_bounds(opt->ring, &bounds, err)) ||
	    !find_program(&target, words[0], err) || !find_control(opt->socket, &control, err))
		return false;
	around.library = allo_preload_library(target.libc, err);
	if (around.library && allo_library_link_is_needed(around.library) &&
	    !allo_library_link_make(&around.link, around.library, target.libc, err))
		return false;
	around.pattern = around.library ? allo_name_pattern_prepare(opt->output, err) : NULL;
	if (!around.pattern || !allo_recordings_open(&job->recordings, err) ||
	    !allo_snapshot_triggers_init(&watch.triggers, opt->snapshot_on.item,
					 opt->snapshot_on.count, opt->snapshot_keep,
					 &job->recordings, err))
		return false;
	around.has_family = opt->output == defaults.output ||
			    !allo_name_pattern_is_shared(around.pattern);
	allo_environment_set(&around.environment, "LIST", "%s", job->recordings.list);
	set_options(&around.environment, opt, control);
	allo_environment_set(&around.environment, "RING", "%llu", (unsigned long long)bounds.bytes);
	set_only(&around.environment, &opt->only);
	job->output = find_output(around.pattern, &target, words[0], err);
	if (allo_failed(err) || !clear_output(opt, job->output, err) ||
	    (opt->ring && !start_keeper(&watch, around.pattern, bounds.keep_ns, err)))
		return false;
	job->gathers = opt->output == defaults.output;
	job->defines_malloc = target.defines_malloc;
	job->launch.path = target.path;
	job->launch.arguments = words;
	job->launch.prepare = prepare;
	job->launch.prepare_context = &around;
	job->launch.look = look;
	job->launch.takes_signal = takes_signal;
	job->launch.context = &watch;
	tell_allocator(job, &target, &watch.advice);
	tell_control(opt);
	if (!execute(&job->launch, words[0], err))
		return false;
	/* The reader of our messages may be gone, but the exit status must still be right. */
	signal(SIGPIPE, SIG_IGN);
	allo_ring_keeper_stop(watch.keeper);
	watch.keeper = NULL;
	allo_run_report_status(job);
	allo_snapshot_triggers_end(&watch.triggers, opt->quiet);
	allo_run_report_recordings(job);
	write_report(opt, job);
	if (is_any_running(&job->recordings))
		allo_library_link_done(&around.link);
	if (allo_run_limits_exist(&opt->limits) && !opt->quiet)
		fputc('\n', stderr);
	if (allo_run_limits_exist(&opt->limits) && !allo_run_limits_check(&opt->limits, job, err))
		status = err->code == ALLO_UNMET ? STATUS_EXCEEDED : STATUS_FAILED;
	else
		status = 0;
	return true;
}

static bool run_run(const void *options_given, char **words, struct allo_error *err)
{
	const struct run *opt = options_given;
	struct allo_run_job job = {
		.name = words[0],
		.is_quiet = opt->quiet,
		.stays_raw = opt->raw,
		.gets_index = opt->index,
		.is_dormant = opt->dormant,
		.only_counts = opt->mode == MODE_COUNTERS,
		.has_only = opt->only.count > 0,
		.delay_ns = opt->delay_ns,
	};
	bool ok;
	int ended;

	allo_launch_guard_files();
	ok = record(opt, &job, words, err);
	ended = job.launch.status;
	allo_recordings_close(&job.recordings); /* a temporary file: we may die of a signal */
	free(job.output);
	free(job.family);
	if (!ok)
		return false;
	if (WIFSIGNALED(ended)) {
		status = STATUS_SIGNAL + WTERMSIG(ended);
		allo_launch_die_of(WTERMSIG(ended));
	} else if (WEXITSTATUS(ended) != 0) {
		status = WEXITSTATUS(ended); /* its own failure comes before that of a limit */
	}
	return !allo_failed(err);
}

const struct allo_command allo_cmd_run = {
	.name = "run",
	.alias = "record",
	.heading = "Record",
	.summary = "run a program and record its allocations",
	.arguments = "PROGRAM [ARGUMENT]...",
	.about =
		"Runs a program with a preloaded library that records every allocation with its "
		"stack, and prints a short summary at the end. The program keeps its input, output, "
		"signals and exit status. 'allo record' is the same.\n\n"
		"Each program that a process executes gets a recording. A run with one recording "
		"writes a file, NAME.PID.allo; a run with several writes a directory, NAME.PID.allo.d. "
		"All other commands read both; those that need one recording take the largest.\n\n"
		"Options end where the program begins; all words after it are the program's. allo "
		"refuses programs that it cannot record: statically linked, setuid, built with a "
		"sanitizer, or not for glibc or musl on this processor. Programs of musl need the "
		"runtime for musl. If the program executes such a program, that one runs without the "
		"library, and the report names it.\n\n"
		"Programs get memory not only from malloc. The summary says how much of the resident "
		"memory malloc held at the peak, and what the rest is. If a program is an "
		"interpreter, or calls an allocator that cannot be recorded, a note says so when it "
		"starts, also if another program executes it, with the next step. Allocators that a "
		"program contains are recorded if their functions have names.\n\n"
		"allo passes signals that it receives from processes on to the program; signals of "
		"the terminal reach the program directly. If a program neither handles, ignores nor "
		"blocks SIGINT, SIGTERM, SIGQUIT or SIGHUP and is still there at the second one, allo "
		"kills it.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct run),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = (size_t)-1,
	.takes_program = true,
	.completes = ALLO_COMPLETE_PROGRAMS,
	.run = run_run,
	.status = &status,
	.statuses = statuses,
};
