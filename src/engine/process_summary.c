/* process_summary.c - see process_summary.h. */
#include "engine/process_summary.h"

#include "base/defer.h"
#include "replay/recording.h"

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
	allo_vec_add(&summaries->all, summary, err);
	return !allo_failed(err);
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
	if (summaries->all.len > 0)
		qsort(summaries->all.at, summaries->all.len, sizeof(*summaries->all.at), compare);
}

void allo_process_summaries_done(struct allo_process_summaries *summaries)
{
	allo_vec_done(&summaries->all);
}
