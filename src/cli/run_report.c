/* run_report.c - after the program has ended: packs its recordings and prints a summary. */
#include "cli/run_report.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/units.h"
#include "cli/quote.h"
#include "cli/show_coverage.h"
#include "cli/show_losses.h"
#include "cli/show_recording.h"
#include "replay/packed/pack_recording.h"
#include "replay/recording.h"
#include "replay/summary.h"
#include "report/messages.h"
#include "run/resident_sampler.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_LISTED = 4 }; /* child processes that get a line each */

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
static bool pass_with_bar(const struct allo_run_job *job, const struct pass *pass)
{
	struct allo_error err = { 0 };
	struct allo_progress_bar bar;
	bool ok;

	allo_progress_bar_init(&bar, pass->summary ? "adding up" : "packing");
	ok = make_pass(pass, bar.is_on && !job->is_quiet ? &bar.progress : NULL, &err);
	allo_progress_bar_done(&bar);
	if (!ok) {
		if (!pass->summary)
			allo_hint(&err, "the recording stays unpacked: %s", shown(pass->path));
		allo_say_error(&err);
	}
	return ok;
}

static void pack(const struct allo_run_job *job, const struct allo_recorded *recording)
{
	if (job->stays_raw)
		allo_recordings_cut_hole(recording->path);
	else
		pass_with_bar(job, &(struct pass){ .path = recording->path });
}

static bool summarize(const struct allo_run_job *job, const struct allo_recorded *recording,
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
	char sampled[ALLO_SAMPLED_SIZE], seen[ALLO_SEEN_SIZE];

	if (!allo_summary_is_estimated(summary))
		return;
	allo_show_sampled(&summary->sampling, sampled);
	allo_show_seen(&summary->sampling, false, seen);
	allo_say("sampled: %s%s%s", sampled, seen[0] ? "; " : "", seen);
}

static void tell_coverage(const struct allo_summary *summary)
{
	char coverage[ALLO_COVERAGE_SIZE];

	if (allo_show_coverage(summary, false, coverage)[0])
		allo_say("%s", coverage);
}

static void tell_summary(const struct allo_run_job *job, const struct allo_summary *summary)
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
	tell_coverage(summary);
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

static void tell_main(const struct allo_run_job *job, const struct allo_recorded *recording)
{
	struct allo_summary summary;
	char size[ALLO_NUMBER_SIZE];

	if (recording->is_running) {
		tell_running(recording);
		return;
	}
	pack(job, recording);
	if (job->is_quiet)
		return;
	if (!summarize(job, recording, &summary))
		return;
	tell_summary(job, &summary);
	allo_say("wrote %s (%s)", shown(recording->path),
		 allo_format_bytes(file_size(recording->path), size));
}

static void tell_other(const struct allo_run_job *job, const struct allo_recorded *recording)
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
static void tell_others(const struct allo_run_job *job, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE], size[ALLO_NUMBER_SIZE];
	uint64_t listed = 0, more = 0, more_bytes = 0;

	for (size_t i = 0; i < job->recordings.all.len; i++) {
		const struct allo_recorded *other = &job->recordings.all.at[i];

		if (other == own || !other->path)
			continue;
		if (!other->is_running)
			pack(job, other);
		if (job->is_quiet)
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
static void tell_skipped(const struct allo_run_job *job)
{
	char count[ALLO_NUMBER_SIZE], times[ALLO_NUMBER_SIZE + 16];
	size_t len = job->recordings.skipped.len;

	if (job->is_quiet)
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

static void tell_all_counts(const struct allo_run_job *job, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE];
	uint64_t listed = 0, more = 0;

	if (job->is_quiet)
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
static struct allo_recorded *own_recording(const struct allo_run_job *job)
{
	for (size_t i = job->recordings.all.len; i > 0; i--) {
		struct allo_recorded *recorded = &job->recordings.all.at[i - 1];

		if (recorded->pid == job->launch.pid && (recorded->path || job->only_counts))
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
static void claim_output(const struct allo_run_job *job, struct allo_recorded *own)
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

static void tell_none(const struct allo_run_job *job)
{
	if (job->is_quiet || job->recordings.failures.len > 0)
		return;
	if (job->is_dormant) {
		allo_say("nothing was recorded: 'allo start' was not used");
		return;
	}
	if (job->launch.ns < job->delay_ns) {
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

void allo_run_report_recordings(struct allo_run_job *job)
{
	struct allo_recorded *own;
	struct allo_error err = { 0 };

	if (!allo_recordings_read(&job->recordings, &err))
		allo_say_error(&err);
	allo_resident_sampler_end(&job->recordings, job->launch.pid, job->launch.peak_rss);
	own = own_recording(job);
	if (job->only_counts && own && !own->path) {
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
	if (!job->is_quiet)
		tell_failures(job);
	if (own && !own->is_running && !job->is_quiet)
		tell_next(own);
}
