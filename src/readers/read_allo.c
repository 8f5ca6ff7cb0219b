/*
 * read_allo.c - Allotrope's own recordings, raw or packed: replays every allocation and free.
 */
#include "base/defer.h"
#include "readers/reader.h"
#include "replay/recording_profile.h"

static bool read_allo(struct allo_input *in, const struct allo_read_options *options,
		      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_timeline_done)
	struct allo_timeline timeline = { .most = ALLO_HISTORY_STEPS };
	struct allo_replay replay = { 0 };
	bool wants_history;

	if (!allo_recording_open(&recording, in, err) ||
	    (options->view && !allo_view_resolve(options->view, &recording, &replay, err)))
		return false;
	recording.leaves_addresses = options->leaves_addresses;
	replay.by_thread = options->by_thread;
	wants_history = options->wants_history && recording.head.sampling.mode != ALLO_MODE_AD_HOC;
	replay.timeline = wants_history ? &timeline : NULL;
	return allo_profile_from_recording(profile, &recording, &replay, NULL, err) &&
	       (!wants_history || allo_timeline_add_history(&timeline, profile, err));
}

static enum allo_guess probe_allo(struct allo_text head)
{
	return allo_recording_probe(head) ? ALLO_SURE : ALLO_NO;
}

const struct allo_reader allo_read_allo = {
	.name = "allo",
	.title = "recordings of 'allo run'",
	.about = "Recordings that Allotrope makes: of a running program, of a program that "
		 "was killed, and packed ones. All events are replayed in time order. "
		 "alloc_blocks and alloc_bytes count everything that was allocated (a "
		 "realloc counts with its new size); peak_blocks and peak_bytes count what "
		 "was live at the program's peak, exactly; end_blocks and end_bytes what "
		 "was never freed; max_blocks and max_bytes the largest amount that each "
		 "stack held at any time; lifetime adds up how long blocks lived; "
		 "temporary_blocks counts blocks that their thread freed before it "
		 "allocated again. Labels that the program set become labels of the "
		 "samples; its own events are counted in events, and their weights in "
		 "units.\n\n"
		 "Frames have addresses and modules. Commands that show or write them add "
		 "names, lines and inlined calls from the symbols and debug information of "
		 "the recorded programs and libraries, provided these files have not "
		 "changed; 'allo symbolize' stores the names in the recording. Any part of "
		 "a recording can be read; 'allo verify' reports what is missing.",
	.probe = probe_allo,
	.read = read_allo,
	.is_binary = true,
	.has_rows = true,
	.has_addresses = true,
	.has_views = true,
};
