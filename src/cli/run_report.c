/* run_report.c - see run_report.h. */
#include "cli/run_report.h"

#include "base/defer.h"
#include "base/units.h"
#include "cli/quote.h"
#include "cli/show_recording.h"
#include "replay/packed/pack_recording.h"
#include "replay/recording.h"
#include "replay/summary.h"
#include "report/messages.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Recordings of further processes that are told of one by one. */
enum { TOLD_MOST = 4 };

static const char *format_ns(uint64_t ns, char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS, false, out);
}

void allo_run_report_end(const struct allo_run_report *report)
{
	int status = report->launch->status;
	char time[ALLO_NUMBER_SIZE];

	if (report->is_quiet)
		return;
	format_ns(report->launch->ns, time);
	if (WIFSIGNALED(status)) {
		const char *name = sigabbrev_np(WTERMSIG(status));

		allo_say("%s died of signal %d (%s%s) after %s", report->name, WTERMSIG(status),
			 name ? "SIG" : "", name ? name : "real-time", time);
	} else {
		allo_say("%s exited with status %d after %s", report->name, WEXITSTATUS(status),
			 time);
	}
}

/* A path as the user may type it: relative where it is below the current directory. */
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
	struct stat status;

	return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
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

/* Makes it with a progress bar; what goes wrong is said, and is no reason to stop. */
static bool pass_with_bar(const struct allo_run_report *report, const struct pass *pass)
{
	struct allo_error err = { 0 };
	struct allo_progress_bar bar;
	bool ok;

	allo_progress_bar_init(&bar, pass->summary ? "adding up" : "packing");
	ok = make_pass(pass, bar.is_on && !report->is_quiet ? &bar.progress : NULL, &err);
	allo_progress_bar_done(&bar);
	if (!ok) {
		if (!pass->summary)
			allo_hint(&err, "the recording is left as it was written: %s",
				  shown(pass->path));
		allo_say_error(&err);
	}
	return ok;
}

static void pack(const struct allo_run_report *report, const struct allo_recorded *recording)
{
	if (!report->keeps_raw)
		pass_with_bar(report, &(struct pass){ .path = recording->path });
}

static bool summarize(const struct allo_run_report *report, const struct allo_recorded *recording,
		      struct allo_summary *summary)
{
	*summary = (struct allo_summary){ 0 };
	return pass_with_bar(report, &(struct pass){ .path = recording->path, .summary = summary });
}

/* Why it ends before the program does, or has less in it than there was. */
static void tell_end(const struct allo_summary *summary)
{
	static const char *const ends[] = {
		[ALLO_END_STOPPED] = "the recording ends before the program: its time was over, or "
				     "it was stopped",
		[ALLO_END_FULL] = "the recording ends before the program: it reached --max-file",
		[ALLO_END_DISK] = "the recording ends before the program: the disk took no more",
		[ALLO_END_LOST] = "the recording ends before the program, which closed its file",
		[ALLO_END_INTERNAL] = "the recording ends before the program: the library in it "
				      "gave up",
	};
	unsigned end = summary->end;

	if (end < sizeof(ends) / sizeof(*ends) && ends[end])
		allo_say_note("%s", ends[end]);
}

static void tell_nothing(const struct allo_run_report *report, const struct allo_summary *summary)
{
	if (summary->allocations > 0)
		return;
	if (allo_summary_is_estimated(summary))
		allo_say_note(
			"nothing that %s has allocated was sampled: a lower --rate finds more",
			report->name);
	else /* what was not to be recorded may still be freed */
		allo_say_note("%s made no allocation that was to be recorded: see --min-size and "
			      "--track",
			      report->name);
}

/* What may be an estimate. */
static const char *format(const struct allo_summary *summary, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	struct allo_number number = { .magnitude = value,
				      .is_estimated = allo_summary_is_estimated(summary) };

	return allo_format(number, unit, false, out);
}

/* What there was beside what was recorded. */
static void tell_sampling(const struct allo_summary *summary)
{
	char sampled[ALLO_SAMPLED_SIZE], seen[ALLO_SEEN_SIZE];

	if (!allo_summary_is_estimated(summary))
		return;
	allo_show_sampled(&summary->sampling, sampled);
	allo_show_seen(&summary->sampling, false, seen);
	allo_say("sampled: %s%s%s", sampled, seen[0] ? "; " : "", seen);
}

static void tell_summary(const struct allo_run_report *report, const struct allo_summary *summary)
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
	tell_end(summary);
	tell_nothing(report, summary);
}

static void tell_running(const struct allo_recorded *recording)
{
	allo_say("process %d still runs and writes to %s", (int)recording->pid,
		 shown(recording->path));
}

static void tell_main(const struct allo_run_report *report, const struct allo_recorded *recording)
{
	struct allo_summary summary;
	char size[ALLO_NUMBER_SIZE];

	if (recording->is_running) {
		tell_running(recording);
		return;
	}
	pack(report, recording);
	if (report->is_quiet)
		return;
	if (summarize(report, recording, &summary))
		tell_summary(report, &summary);
	allo_say("wrote %s (%s)", shown(recording->path),
		 allo_format_bytes(file_size(recording->path), size));
}

