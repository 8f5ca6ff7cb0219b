/* cmd_run.c - allo run: runs a program and records its allocations. */
#include "base/assert.h"
#include "base/defer.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/quote.h"
#include "cli/show_losses.h"
#include "cli/show_recording.h"
#include "replay/packed/pack_recording.h"
#include "replay/recording.h"
#include "replay/summary.h"
#include "report/messages.h"
#include "run/launch.h"
#include "run/name_pattern.h"
#include "run/preload.h"
#include "run/snapshot_triggers.h"
#include "run/target.h"
#include "watch/recorded_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	const char *output;
	bool force, no_command, no_follow, raw, quiet, dormant, has_control;
	const char *socket;
	struct allo_list snapshot_on;
	const char *snapshot_keep;
	int mode, unwind, time;
	unsigned track;
	uint64_t rate, stack_depth, min_size, max_file, delay_ns, duration_ns;
};

static const char *const modes[] = { "exact", "sampled", "events", "counters", NULL };

enum { MODE_COUNTERS = 3 };

static const char *const unwinders[] = { "auto", "fp", "dwarf", "none", NULL };
static const char *const clocks[] = { "auto", "exact", NULL };
static const char *const tracks[] = { "malloc", "new", "mmap", "brk", NULL };

enum { DEFAULT_TRACK = 1 | 2 }; /* bits of `tracks` */

static const struct run defaults = { .output = ALLO_NAME_PATTERN };

/* As in env(1) and timeout(1): programs rarely use these. */
enum { STATUS_FAILED = 125, STATUS_UNUSABLE = 126, STATUS_MISSING = 127, STATUS_SIGNAL = 128 };

static int status = STATUS_FAILED;

#define AT(field) offsetof(struct run, field)
static const struct allo_option output_options[] = {
	OPT_FILE(
		'o', "output", "PATTERN", output,
		"path of the recordings: %e is the program, %p the process id, %t the time, %h the "
		"host, %n an unused number, %% a % (default: " ALLO_NAME_PATTERN ")"),
	OPT_FORCE(force),
	OPT_FLAG(
		0, "raw", raw,
		"do not pack recordings: much larger, with the addresses of blocks, and ready at once"),
	OPT_SIZE(
		0, "max-file", "SIZE", max_file,
		"stop recording when a file has this size, such as 500M or 2G; the program continues"),
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
	OPT_SET(0, "track", "LIST", track, tracks,
		"functions to record, separated by commas: malloc, new, mmap (with munmap and "
		"mremap), brk (with sbrk) (default: malloc,new)"),
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
	OPT_END,
};

