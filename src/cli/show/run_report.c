/* run_report.c - after the program has ended: packs its recordings and prints a summary. */
#include "cli/show/run_report.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/quote.h"
#include "cli/show/show_losses.h"
#include "cli/show/show_recording.h"
#include "engine/live/process_summary.h"
#include "engine/make_index.h"
#include "replay/coverage.h"
#include "replay/packed/pack_recording.h"
#include "report/messages.h"
#include "run/family.h"
#include "run/own_allocator.h"
#include "run/resident_sampler.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LISTED = 5 }; /* processes, files or programs that get a line each */

static const char *format_ns(uint64_t ns, char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS, false, out);
}

void allo_run_report_status(const struct allo_run_job *job)
{
	int ended = job->launch.status;
	char time[ALLO_NUMBER_SIZE];

	if (job->is_quiet)
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

	/* Without the parts of a bounded recording that were freed. */
	return stat(path, &file) != 0                ? 0
	       : file.st_blocks * 512 < file.st_size ? (uint64_t)file.st_blocks * 512
						     : (uint64_t)file.st_size;
}

/* One pass over a recording. */
struct pass {
	const char *path;
	enum { PACK, STORE_INDEX, ADD_UP } kind;
	struct allo_process_summaries *summaries; /* that get its totals, when they are added up */
};

static const struct {
	const char *doing, *failure;
} pass_names[] = {
	[PACK] = { "packing", "the recording stays unpacked" },
	[STORE_INDEX] = { "indexing", "the recording has no index" },
	[ADD_UP] = { "adding up", NULL },
};

static bool make_pass(const struct pass *pass, const struct allo_progress *progress,
		      struct allo_error *err)
{
	uint64_t size;

	switch (pass->kind) {
	case PACK:
		return allo_recording_pack(pass->path, pass->path, progress, err);
	case STORE_INDEX:
		return allo_store_index(pass->path, progress, &size, err);
	case ADD_UP:
		break;
	}
	return allo_process_summaries_add(pass->summaries, pass->path, progress, err);
}

/* Makes it with a progress bar, and prints its error. */
static bool pass_with_bar(const struct allo_run_job *job, const struct pass *pass)
{
	struct allo_error err = { 0 };
	struct allo_progress_bar bar;
	bool ok;

	allo_progress_bar_init(&bar, pass_names[pass->kind].doing);
	ok = make_pass(pass, bar.is_on && !job->is_quiet ? &bar.progress : NULL, &err);
	allo_progress_bar_done(&bar);
	if (!ok) {
		if (pass_names[pass->kind].failure)
			allo_hint(&err, "%s: %s", pass_names[pass->kind].failure,
				  shown(pass->path));
		allo_say_error(&err);
	}
	return ok;
}

static void pack(const struct allo_run_job *job, const struct allo_recorded *recording)
{
	if (job->stays_raw)
		allo_recordings_cut_hole(recording->path);
	else if (pass_with_bar(job, &(struct pass){ recording->path, PACK, NULL }) &&
		 job->gets_index)
		pass_with_bar(job, &(struct pass){ recording->path, STORE_INDEX, NULL });
}

static void summarize(const struct allo_run_job *job, const struct allo_recorded *recording,
		      struct allo_process_summaries *summaries)
{
	pass_with_bar(job, &(struct pass){ recording->path, ADD_UP, summaries });
}

/* Why the recording ends before the program; NULL if it does not. */
static const char *reason_of_end(const struct allo_summary *summary)
{
	static const char *const reasons[] = {
		[ALLO_END_STOPPED] = "--duration is over, or it was stopped",
		[ALLO_END_FULL] = "it reached --max-file",
		[ALLO_END_DISK] = "the disk is full",
		[ALLO_END_LOST] = "its file was deleted, or cannot be opened any more",
		[ALLO_END_INTERNAL] = "the runtime gave up",
		[ALLO_END_SANDBOX] = "its sandbox (seccomp) leaves no more space, or no clock",
		[ALLO_END_LIMIT] = "it reached the limit of the process for file sizes "
				   "(RLIMIT_FSIZE)",
	};
	unsigned end = summary->end;

	return end < sizeof(reasons) / sizeof(*reasons) ? reasons[end] : NULL;
}

static void tell_losses(const struct allo_summary *summary)
{
	struct allo_loss_lines lines;

	allo_show_losses(summary, &lines);
	for (size_t i = 0; i < lines.count; i++)
		allo_say_note("not recorded: %s", lines.text[i]);
}