static void tell_other(const struct allo_run_report *report, const struct allo_recorded *recording)
{
	char size[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE], peak[ALLO_NUMBER_SIZE];
	struct allo_summary summary;

	if (summarize(report, recording, &summary))
		allo_say("wrote %s (%s): %s allocation%s, peak %s", shown(recording->path),
			 allo_format_bytes(file_size(recording->path), size),
			 format(&summary, summary.allocations, ALLO_UNIT_COUNT, count),
			 summary.allocations == 1 ? "" : "s",
			 format(&summary, summary.peak_bytes, ALLO_UNIT_BYTES, peak));
}

/* All recordings but the program's own. */
static void tell_others(const struct allo_run_report *report, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE], size[ALLO_NUMBER_SIZE];
	uint64_t told = 0, more = 0, more_bytes = 0;

	for (size_t i = 0; i < report->recordings->all.len; i++) {
		const struct allo_recorded *other = &report->recordings->all.at[i];

		if (other == own || !other->path)
			continue;
		if (!other->is_running)
			pack(report, other);
		if (report->is_quiet)
			continue;
		if (told++ >= TOLD_MOST) {
			more++;
			more_bytes += file_size(other->path);
		} else if (other->is_running) {
			tell_running(other);
		} else {
			tell_other(report, other);
		}
	}
	if (more > 0)
		allo_say("and %s more (%s)", allo_format_count(more, count),
			 allo_format_bytes(more_bytes, size));
}

static void tell_next(const struct allo_recorded *recording)
{
	ALLO_DEFER(allo_free_pointer) char *file = allo_shell_quote(shown(recording->path));

	if (!file)
		return;
	fputc('\n', stderr);
	allo_say_advice("allo summary %s   read this first", file);
	allo_say_advice("allo tree %s      on whose behalf memory is held", file);
}

/* Statistics. */

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

/* Of each process; `own` is the one that was started. */
static void tell_process_counts(const struct allo_recorded *process, bool is_own)
{
	char whose[40] = "";

	if (!is_own)
		snprintf(whose, sizeof(whose), "process %d: ", (int)process->pid);
	if (process->has_counted)
		tell_counts(&process->counted, whose);
	else if (process->is_running)
		allo_say("process %d still runs, and counts", (int)process->pid);
	else
		allo_say("process %d ended without exit(): what it counted is not known",
			 (int)process->pid);
}

static void tell_all_counts(const struct allo_run_report *report, const struct allo_recorded *own)
{
	char count[ALLO_NUMBER_SIZE];
	uint64_t told = 0, more = 0;

	if (report->is_quiet)
		return;
	if (own)
		tell_process_counts(own, true);
	for (size_t i = 0; i < report->recordings->all.len; i++) {
		if (&report->recordings->all.at[i] == own)
			continue;
		if (told++ < TOLD_MOST)
			tell_process_counts(&report->recordings->all.at[i], false);
		else
			more++;
	}
	if (more > 0)
		allo_say("and %s more process%s", allo_format_count(more, count),
			 more == 1 ? "" : "es");
}

/* The last one of the process that we started: env(1), say, executes another program.  Between two
 * recordings somebody may have had it count, which left nothing. */
static struct allo_recorded *own_recording(const struct allo_run_report *report)
{
	for (size_t i = report->recordings->all.len; i > 0; i--) {
		struct allo_recorded *recorded = &report->recordings->all.at[i - 1];

		if (recorded->pid == report->launch->pid && (recorded->path || report->only_counts))
			return recorded;
	}
	return NULL;
}

/* Whether somebody has stopped it, so that it was not another program that came after it. */
static bool was_stopped(const struct allo_recorded *recorded)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	return allo_recording_open_file(&recording, recorded->path, NULL, &err) &&
	       recording.head.end == ALLO_END_STOPPED;
}

/* The name that was asked for went to the process's first program: it is the last one's. */
static void claim_output(const struct allo_run_report *report, struct allo_recorded *own)
{
	struct allo_recorded *first = report->recordings->all.at;
	const char *path = own->path;

	if (!report->output || own->is_running || !first->path ||
	    strcmp(first->path, report->output) != 0 || first->pid != own->pid || first == own ||
	    was_stopped(first))
		return;
	if (renameat2(AT_FDCWD, first->path, AT_FDCWD, own->path, RENAME_EXCHANGE) == 0) {
		own->path = first->path;
		first->path = path;
	}
}

static void tell_none(const struct allo_run_report *report)
{
	if (report->is_quiet)
		return;
	if (report->is_dormant) {
		allo_say("nothing was recorded: nobody has said 'allo start'");
		return;
	}
	if (report->launch->ns < report->delay_ns) {
		allo_say("nothing was recorded: %s ended before --delay was over", report->name);
		return;
	}
	if (report->defines_malloc) {
		allo_say("nothing was recorded: %s has an allocator of its own, which the library "
			 "does not see",
			 report->name);
		allo_say_advice("hint: link it with the C library's, or with a shared one");
		return;
	}
	allo_say("nothing was recorded: %s made no allocation that the library sees", report->name);
	allo_say_advice("hint: if it does allocate, it may have gone on by exec as a program that "
			"takes no library");
}

void allo_run_report_recordings(const struct allo_run_report *report)
{
	struct allo_recorded *own;
	struct allo_error err = { 0 };

	if (!allo_recordings_read(report->recordings, &err))
		allo_say_error(&err);
	own = own_recording(report);
	if (report->only_counts && own && !own->path) {
		tell_all_counts(report, own);
		return;
	}
	if (own) {
		claim_output(report, own);
		tell_main(report, own);
	} else {
		tell_none(report);
	}
	tell_others(report, own);
	if (own && !own->is_running && !report->is_quiet)
		tell_next(own);
}
