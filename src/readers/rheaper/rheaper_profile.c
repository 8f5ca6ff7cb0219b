/* rheaper_profile.c - replays all events on a heap and adds its sums to a profile. */
#include "readers/rheaper/rheaper_profile.h"

#include "base/defer.h"
#include "profile/naming.h"
#include "readers/rheaper/rheaper_events.h"
#include "replay/heap_samples.h"

#include <stdlib.h>

struct builder {
	struct allo_rheaper_files *files;
	const struct allo_rheaper_stacks *stacks;
	struct allo_profile *profile;
	struct allo_rheaper_events events;
	struct allo_heap heap;
	struct allo_outcomes outcomes;
	uint64_t retired; /* blocks ended by an allocation at their address */
	struct allo_pos first_retired;
};

static void builder_free(struct builder **builder)
{
	if (*builder) {
		allo_heap_done(&(*builder)->heap);
		allo_rheaper_events_close(&(*builder)->events);
	}
	free(*builder);
}

/* Notes frees of unknown blocks and blocks that were ended by another. */
static void note_outcomes(struct builder *builder, const struct allo_event_span *span)
{
	for (size_t i = 0; i < span->count; i++) {
		unsigned flags = builder->outcomes.at[i].flags;
		bool is_free = span->events[i].kind == ALLO_EVENT_FREE;

		if (is_free && !(flags & ALLO_OUTCOME_ENDED))
			allo_note(&builder->profile->notes, ALLO_NOTE_UNSEEN_BLOCK,
				  allo_rheaper_event_pos(&builder->events, i));
		if (flags & ALLO_OUTCOME_RETIRED && builder->retired++ == 0)
			builder->first_retired = allo_rheaper_event_pos(&builder->events, i);
	}
}

static bool replay_all(struct builder *builder, struct allo_error *err)
{
	struct allo_notes *notes = &builder->profile->notes;
	struct allo_event_span span;

	while (allo_rheaper_events_next(&builder->events, &span, err)) {
		if (!allo_heap_apply_with_outcomes(&builder->heap, &span, &builder->outcomes, err))
			return false;
		note_outcomes(builder, &span);
	}
	if (allo_failed(err))
		return false;
	allo_heap_end(&builder->heap, builder->events.last_ns);
	/* If the free came late, the block's end is known after all. */
	allo_note_many(notes, ALLO_NOTE_REUSED_ADDRESS,
		       builder->retired - builder->heap.blocks.late_frees, builder->first_retired);
	allo_note_many(notes, ALLO_NOTE_SATURATED, builder->heap.blocks.overflows, ALLO_NOWHERE);
	allo_note_many(notes, ALLO_NOTE_SATURATED, builder->heap.has_long_lifetimes, ALLO_NOWHERE);
	return true;
}

static bool add_samples(struct builder *builder, struct allo_error *err)
{
	struct allo_heap_sums sums = { 0 };

	if (!allo_heap_add_metrics(builder->profile, &builder->heap, ALLO_AT_NONE, err))
		return false;
	for (size_t i = 0; i < builder->stacks->sites.len; i++) {
		if (!allo_heap_add_sample(builder->profile, &builder->heap, i, ALLO_AT_NONE,
					  builder->stacks->sites.at[i], 0, &sums, err))
			return false;
	}
	return true;
}

/* "events-ThreadId(7)" belongs to thread 7.  Thread ids are the numbers of the files, from 1. */
static bool add_threads(struct builder *builder, struct allo_error *err)
{
	const struct allo_rheaper_list *list = &builder->files->events;

	for (size_t i = 0; i < list->files.len; i++) {
		struct allo_text name = allo_basename(allo_text_of(list->files.at[i].name));
		struct allo_thread thread = { .tid = i + 1 };
		struct allo_text digits;

		allo_text_skip(&name, ALLO_TEXT("events-"));
		digits = name;
		allo_text_skip(&digits, ALLO_TEXT("ThreadId("));
		allo_text_take_u64(&digits, &thread.tid);
		thread.name = allo_profile_add_string(builder->profile, name, err);
		if (allo_failed(err) ||
		    allo_profile_add_thread(builder->profile, &thread, err) != i + 1)
			return false;
	}
	return true;
}

static bool set_meta(struct builder *builder, struct allo_error *err)
{
	struct allo_meta *meta = &builder->profile->meta;

	meta->producer = allo_profile_add_string(builder->profile, ALLO_TEXT("rheaper"), err);
	meta->start_ns = builder->files->start_s * 1000000000;
	meta->clock = ALLO_CLOCK_NS;
	meta->duration = builder->events.last_ns;
	meta->peak_time = builder->heap.blocks.peak_ns;
	meta->default_metric = allo_heap_default_metric(ALLO_AT_NONE);
	return !allo_failed(err);
}

bool allo_rheaper_profile(struct allo_rheaper_files *files, struct allo_rheaper_stacks *stacks,
			  struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(builder_free) struct builder *builder = calloc(1, sizeof(*builder));
	struct allo_rheaper_events *events;

	if (!builder)
		return allo_fail_memory(err);
	events = &builder->events;
	builder->files = files;
	builder->stacks = stacks;
	builder->profile = profile;
	return allo_rheaper_stacks_read(stacks, files, profile, err) &&
	       allo_rheaper_events_open(events, files, stacks, &profile->notes, err) &&
	       allo_heap_init(&builder->heap, &events->shape, err) && replay_all(builder, err) &&
	       add_threads(builder, err) && add_samples(builder, err) && set_meta(builder, err);
}