static const struct allo_option watch_options[] = {
	OPT_FLAG(
		0, "dormant", dormant,
		"do not record until 'allo start'; until then each allocation costs one more jump; "
		"implies --control"),
	OPT_FLAG(
		0, "control", has_control,
		"start a thread in each process that serves a control socket, for 'allo start' and "
		"'allo mark', for an immediate 'allo stop', and for 'allo stats' with -m counters; "
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
static const struct allo_option_group watch_group = { "Watching", watch_options };

static const struct allo_option_group *const groups[] = { &output_group, &what_group, &watch_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo run ./server --port 8080", "record a program and its child processes" },
	{ "allo run -o heap.allo -f python3 script.py", "name the recording" },
	{ "allo run -m sampled ./server", "estimates, at almost no cost" },
	{ "allo run --delay 10s --duration 1m ./server", "record one minute of it" },
	{ "allo run --dormant ./server", "record nothing before 'allo start %server'" },
	{ "allo run --snapshot-on rss=90% ./server",
	  "keep a profile from before it runs out of memory" },
	{ NULL, NULL },
};

static const struct allo_example statuses[] = {
	{ "125", "allo itself failed, or refused to run the program" },
	{ "126", "the program cannot be executed" },
	{ "127", "the program was not found" },
	{ "else", "the status of the program; if a signal killed it, allo dies of the same signal, "
		  "which a shell shows as 128 plus the signal's number" },
	{ NULL, NULL },
};

/* A program that was run, and the recordings of its processes. */
struct job {
	const struct run *opt;
	const char *name; /* of the program, as the user typed it */
	struct allo_launch launch;
	struct allo_recordings recordings;
	char *output;        /* path of the program's recording, if known beforehand; else NULL */
	bool defines_malloc; /* the program contains an allocator */
};

static void job_done(struct job *job)
{
	allo_recordings_close(&job->recordings);
	free(job->output);
}

static bool only_counts(const struct job *job)
{
	return job->opt->mode == MODE_COUNTERS;
}

/*
 * After the program has ended: packs the recordings and prints a summary.  Failures are
 * reported but do not change the exit status, which is that of the program.
 */

enum { MAX_LISTED = 4 }; /* child processes that get a line each */

static const char *format_ns(uint64_t ns, char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS, false, out);
}

static void tell_status(const struct job *job)
{
	int ended = job->launch.status;
	char time[ALLO_NUMBER_SIZE];

	if (job->opt->quiet)
		return;
	format_ns(job->launch.ns, time);
	if (job->launch.is_abandoned) {
		allo_say("%s (%d) does not end, although allo killed it", job->name,
			 (int)job->launch.pid);
	} else if (WIFSIGNALED(ended)) {
		const char *name = sigabbrev_np(WTERMSIG(ended));

		allo_say("%s died of signal %d (%s%s) after %s", job->name, WTERMSIG(ended),
			 name ? "SIG" : "", name ? name : "real-time", time);
	} else {
		allo_say("%s exited with status %d after %s", job->name, WEXITSTATUS(ended), time);
	}
}

/* A path as the user may type it: relative if it is below the current directory. */
static const char *shown(const char *path)
{
	ALLO_DEFER(allo_free_pointer) char *here = getcwd(NULL, 0);
	size_t len = here ? strlen(here) : 0;

	if (len > 1 && strncmp(path, here, len) == 0 && path[len] == '/')
		return path + len + 1;
	return path;
}

static uint64_t file_size(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

/* One pass over a recording. */
struct pass {
	const char *path;
	struct allo_summary *summary; /* NULL: pack it */
};

static bool make_pass(const struct pass *pass, const struct allo_progress *progress,
		      struct allo_error *err)
{
	return pass->summary ? allo_recording_summary(pass->path, pass->summary, progress, err)
			     : allo_recording_pack(pass->path, pass->path, progress, err);
}

/* Makes it with a progress bar, and prints its error. */
static bool pass_with_bar(const struct job *job, const struct pass *pass)
{
	struct allo_error err = { 0 };
	struct allo_progress_bar bar;
	bool ok;

	allo_progress_bar_init(&bar, pass->summary ? "adding up" : "packing");
	ok = make_pass(pass, bar.is_on && !job->opt->quiet ? &bar.progress : NULL, &err);
	allo_progress_bar_done(&bar);
	if (!ok) {
		if (!pass->summary)
			allo_hint(&err, "the recording stays unpacked: %s", shown(pass->path));
		allo_say_error(&err);
	}
	return ok;
}

static void pack(const struct job *job, const struct allo_recorded *recording)
{
	if (job->opt->raw)
		allo_recordings_cut_hole(recording->path);
	else
		pass_with_bar(job, &(struct pass){ .path = recording->path });
}

static bool summarize(const struct job *job, const struct allo_recorded *recording,
		      struct allo_summary *summary)
{
	*summary = (struct allo_summary){ 0 };
	return pass_with_bar(job, &(struct pass){ .path = recording->path, .summary = summary });
}

/* Why the recording ends before the program. */
static void tell_end(const struct allo_summary *summary)
{
	static const char *const ends[] = {
		[ALLO_END_STOPPED] =
			"the recording ends before the program: --duration is over, or "
			"it was stopped",
		[ALLO_END_FULL] = "the recording ends before the program: it reached --max-file",
		[ALLO_END_DISK] = "the recording ends before the program: the disk is full",
		[ALLO_END_LOST] = "the recording ends before the program: its file was deleted, or "
				  "cannot be opened any more",
		[ALLO_END_INTERNAL] = "the recording ends before the program: the runtime gave "
				      "up",
		[ALLO_END_SANDBOX] = "the recording ends before the program: its sandbox "
				     "(seccomp) leaves no more space, or no clock",
		[ALLO_END_LIMIT] = "the recording ends before the program: it reached the limit of "
				   "the process for file sizes (RLIMIT_FSIZE)",
	};
	unsigned end = summary->end;

	if (end < sizeof(ends) / sizeof(*ends) && ends[end])
		allo_say_note("%s", ends[end]);
}

static void tell_losses(const struct allo_summary *summary)
{
	struct allo_loss_lines lines;

	allo_show_losses(summary, &lines);
	for (size_t i = 0; i < lines.count; i++)
		allo_say_note("not recorded: %s", lines.text[i]);
}

/* Processes that could not create a recording. */
static void tell_failures(const struct job *job)
{
	for (size_t i = 0; i < job->recordings.failures.len; i++) {
		const struct allo_unrecorded *failure = &job->recordings.failures.at[i];

		allo_say_note("process %d (%s) was not recorded: %s", (int)failure->pid,
			      failure->program, failure->reason);
	}
}

static void tell_nothing(const struct job *job, const struct allo_summary *summary)
{
	if (summary->allocations > 0)
		return;
	if (allo_summary_is_estimated(summary))
		allo_say_note("no allocation of %s was sampled: use a lower --rate", job->name);
	else
		allo_say_note("%s made no allocation that --min-size and --track let through",
			      job->name);
}

/* An estimate, if the recording is sampled. */
static const char *format(const struct allo_summary *summary, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	struct allo_number number = { .magnitude = value,
				      .is_estimated = allo_summary_is_estimated(summary) };

	return allo_format(number, unit, false, out);
}

/* The exact totals of a sampled recording. */
static void tell_sampling(const struct allo_summary *summary)
{
	char sampled[ALLO_SAMPLED_SIZE], seen[ALLO_SEEN_SIZE];

	if (!allo_summary_is_estimated(summary))
		return;
	allo_show_sampled(&summary->sampling, sampled);
	allo_show_seen(&summary->sampling, false, seen);
	allo_say("sampled: %s%s%s", sampled, seen[0] ? "; " : "", seen);
}

static void tell_summary(const struct job *job, const struct allo_summary *summary)
{
	char count[ALLO_NUMBER_SIZE], total[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];
	char when[ALLO_NUMBER_SIZE], left[ALLO_NUMBER_SIZE];

	allo_say("%s allocation%s, %s total, peak %s at %s, %s never freed",
		 format(summary, summary->allocations, ALLO_UNIT_COUNT, count),
		 summary->allocations == 1 ? "" : "s",
		 format(summary, summary->total_bytes, ALLO_UNIT_BYTES, total),
		 format(summary, summary->peak_bytes, ALLO_UNIT_BYTES, peak),
		 format_ns(summary->peak_ns, when),
		 format(summary, summary->end_bytes, ALLO_UNIT_BYTES, left));
	tell_sampling(summary);
	allo_say("%s event%s dropped, %.1f%% of stacks complete",
		 allo_format_count(summary->dropped_events, count),
		 summary->dropped_events == 1 ? "" : "s", allo_summary_complete_percent(summary));
	tell_losses(summary);
	tell_end(summary);
	tell_nothing(job, summary);
}

static void tell_running(const struct allo_recorded *recording)
{
	allo_say("process %d is still running and writes to %s", (int)recording->pid,
		 shown(recording->path));
}

static void tell_main(const struct job *job, const struct allo_recorded *recording)
{
	struct allo_summary summary;
	char size[ALLO_NUMBER_SIZE];

	if (recording->is_running) {
		tell_running(recording);
		return;
	}
	pack(job, recording);
	if (job->opt->quiet)
		return;
	if (!summarize(job, recording, &summary))
		return;
	tell_summary(job, &summary);
	allo_say("wrote %s (%s)", shown(recording->path),
		 allo_format_bytes(file_size(recording->path), size));
}

static void tell_other(const struct job *job, const struct allo_recorded *recording)
{
	char size[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];
	struct allo_summary summary;

	if (summarize(job, recording, &summary))
		allo_say("wrote %s (%s): %s allocation%s, peak %s", shown(recording->path),
			 allo_format_bytes(file_size(recording->path), size),
			 format(&summary, summary.allocations, ALLO_UNIT_COUNT, count),
			 summary.allocations == 1 ? "" : "s",
			 format(&summary, summary.peak_bytes, ALLO_UNIT_BYTES, peak));
}

/* The recordings of child processes. */
static void tell_others(const struct job *job, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE], size[ALLO_NUMBER_SIZE];
	uint64_t listed = 0, more = 0, more_bytes = 0;

	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const struct allo_recorded *other = &job->recordings.all.at[i];

		if (other == own || !other->path)
			continue;
		if (!other->is_running)
			pack(job, other);
		if (job->opt->quiet)
			continue;
		if (listed++ >= MAX_LISTED) {
			more++;
			more_bytes += file_size(other->path);
		} else if (other->is_running) {
			tell_running(other);
		} else {
			tell_other(job, other);
		}
	}
	if (more > 0)
		allo_say("and %s more (%s)", allo_format_count(more, count),
			 allo_format_bytes(more_bytes, size));
}

