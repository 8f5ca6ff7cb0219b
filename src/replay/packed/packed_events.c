/* packed_events.c - see packed_events.h. */
#include "replay/packed/packed_events.h"

#include "replay/packed/event_columns.h"
#include "replay/packed/packed_file.h"

#include <stdlib.h>

struct allo_packed_events {
	size_t next_chunk;
	size_t threads;
	struct allo_piece_bytes bytes;
	struct allo_column_reader reader; /* of the chunk at hand */
	struct allo_column_state state;
	struct allo_event_model *model; /* if a chunk needs one, or NULL */
};

struct allo_packed_events *allo_packed_events_new(const struct allo_recording *recording,
						  struct allo_error *err)
{
	struct allo_packed_events *events = calloc(1, sizeof(*events));

	if (!events || !allo_column_state_init(&events->state, recording->nodes.len, err)) {
		free(events);
		allo_fail_memory(err);
		return NULL;
	}
	events->threads = allo_recording_thread_count(recording);
	return events;
}

void allo_packed_events_free(struct allo_packed_events *events)
{
	if (!events)
		return;
	allo_piece_bytes_done(&events->bytes);
	allo_column_state_done(&events->state);
	allo_event_model_free(events->model);
	free(events);
}

/* What follows a chunk that is damaged or missing makes no sense without it. */
static void give_up(struct allo_packed_events *events, struct allo_recording *recording,
		    uint64_t damaged_at)
{
	size_t left = recording->event_chunks.len - events->next_chunk;

	allo_recording_damage(recording, damaged_at, 1);
	recording->lacks.unread_blocks += left;
	events->next_chunk += left;
	events->reader = (struct allo_column_reader){ 0 };
}

/* Sees to it that modelled events have a model; false where they cannot have one. */
static bool find_model(struct allo_packed_events *events, struct allo_error *err)
{
	size_t stacks = events->state.site_count;

	/* All events are, or none. */
	if (!events->reader.is_modelled)
		return !events->model;
	if (!events->model && (events->next_chunk > 1 || stacks > ALLO_MODEL_STACKS_MAX))
		return false;
	if (!events->model)
		events->model = allo_event_model_new(stacks);
	events->reader.model = events->model;
	return events->model || allo_fail_memory(err);
}

/* Goes on to the next chunk; false when there is none. */
static bool next_chunk(struct allo_packed_events *events, struct allo_recording *recording,
		       struct allo_error *err)
{
	const struct allo_event_chunk *chunk;
	size_t number = events->next_chunk;

	if (number == recording->event_chunks.len)
		return false;
	chunk = &recording->event_chunks.at[events->next_chunk++];
	if (chunk->sequence == number &&
	    allo_packed_load_events(recording, chunk, &events->bytes, &events->reader, err) &&
	    find_model(events, err))
		return true;
	if (!allo_failed(err))
		give_up(events, recording, chunk->offset);
	return false;
}

/* What the columns say of texts and labels in terms of the recording's tables. */
static void settle_notes(struct allo_event *events, size_t count,
			 const struct allo_recording *recording)
{
	for (size_t i = 0; i < count; i++) {
		if (events[i].kind >= ALLO_EVENT_LABELS)
			allo_event_settle(&events[i], recording);
	}
}

bool allo_packed_events_next(struct allo_packed_events *events, struct allo_recording *recording,
			     struct allo_event *room, struct allo_event_span *span, size_t *silent,
			     struct allo_error *err)
{
	for (;;) {
		uint64_t before = events->state.silent, notes = events->state.notes;
		size_t count = allo_columns_take(&events->reader, &events->state, room,
						 ALLO_EVENTS_AT_ONCE, events->threads);

		if (events->state.notes > notes)
			settle_notes(room, count, recording);
		if (events->model && allo_event_model_is_short(events->model))
			return allo_fail_memory(err);
		/* Events that come before the damage are sound. */
		if (events->reader.is_damaged)
			give_up(events, recording,
				recording->event_chunks.at[events->next_chunk - 1].offset);
		if (count > 0) {
			*span = (struct allo_event_span){ room, count };
			*silent = (size_t)(events->state.silent - before);
			return true;
		}
		if (!next_chunk(events, recording, err))
			return false;
	}
}
