/* process_summary.c - see process_summary.h. */
#include "engine/live/process_summary.h"

#include "base/defer.h"
#include "replay/recording/recording.h"

#include <stdio.h>
#include <stdlib.h>

bool allo_process_summaries_add(struct allo_process_summaries *summaries, const char *path,
				const struct allo_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_process_summary summary = { .path = path };

	if (!allo_recording_open_file(&recording, path, progress, err) ||
	    !allo_recording_sum_up(&recording, &summary.totals, err))
		return false;
	snprintf(summary.program, sizeof(summary.program), "%.*s",
		 ALLO_TEXT_ARG(allo_recording_program_name(&recording)));
	summary.pid = recording.head.pid;
	summary.start_ns = recording.head.start_realtime_ns;
	allo_vec_add(&summaries->all, summary, err);
	return !allo_failed(err);
}

static bool is_same(const struct allo_process_summary *x, const struct allo_process_summary *y)
{
	return x->pid == y->pid && strcmp(x->program, y->program) == 0;
}

static int compare_starts(const void *a, const void *b)
{
	const struct allo_process_summary *x = a, *y = b;
	int order = strcmp(x->program, y->program);

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Of recordings that are sorted by name, pid and start. */
static void number_them(struct allo_process_summaries *summaries)
{
	struct allo_process_summary *at = summaries->all.at;

	for (size_t i = 0; i < summaries->all.len; i++) {
		at[i].number = 0;
		if (i == 0 || !is_same(&at[i - 1], &at[i]))
			continue;
		if (at[i - 1].number == 0)
			at[i - 1].number = 1;
		at[i].number = at[i - 1].number + 1;
	}
}

const char *allo_process_summary_name(const struct allo_process_summary *process,
				      char out[ALLO_PROCESS_NAME_SIZE])
{
	static const char *const words[] = { "", ", first program", ", second program",
					     ", third program" };
	enum { WORDS = sizeof(words) / sizeof(*words) };
	char number[32] = "";

	if (process->number >= WORDS)
		snprintf(number, sizeof(number), ", program %u", process->number);
	snprintf(out, ALLO_PROCESS_NAME_SIZE, "%s (%u)%s", process->program, process->pid,
		 process->number < WORDS ? words[process->number] : number);
	return out;
}

static int compare(const void *a, const void *b)
{
	const struct allo_process_summary *x = a, *y = b;

	if (x->totals.peak_bytes != y->totals.peak_bytes)
		return x->totals.peak_bytes > y->totals.peak_bytes ? -1 : 1;
	return strcmp(x->path, y->path);
}

void allo_process_summaries_sort(struct allo_process_summaries *summaries)
{
	struct allo_process_summary *at = summaries->all.at;

	if (summaries->all.len == 0)
		return;
	qsort(at, summaries->all.len, sizeof(*at), compare_starts);
	number_them(summaries);
	qsort(at, summaries->all.len, sizeof(*at), compare);
}

void allo_process_summaries_done(struct allo_process_summaries *summaries)
{
	allo_vec_done(&summaries->all);
}