/* Programs that recorded processes have executed. */
static void tell_skipped(const struct job *job)
{
	char count[ALLO_NUMBER_SIZE], times[ALLO_NUMBER_SIZE + 16];
	size_t len = job->recordings.skipped.len;

	if (job->opt->quiet)
		return;
	for (size_t i = 0; i < len && i < MAX_LISTED; i++) {
		const struct allo_skipped *skipped = &job->recordings.skipped.at[i];

		snprintf(times, sizeof(times), ", %s times",
			 allo_format_count(skipped->times, count));
		allo_say_note("not recorded: %s: %s%s", skipped->path, skipped->reason,
			      skipped->times > 1 ? times : "");
	}
	if (len > MAX_LISTED)
		allo_say_note("not recorded: %s more program%s",
			      allo_format_count(len - MAX_LISTED, count),
			      len - MAX_LISTED == 1 ? "" : "s");
}

static void tell_next(const struct allo_recorded *recording)
{
	ALLO_DEFER(allo_free_pointer) char *file = allo_shell_quote(shown(recording->path));

	if (!file)
		return;
	fputc('\n', stderr);
	allo_say_advice("allo summary %s   read this first", file);
	allo_say_advice("allo tree %s      the callers that hold memory", file);
}

/* Counts, with -m counters. */