/* Processes that could not create a recording. */
static void tell_failures(const struct allo_run_job *job)
{
	for (size_t i = 0; i < job->recordings.failures.len; i++) {
		const struct allo_unrecorded *failure = &job->recordings.failures.at[i];

		allo_say_note("process %d (%s) was not recorded: %s", (int)failure->pid,
			      failure->program, failure->reason);
	}
}

static void tell_nothing(const struct allo_run_job *job, const struct allo_summary *summary)
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
	char sampled[ALLO_SAMPLED_SIZE], seen[ALLO_SEEN_SIZE], overhead[ALLO_OVERHEAD_SIZE];

	if (!allo_summary_is_estimated(summary))
		return;
	allo_show_sampled(&summary->sampling, sampled);
	allo_show_seen(&summary->sampling, false, seen);
	allo_say("sampled: %s%s%s", sampled, seen[0] ? "; " : "", seen);
	if (allo_show_overhead(summary, overhead)[0])
		allo_say("overhead: %s", overhead);
}

static void tell_coverage(const struct allo_summary *summary)
{
	char coverage[ALLO_COVERAGE_SIZE];

	if (allo_coverage_text(summary, false, coverage)[0])
		allo_say("%s", coverage);
}

/* The first line, as the others are about the recorded part only. */
static void tell_end(const struct allo_summary *summary, const char *reason)
{
	char when[ALLO_NUMBER_SIZE];

	allo_say_note("the recording ends before the program: %s; the figures are those of its "
		      "first %s",
		      reason, format_ns(summary->duration_ns, when));
}

static void tell_dropped(const struct allo_summary *summary, bool has_ended_early)
{
	char events[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE], pages[ALLO_NUMBER_SIZE + 32] = "";
	uint64_t lost = allo_summary_lost_pages(summary);

	if (lost > 0)
		snprintf(pages, sizeof(pages), " and %s page%s of events",
			 allo_format_count(lost, count), lost == 1 ? "" : "s");
	allo_say("%s event%s%s dropped%s, %.1f%% of stacks complete",
		 allo_format_count(summary->dropped_events, events),
		 summary->dropped_events == 1 ? "" : "s", pages,
		 has_ended_early ? " before the recording ended" : "",
		 allo_summary_complete_percent(summary));
}

/* `process` is empty, or the name of one of several processes. */
static void tell_summary(const struct allo_run_job *job, const char *process,
			 const struct allo_summary *summary)
{
	char count[ALLO_NUMBER_SIZE], total[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];
	char when[ALLO_NUMBER_SIZE], left[ALLO_NUMBER_SIZE];
	const char *end = reason_of_end(summary);

	if (end)
		tell_end(summary, end);
	allo_say("%s%s%s allocation%s, %s total, peak %s at %s, %s %s", process,
		 process[0] ? ": " : "",
		 format(summary, summary->allocations, ALLO_UNIT_COUNT, count),
		 summary->allocations == 1 ? "" : "s",
		 format(summary, summary->total_bytes, ALLO_UNIT_BYTES, total),
		 format(summary, summary->peak_bytes, ALLO_UNIT_BYTES, peak),
		 format_ns(summary->peak_ns, when),
		 format(summary, summary->end_bytes, ALLO_UNIT_BYTES, left),
		 end ? "not freed by then" : "never freed");
	tell_coverage(summary);
	tell_sampling(summary);
	tell_dropped(summary, end != NULL);
	tell_losses(summary);
	tell_nothing(job, summary);
}

/* Processes that still run. */
static void tell_running(const struct allo_run_job *job)
{
	char count[ALLO_NUMBER_SIZE];
	uint64_t running = 0;

	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const struct allo_recorded *recording = &job->recordings.all.at[i];

		if (recording->path && recording->is_running && running++ < MAX_LISTED)
			allo_say("process %d is still running and writes to %s",
				 (int)recording->pid, shown(recording->path));
	}
	if (running > MAX_LISTED)
		allo_say("and %s more are still running",
			 allo_format_count(running - MAX_LISTED, count));
}

