#include "replay/events/event_ahead.h"

#include "base/assert.h"
#include "base/threads.h"

#include <stdlib.h>

enum {
	BATCHES =
		24, /* a few milliseconds: the reading thread may wait that long for a processor */
	BATCH_SPANS = 16,
	BATCH_EVENTS = BATCH_SPANS * ALLO_EVENTS_AT_ONCE, /* 160 KiB, about 100 microseconds */
};

struct batch {
	size_t spans;
	size_t counts[BATCH_SPANS], silent[BATCH_SPANS];
	struct allo_event events[BATCH_EVENTS]; /* of all spans, without gaps */
};

struct allo_event_ahead {
	struct allo_events *events;
	allo_events_read *read;
	struct allo_running_thread *thread;

	struct allo_monitor *monitor; /* protects the next fields */
	size_t filled, emptied;       /* number of batches since the start */
	bool is_over;                 /* the last batch has been filled */
	bool is_stopping;

	struct allo_error err; /* the cause of the end; owned by the reading thread until is_over */

	/* Of the replaying thread. */
	size_t span, first; /* in the current batch: the next span, and its first event */
	bool has_batch;
	struct batch batches[BATCHES];
};

/* The reading thread. */

static bool fill(struct allo_event_ahead *ahead, struct batch *batch)
{
	struct allo_event_span span;
	size_t count = 0;

	for (batch->spans = 0; batch->spans < BATCH_SPANS; batch->spans++) {
		ahead->events->room = &batch->events[count];
		if (!ahead->read(ahead->events, &span, &batch->silent[batch->spans], &ahead->err))
			return false;
		if (span.events != &batch->events[count])
			memcpy(&batch->events[count], span.events,
			       span.count * sizeof(*span.events));
		batch->counts[batch->spans] = span.count;
		count += span.count;
		ALLO_ASSERT(count <= BATCH_EVENTS);
	}
	return true;
}

/* Waits for an empty batch; false if the thread must stop. */
static bool wait_for_empty(struct allo_event_ahead *ahead)
{
	bool goes_on;

	allo_monitor_enter(ahead->monitor);
	while (ahead->filled - ahead->emptied == BATCHES && !ahead->is_stopping)
		allo_monitor_wait(ahead->monitor);
	goes_on = !ahead->is_stopping;
	allo_monitor_leave(ahead->monitor);
	return goes_on;
}

static void *read_all(void *context)
{
	struct allo_event_ahead *ahead = context;
	bool has_more = true;

	while (has_more && wait_for_empty(ahead)) {
		has_more = fill(ahead, &ahead->batches[ahead->filled % BATCHES]);
		allo_monitor_enter(ahead->monitor);
		ahead->filled++;
		ahead->is_over = !has_more;
		allo_monitor_wake(ahead->monitor);
		allo_monitor_leave(ahead->monitor);
	}
	return NULL;
}

static void free_ahead(struct allo_event_ahead *ahead)
{
	allo_monitor_free(ahead->monitor);
	free(ahead);
}

struct allo_event_ahead *allo_event_ahead_start(struct allo_events *events, allo_events_read *read)
{
	struct allo_event_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->events = events;
	ahead->read = read;
	ahead->monitor = allo_monitor_new();
	if (ahead->monitor)
		ahead->thread = allo_thread_start(read_all, ahead);
	if (ahead->thread)
		return ahead;
	free_ahead(ahead);
	return NULL;
}

/* The replaying thread. */

/* Returns the current batch and waits for the next; false at the end. */
static bool next_batch(struct allo_event_ahead *ahead)
{
	allo_monitor_enter(ahead->monitor);
	ahead->emptied += ahead->has_batch;
	ALLO_ASSERT(ahead->emptied <= ahead->filled && ahead->filled - ahead->emptied <= BATCHES);
	/* Waking the reading thread may take as long as reading a batch: not for each batch. */
	if (ahead->filled - ahead->emptied <= BATCHES / 2)
		allo_monitor_wake(ahead->monitor);
	while (ahead->filled == ahead->emptied && !ahead->is_over)
		allo_monitor_wait(ahead->monitor);
	ahead->has_batch = ahead->filled > ahead->emptied;
	allo_monitor_leave(ahead->monitor);
	ahead->span = ahead->first = 0;
	return ahead->has_batch;
}

bool allo_event_ahead_next(struct allo_event_ahead *ahead, struct allo_event_span *span,
			   size_t *silent, struct allo_error *err)
{
	const struct batch *batch = &ahead->batches[ahead->emptied % BATCHES];

	while (!ahead->has_batch || ahead->span == batch->spans) {
		if (!next_batch(ahead)) {
			if (allo_failed(&ahead->err))
				*err = ahead->err;
			return false;
		}
		batch = &ahead->batches[ahead->emptied % BATCHES];
	}
	ALLO_ASSERT(ahead->span < batch->spans && ahead->first < BATCH_EVENTS);
	*span = (struct allo_event_span){ &batch->events[ahead->first],
					  batch->counts[ahead->span] };
	*silent = batch->silent[ahead->span++];
	ahead->first += span->count;
	return true;
}

void allo_event_ahead_stop(struct allo_event_ahead *ahead)
{
	if (!ahead)
		return;
	allo_monitor_enter(ahead->monitor);
	ahead->is_stopping = true;
	allo_monitor_wake(ahead->monitor);
	allo_monitor_leave(ahead->monitor);
	allo_thread_join(ahead->thread);
	free_ahead(ahead);
}
