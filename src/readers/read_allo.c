/*
 * read_allo.c - our own recordings, raw or packed: every allocation and free, replayed.
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
	.title = "recordings that Allotrope has made",
	.about =
		"What Allotrope records of a program, while it still runs, as it is left when the "
		"program is killed, and packed. All events are replayed in the order of their "
		"time: alloc_blocks and alloc_bytes are all that was allocated (a realloc counts "
		"with its new size); peak_blocks and peak_bytes what was live when the program "
		"held most, exactly; end_blocks and end_bytes what was never freed; max_blocks "
		"and max_bytes what each stack held at its own fullest moment; lifetime how long "
		"blocks lived; temporary_blocks what its thread freed before it allocated again. "
		"Labels that the program has given are labels of the samples; events of its own are "
		"counted in events, and what they weigh in units. "
		"Frames have addresses and modules; commands that show or write them take names, "
		"lines and inlined calls from the symbols and the debug information of these "
		"programs and libraries, if they are still the ones that were recorded; 'allo "
		"symbolize' stores them in the recording. Any part "
		"of a recording from its start can be read; "
		"'allo verify' says what lacks.",
	.probe = probe_allo,
	.read = read_allo,
	.is_binary = true,
	.has_rows = true,
	.has_addresses = true,
	.has_views = true,
};