static void tell_counts(const struct allo_counted *counted, const char *whose)
{
	char count[ALLO_NUMBER_SIZE], total[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];
	char peak_blocks[ALLO_NUMBER_SIZE], left[ALLO_NUMBER_SIZE], left_blocks[ALLO_NUMBER_SIZE];

	allo_say("%s%s allocation%s, %s total, peak %s in %s block%s, %s in %s block%s never freed",
		 whose, allo_format_count(counted->blocks, count), counted->blocks == 1 ? "" : "s",
		 allo_format_bytes(counted->bytes, total),
		 allo_format_bytes(counted->peak_bytes, peak),
		 allo_format_count(counted->peak_blocks, peak_blocks),
		 counted->peak_blocks == 1 ? "" : "s", allo_format_bytes(counted->live_bytes, left),
		 allo_format_count(counted->live_blocks, left_blocks),
		 counted->live_blocks == 1 ? "" : "s");
}

static void tell_process_counts(const struct allo_recorded *process, bool is_own)
{
	char whose[40] = "";

	if (!is_own)
		snprintf(whose, sizeof(whose), "process %d: ", (int)process->pid);
	if (process->has_counted)
		tell_counts(&process->counted, whose);
	else if (process->is_running)
		allo_say("process %d is still running", (int)process->pid);
	else
		allo_say("process %d ended without exit(): its counts are lost", (int)process->pid);
}

static void tell_all_counts(const struct job *job, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE];
	uint64_t listed = 0, more = 0;

	if (job->opt->quiet)
		return;
	if (own)
		tell_process_counts(own, true);
	for (size_t i = 0; i < job->recordings.all.len; i++) {
		if (&job->recordings.all.at[i] == own)
			continue;
		if (listed++ < MAX_LISTED)
			tell_process_counts(&job->recordings.all.at[i], false);
		else
			more++;
	}
	if (more > 0)
		allo_say("and %s more process%s", allo_format_count(more, count),
			 more == 1 ? "" : "es");
}

/* The last recording of the process that we started: a program such as env(1) executes another one.
 * Counts between two recordings have no path. */
