/* opened.c - see opened.h. */
#include "cli/opened.h"

#include "replay/recording_profile.h"
#include "writers/writers.h"

#include <stdio.h>

static bool open_input(struct allo_opened *opened, const struct allo_common *common,
		       const char *file, struct allo_error *err)
{
	const struct allo_progress *progress = NULL;

	allo_progress_bar_init(&opened->bar, file);
	opened->has_bar = true;
	if (opened->bar.is_on && !common->quiet)
		progress = &opened->bar.progress;
	opened->is_open = allo_input_open(&opened->in, file, progress, err);
	return opened->is_open;
}

static bool open_recording(struct allo_opened *opened, const struct allo_common *common,
			   struct allo_error *err)
{
	struct allo_replay replay;
	struct allo_view view;

	if (!allo_common_view(common, &view, err) ||
	    !allo_recording_open(&opened->recording, &opened->in, err) ||
	    !allo_view_resolve(&view, &opened->recording, &replay, err))
		return false;
	opened->recording.leaves_addresses = common->no_symbols;
	opened->window = replay.window;
	opened->keeps_first = replay.keeps_first;
	opened->has_moment = view.at != ALLO_AT_NONE;
	return !opened->has_moment || allo_instant_of_view(&opened->moment, &opened->recording,
							   view.at, &opened->window, err);
}

bool allo_opened_open(struct allo_opened *opened, const struct allo_common *common,
		      const char *file, struct allo_error *err)
{
	if (!open_input(opened, common, file, err))
		return false;
	opened->is_recording = (!common->from || strcmp(common->from, "allo") == 0) &&
			       allo_recording_probe((struct allo_text){
				       opened->in.next, allo_input_unread(&opened->in) });
	return !opened->is_recording || open_recording(opened, common, err);
}

bool allo_opened_open_recording(struct allo_opened *opened, const struct allo_common *common,
				const char *file, const char *what, struct allo_error *err)
{
	opened->is_recording = true;
	if (open_input(opened, common, file, err) && open_recording(opened, common, err))
		return true;
	if (err->code == ALLO_FORMAT)
		allo_hint(err, "only recordings have %s, which 'allo run PROGRAM' makes", what);
	return false;
}

bool allo_opened_read(struct allo_opened *opened, const struct allo_common *common,
		      struct allo_profile *profile, struct allo_error *err)
{
	struct allo_view view;
	struct allo_read_options options = { .from = common->from,
					     .view = &view,
					     .explain_unknown = allo_writer_explain_unknown };
	bool ok = allo_common_view(common, &view, err) &&
		  allo_read_input(&opened->in, &options, profile, err);

	allo_opened_end_bar(opened);
	return ok;
}

void allo_opened_end_bar(struct allo_opened *opened)
{
	if (opened->has_bar)
		allo_progress_bar_done(&opened->bar);
	opened->has_bar = false;
}

void allo_opened_close(struct allo_opened *opened)
{
	allo_opened_end_bar(opened);
	allo_recording_close(&opened->recording);
	if (opened->is_open)
		allo_input_close(&opened->in);
	opened->is_open = false;
}

void allo_tell_lacks(const struct allo_recording *recording, const struct allo_common *common)
{
	const struct allo_gaps *gaps = &recording->gaps;

	if (!common->quiet && (gaps->is_cut || gaps->missing_pages || gaps->missing_streams ||
			       gaps->damaged_pages || gaps->unread_pages || gaps->dropped_events))
		allo_say_note("not all events are there; 'allo verify' says what lacks");
}

const char *allo_format_thread(const struct allo_recording *recording, uint32_t stream,
			       char out[ALLO_THREAD_NAME_SIZE])
{
	const struct allo_stream *thread;

	if (stream >= recording->streams.len)
		return strcpy(out, "-");
	thread = &recording->streams.at[stream];
	snprintf(out, ALLO_THREAD_NAME_SIZE, "%u%s%.*s", thread->thread,
		 thread->name.len > 0 ? " " : "",
		 (int)(thread->name.len < 16 ? thread->name.len : 16),
		 thread->name.data ? thread->name.data : "");
	return out;
}