/* A line for each process, the largest first. */
static void tell_processes(const struct allo_process_summaries *processes)
{
	char count[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE], name[ALLO_PROCESS_NAME_SIZE];
	size_t len = processes->all.len;

	allo_say("%zu recordings, the largest first:", len);
	for (size_t i = 0; i < len && i < MAX_LISTED; i++) {
		const struct allo_process_summary *process = &processes->all.at[i];
		const struct allo_summary *totals = &process->totals;

		allo_say("  peak %10s, %11s allocation%s  %s",
			 format(totals, totals->peak_bytes, ALLO_UNIT_BYTES, peak),
			 format(totals, totals->allocations, ALLO_UNIT_COUNT, count),
			 totals->allocations == 1 ? ", " : "s,",
			 allo_process_summary_name(process, name));
	}
	if (len > MAX_LISTED)
		allo_say("  and %s more, peak at most %s",
			 allo_format_count(len - MAX_LISTED, count),
			 format(&processes->all.at[MAX_LISTED].totals,
				processes->all.at[MAX_LISTED].totals.peak_bytes, ALLO_UNIT_BYTES,
				peak));
}

static void tell_file(const char *path)
{
	char size[ALLO_NUMBER_SIZE];

	allo_say("wrote %s (%s)", shown(path), allo_format_bytes(file_size(path), size));
}

/* Number and size of files. */
struct files {
	size_t count;
	uint64_t bytes;
};

static void add_file(struct files *files, const char *path)
{
	files->count++;
	files->bytes += file_size(path);
}

/* The files, or the directory of several. */
static void tell_files(const struct allo_run_job *job)
{
	struct files inside = { 0 }, outside = { 0 }, listed = { 0 };
	char size[ALLO_NUMBER_SIZE];

	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const struct allo_recorded *recorded = &job->recordings.all.at[i];

		if (!recorded->path || recorded->is_running)
			continue;
		if (job->family && allo_family_has(job->family, recorded->path)) {
			add_file(&inside, recorded->path);
		} else if (listed.count == MAX_LISTED) {
			add_file(&outside, recorded->path);
		} else {
			add_file(&listed, recorded->path);
			tell_file(recorded->path);
		}
	}
	if (outside.count > 0)
		allo_say("wrote %zu more (%s)", outside.count,
			 allo_format_bytes(outside.bytes, size));
	if (inside.count > 0)
		allo_say("wrote %s (%zu recording%s, %s)", shown(job->family), inside.count,
			 inside.count == 1 ? "" : "s", allo_format_bytes(inside.bytes, size));
}

/* The largest process first: the program itself may only start others.  `is_program`: it has a
 * recording. */
static void tell_recordings(const struct allo_run_job *job, bool is_program,
			    const struct allo_process_summaries *processes)
{
	size_t len = processes->all.len;
	char name[ALLO_PROCESS_NAME_SIZE] = "";

	if (len > 1)
		tell_processes(processes);
	if (len > 1 || (len == 1 && !is_program))
		allo_process_summary_name(&processes->all.at[0], name);
	if (len > 0)
		tell_summary(job, name, &processes->all.at[0].totals);
	tell_running(job);
	tell_files(job);
}