static struct allo_recorded *own_recording(const struct job *job)
{
	for (size_t i = job->recordings.all.len; i > 0; i--) {
		struct allo_recorded *recorded = &job->recordings.all.at[i - 1];

		if (recorded->pid == job->launch.pid && (recorded->path || only_counts(job)))
			return recorded;
	}
	return NULL;
}

/* Whether the recording was stopped, rather than ended by exec. */
static bool was_stopped(const struct allo_recorded *recorded)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	return allo_recording_open_file(&recording, recorded->path, NULL, &err) &&
	       recording.head.end == ALLO_END_STOPPED;
}

/* The first program of the process has taken the name of -o: gives it to the last one. */
static void claim_output(const struct job *job, struct allo_recorded *own)
{
	struct allo_recorded *first = job->recordings.all.at;
	const char *path = own->path;

	if (!job->output || own->is_running || !first->path ||
	    strcmp(first->path, job->output) != 0 || first->pid != own->pid || first == own ||
	    was_stopped(first))
		return;
	if (renameat2(AT_FDCWD, first->path, AT_FDCWD, own->path, RENAME_EXCHANGE) == 0) {
		own->path = first->path;
		first->path = path;
	}
}

static void tell_none(const struct job *job)
{
	if (job->opt->quiet || job->recordings.failures.len > 0)
		return;
	if (job->opt->dormant) {
		allo_say("nothing was recorded: 'allo start' was not used");
		return;
	}
	if (job->launch.ns < job->opt->delay_ns) {
		allo_say("nothing was recorded: %s ended before --delay was over", job->name);
		return;
	}
	if (job->defines_malloc) {
		allo_say("nothing was recorded: %s contains an allocator, which the runtime cannot "
			 "see",
			 job->name);
		allo_say_advice(
			"hint: link it with the C library's allocator, or with a shared one");
		return;
	}
	allo_say("nothing was recorded: %s made no allocation that the runtime sees", job->name);
	allo_say_advice("hint: if it does allocate, it may have executed a program that cannot be "
			"preloaded");
}

static void finish_recordings(struct job *job)
{
	struct allo_recorded *own;
	struct allo_error err = { 0 };

	if (!allo_recordings_read(&job->recordings, &err))
		allo_say_error(&err);
	own = own_recording(job);
	if (only_counts(job) && own && !own->path) {
		tell_all_counts(job, own);
		tell_skipped(job);
		return;
	}
	if (own) {
		claim_output(job, own);
		tell_main(job, own);
	} else {
		tell_none(job);
	}
	tell_others(job, own);
	tell_skipped(job);
	if (!job->opt->quiet)
		tell_failures(job);
	if (own && !own->is_running && !job->opt->quiet)
		tell_next(own);
}

/* Before and while the program runs. */

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

/* The runtime reads its settings from the environment. */
static void set_options(struct allo_environment *environment, const struct run *opt,
			const char *control)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "STACK_DEPTH", opt->stack_depth }, { "MIN_SIZE", opt->min_size },
		{ "MAX_FILE", opt->max_file },       { "DELAY_NS", opt->delay_ns },
		{ "DURATION_NS", opt->duration_ns }, { "COMMAND", !opt->no_command },
		{ "FOLLOW", !opt->no_follow },       { "RATE", opt->rate },
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
	allo_environment_set(environment, "MODE", "%s", modes[opt->mode]);
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
static void tell_allocator(const struct job *job, const struct allo_target *target)
{
	if (target->allocator && !job->opt->quiet)
		allo_say_note("%s uses %s directly: only blocks from malloc and new are recorded; "
			      "build it with the C library's allocator to record all",
			      job->name, target->allocator);
}

/* Another user may have made the folder first. */
static void tell_control(const struct job *job)
{
	const struct run *opt = job->opt;
	char path[PATH_MAX];
	const char *obstacle = allo_control_folder_obstacle(path);

	if (obstacle && !opt->quiet && !opt->socket && (opt->has_control || opt->dormant))
		allo_say_note("%s %s: no control socket can be made there; remove it, set "
			      "XDG_RUNTIME_DIR, or add --socket",
			      path, obstacle);
}

