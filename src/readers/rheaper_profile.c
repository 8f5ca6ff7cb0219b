/* rheaper_profile.c - see rheaper_profile.h. */
#include "readers/rheaper_profile.h"

#include "base/defer.h"
#include "profile/naming.h"
#include "readers/rheaper_replay.h"
#include "replay/heap_samples.h"

#include <stdlib.h>

struct making {
	struct allo_rheaper_files *files;
	const struct allo_rheaper_stacks *stacks;
	struct allo_profile *profile;
	struct allo_rheaper_replay replay;
	struct allo_heap heap;
	struct allo_outcomes outcomes;
	uint64_t retired; /* blocks, by another at their address */
	struct allo_pos first_retired;
};

static void making_free(struct making **making)
{
	if (*making) {
		allo_heap_done(&(*making)->heap);
		allo_rheaper_replay_close(&(*making)->replay);
	}
	free(*making);
}

/* What events have done that is worth a word. */
static void note_outcomes(struct making *making, const struct allo_event_span *span)
{
	for (size_t i = 0; i < span->count; i++) {
		unsigned flags = making->outcomes.at[i].flags;
		bool is_free = span->events[i].kind == ALLO_EVENT_FREE;

		if (is_free && !(flags & ALLO_OUTCOME_ENDED))
			allo_note(&making->profile->notes, ALLO_NOTE_UNSEEN_BLOCK,
				  allo_rheaper_event_pos(&making->replay, i));
		if (flags & ALLO_OUTCOME_RETIRED && making->retired++ == 0)
			making->first_retired = allo_rheaper_event_pos(&making->replay, i);
	}
}

static bool replay_all(struct making *making, struct allo_error *err)
{
	struct allo_notes *notes = &making->profile->notes;
	struct allo_event_span span;

	while (allo_rheaper_replay_next(&making->replay, &span, err)) {
		if (!allo_heap_apply_and_tell(&making->heap, &span, &making->outcomes, err))
			return false;
		note_outcomes(making, &span);
	}
	if (allo_failed(err))
		return false;
	allo_heap_end(&making->heap, making->replay.events.last_ns);
	/* Where the free came late, it is clear what became of the block. */
	allo_note_many(notes, ALLO_NOTE_REUSED_ADDRESS,
		       making->retired - making->heap.blocks.late_frees, making->first_retired);
	allo_note_many(notes, ALLO_NOTE_SATURATED, making->heap.blocks.overflows, ALLO_NOWHERE);
	allo_note_many(notes, ALLO_NOTE_SATURATED, making->heap.has_long_lifetimes, ALLO_NOWHERE);
	return true;
}

static bool add_samples(struct making *making, struct allo_error *err)
{
	struct allo_heap_told told = { 0 };

	if (!allo_heap_add_metrics(making->profile, &making->heap, ALLO_AT_NONE, err))
		return false;
	for (size_t i = 0; i < making->stacks->sites.len; i++) {
		if (!allo_heap_add_sample(making->profile, &making->heap, i, ALLO_AT_NONE,
					  making->stacks->sites.at[i], 0, &told, err))
			return false;
	}
	return true;
}

/* "events-ThreadId(7)" is of thread 7.  Ids are those of the files, from 1. */
static bool add_threads(struct making *making, struct allo_error *err)
{
	const struct allo_rheaper_list *list = &making->files->events;

	for (size_t i = 0; i < list->files.len; i++) {
		struct allo_text name = allo_basename(allo_text_of(list->files.at[i].name));
		struct allo_thread thread = { .tid = i + 1 };
		struct allo_text digits;

		allo_text_skip(&name, ALLO_TEXT("events-"));
		digits = name;
		allo_text_skip(&digits, ALLO_TEXT("ThreadId("));
		allo_text_take_u64(&digits, &thread.tid);
		thread.name = allo_profile_add_string(making->profile, name, err);
		if (allo_failed(err) ||
		    allo_profile_add_thread(making->profile, &thread, err) != i + 1)
			return false;
	}
	return true;
}

static bool set_meta(struct making *making, struct allo_error *err)
{
	struct allo_meta *meta = &making->profile->meta;

	meta->producer = allo_profile_add_string(making->profile, ALLO_TEXT("rheaper"), err);
	meta->start_ns = making->files->start_s * 1000000000;
	meta->clock = ALLO_CLOCK_NS;
	meta->duration = making->replay.events.last_ns;
	meta->peak_time = making->heap.blocks.peak_ns;
	meta->default_metric = allo_heap_default_metric(ALLO_AT_NONE);
	return !allo_failed(err);
}

bool allo_rheaper_profile(struct allo_rheaper_files *files, struct allo_rheaper_stacks *stacks,
			  struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(making_free) struct making *making = calloc(1, sizeof(*making));
	struct allo_rheaper_replay *replay;

	if (!making)
		return allo_fail_memory(err);
	replay = &making->replay;
	making->files = files;
	making->stacks = stacks;
	making->profile = profile;
	return allo_rheaper_stacks_read(stacks, files, profile, err) &&
	       allo_rheaper_replay_open(replay, files, stacks, &profile->notes, err) &&
	       allo_heap_init(&making->heap, &replay->shape, err) && replay_all(making, err) &&
	       add_threads(making, err) && add_samples(making, err) && set_meta(making, err);
}