/* Programs that recorded processes have executed. */
static void tell_skipped(const struct allo_run_job *job)
{
	char count[ALLO_NUMBER_SIZE], times[ALLO_NUMBER_SIZE + 16];
	size_t len = job->recordings.skipped.len;

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

/* Executed programs whose memory the runtime does not see. */
static void tell_own_allocators(struct allo_run_job *job)
{
	char times[ALLO_NUMBER_SIZE + 16], count[ALLO_NUMBER_SIZE];
	size_t listed = 0;

	if (job->has_only)
		return;
	allo_own_allocators_look(&job->recordings, true);
	for (size_t i = 0; i < job->recordings.executed.len; i++) {
		const struct allo_executed *executed = &job->recordings.executed.at[i];

		if (!executed->allocator || listed++ >= MAX_LISTED)
			continue;
		snprintf(times, sizeof(times), ", %s times",
			 allo_format_count(executed->times, count));
		allo_say_note("not fully recorded: %s: it uses %s directly%s", executed->path,
			      executed->allocator, executed->times > 1 ? times : "");
	}
}

struct advice {
	const char *command, *path, *about;
	char *file; /* the path for a shell; NULL when out of memory */
};

static size_t advice_columns(const struct advice *advice)
{
	return strlen(advice->command) + allo_utf8_columns(allo_text_of(advice->file));
}

/* Prints the commands, with their purposes in one column. */
static void tell_commands(struct advice *advice, size_t count)
{
	size_t widest = 0;

	for (size_t i = 0; i < count; i++) {
		advice[i].file = allo_shell_quote(shown(advice[i].path));
		if (advice[i].file && advice_columns(&advice[i]) > widest)
			widest = advice_columns(&advice[i]);
	}
	for (size_t i = 0; i < count; i++) {
		if (advice[i].file)
			allo_say_advice("allo %s %s%*s   %s", advice[i].command, advice[i].file,
					(int)(widest - advice_columns(&advice[i])), "",
					advice[i].about);
		free(advice[i].file);
	}
}

static void tell_next(const struct allo_run_job *job,
		      const struct allo_process_summaries *processes)
{
	const char *largest;

	if (processes->all.len == 0)
		return;
	largest = processes->all.at[0].path;
	fputc('\n', stderr);
	if (processes->all.len == 1 || !job->family) {
		struct advice advice[] = {
			{ "summary", largest, "read this first" },
			{ "view", largest, "explore it in the browser" },
		};

		tell_commands(advice, 2);
	} else {
		struct advice advice[] = {
			{ "summary", largest, "the largest process: read this first" },
			{ "summary", job->family, "all processes together" },
			{ "view", largest, "explore the largest process in the browser" },
		};

		tell_commands(advice, 3);
	}
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

static void tell_all_counts(const struct allo_run_job *job, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE];
	uint64_t listed = 0, more = 0;

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
static struct allo_recorded *own_recording(const struct allo_run_job *job)
{
	for (size_t i = job->recordings.all.len; i > 0; i--) {
		struct allo_recorded *recorded = &job->recordings.all.at[i - 1];

		if (recorded->pid == job->launch.pid && (recorded->path || job->only_counts))
			return recorded;
	}
	return NULL;
}

static void tell_none_of_program(const struct allo_run_job *job, bool are_others)
{
	const char *start = are_others ? "" : "nothing was recorded: ";
	const char *end = are_others ? " itself was not recorded: it" : "";

	if (job->launch.ns < job->delay_ns) {
		allo_say("%s%s%s ended before --delay was over", start, job->name, end);
	} else if (job->defines_malloc) {
		allo_say("%s%s%s contains an allocator, which the runtime cannot patch", start,
			 job->name, end);
		allo_say_advice(
			"hint: link it with the C library's allocator, or with a shared one");
	} else {
		allo_say("%s%s%s made no allocation that the runtime sees", start, job->name, end);
		allo_say_advice("hint: if it does allocate, it may have executed a program that "
				"cannot be preloaded");
	}
}

/* The program recorded nothing.  `are_others`: other processes did. */
static void tell_none(const struct allo_run_job *job, bool are_others)
{
	if (job->recordings.failures.len > 0 || (job->has_only && are_others))
		return;
	if (job->has_only)
		allo_say("nothing was recorded: no program of --only made an allocation");
	else if (job->is_dormant)
		allo_say("nothing was recorded: 'allo start' was not used");
	else
		tell_none_of_program(job, are_others);
}

/* Gives the files their final names, and packs them. */
static void finish_files(struct allo_run_job *job, struct allo_recorded *own)
{
	if (job->output && own)
		allo_family_claim(&job->recordings, own, job->output);
	if (job->output || job->gathers)
		job->family = allo_family_find(&job->recordings, job->output);
	if (job->gathers && job->family)
		allo_family_gather(&job->recordings, job->family);
	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const struct allo_recorded *recorded = &job->recordings.all.at[i];

		if (recorded->path && !recorded->is_running)
			pack(job, recorded);
	}
}

static void sum_up(const struct allo_run_job *job, struct allo_process_summaries *processes)
{
	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const struct allo_recorded *recorded = &job->recordings.all.at[i];

		if (recorded->path && !recorded->is_running)
			summarize(job, recorded, processes);
	}
	allo_process_summaries_sort(processes);
}

void allo_run_report_recordings(struct allo_run_job *job)
{
	ALLO_DEFER(allo_process_summaries_done) struct allo_process_summaries processes = { 0 };
	struct allo_recorded *own;
	struct allo_error err = { 0 };

	if (!allo_recordings_read(&job->recordings, &err))
		allo_say_error(&err);
	allo_resident_sampler_end(&job->recordings, job->launch.pid, job->launch.peak_rss);
	own = own_recording(job);
	if (job->only_counts && own && !own->path) {
		if (!job->is_quiet) {
			tell_all_counts(job, own);
			tell_skipped(job);
		}
		return;
	}
	finish_files(job, own);
	if (job->is_quiet)
		return;
	sum_up(job, &processes);
	if (!own)
		tell_none(job, job->recordings.all.len > 0);
	tell_recordings(job, own != NULL, &processes);
	tell_skipped(job);
	tell_own_allocators(job);
	tell_failures(job);
	tell_next(job, &processes);
}