/* Removes an existing output, with -f. */
static bool clear_output(const struct run *opt, const char *path, struct allo_error *err)
{
	struct allo_pos pos = { .file = opt->output };
	struct stat found;

	if (!path || lstat(path, &found) != 0)
		return true;
	if (!S_ISREG(found.st_mode))
		return allo_fail(err, ALLO_IO, pos, "exists and is not a regular file");
	if (!opt->force) {
		allo_fail(err, ALLO_IO, pos, "exists and is not overwritten");
		return allo_hint(err, "add -f, or choose another name with -o");
	}
	return unlink(path) == 0 || allo_fail_errno(err, opt->output, "replace it");
}

static void check_triggers(void *triggers, int signal)
{
	allo_snapshot_triggers_check(triggers, signal);
}

static bool takes_signal(void *triggers, int signal)
{
	return allo_snapshot_triggers_have_signal(triggers, signal);
}

static void set_triggers(struct allo_launch *program, struct allo_snapshot_triggers *triggers)
{
	if (triggers->all.len == 0)
		return;
	program->look_ms = ALLO_TRIGGERS_MS;
	program->look = check_triggers;
	program->takes_signal = takes_signal;
	program->context = triggers;
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
	return true;
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

/* Runs the program to its end, and reports on the recordings. */
static bool record(struct job *job, char **words, struct allo_error *err)
{
	ALLO_DEFER(allo_snapshot_triggers_done) struct allo_snapshot_triggers triggers = { 0 };
	ALLO_DEFER(allo_environment_done) struct allo_environment environment = { 0 };
	ALLO_DEFER(allo_free_pointer) char *library = NULL, *pattern = NULL, *control = NULL;
	const struct run *opt = job->opt;
	struct allo_target target;

	if (!check(opt, err) || !find_program(&target, words[0], err) ||
	    !find_control(opt->socket, &control, err))
		return false;
	library = allo_preload_library(err);
	pattern = library ? allo_name_pattern_prepare(opt->output, err) : NULL;
	if (!pattern || !allo_recordings_open(&job->recordings, err) ||
	    !allo_snapshot_triggers_init(&triggers, opt->snapshot_on.item, opt->snapshot_on.count,
					 opt->snapshot_keep, &job->recordings, err))
		return false;
	allo_environment_set(&environment, "OUTPUT", "%s", pattern);
	allo_environment_set(&environment, "LIST", "%s", job->recordings.list);
	set_options(&environment, opt, control);
	if (!allo_environment_finish(&environment, library, err))
		return false;
	job->output = find_output(pattern, &target, words[0], err);
	if (allo_failed(err) || !clear_output(opt, job->output, err))
		return false;
	job->defines_malloc = target.defines_malloc;
	job->launch.path = target.path;
	job->launch.arguments = words;
	job->launch.environment = environment.all.at;
	set_triggers(&job->launch, &triggers);
	tell_allocator(job, &target);
	tell_control(job);
	if (!execute(&job->launch, words[0], err))
		return false;
	/* The reader of our messages may be gone, but the exit status must still be right. */
	signal(SIGPIPE, SIG_IGN);
	tell_status(job);
	allo_snapshot_triggers_end(&triggers, opt->quiet);
	finish_recordings(job);
	return true;
}

static bool run_run(const void *options_given, char **words, struct allo_error *err)
{
	struct job job = { .opt = options_given, .name = words[0] };
	bool ok;
	int ended;

	allo_launch_guard_files();
	ok = record(&job, words, err);
	ended = job.launch.status;
	job_done(&job); /* removes a temporary file, before we may die of a signal */
	if (!ok)
		return false;
	if (WIFSIGNALED(ended)) {
		status = STATUS_SIGNAL + WTERMSIG(ended);
		allo_launch_die_of(WTERMSIG(ended));
	} else {
		status = WEXITSTATUS(ended);
	}
	return true;
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
		"signals and exit status. Each process gets its own recording; all other commands "
		"read it. 'allo record' is the same.\n\n"
		"Options end where the program begins; all words after it are the program's. allo "
		"refuses programs that it cannot record: statically linked, setuid, built with a "
		"sanitizer, or not for glibc on this processor. If the program executes such a "
		"program, that one runs without the library, and the report names it.\n\n"
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
