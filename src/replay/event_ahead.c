#include "replay/event_ahead.h"

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
	pthread_t thread;

	pthread_mutex_t lock; /* protects the next fields */
	pthread_cond_t changed;
	size_t filled, emptied; /* number of batches since the start */
	bool is_over;           /* the last batch has been filled */
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

	pthread_mutex_lock(&ahead->lock);
	while (ahead->filled - ahead->emptied == BATCHES && !ahead->is_stopping)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	goes_on = !ahead->is_stopping;
	pthread_mutex_unlock(&ahead->lock);
	return goes_on;
}

static void *read_all(void *context)
{
	struct allo_event_ahead *ahead = context;
	bool has_more = true;

	while (has_more && wait_for_empty(ahead)) {
		has_more = fill(ahead, &ahead->batches[ahead->filled % BATCHES]);
		pthread_mutex_lock(&ahead->lock);
		ahead->filled++;
		ahead->is_over = !has_more;
		pthread_cond_signal(&ahead->changed);
		pthread_mutex_unlock(&ahead->lock);
	}
	return NULL;
}

struct allo_event_ahead *allo_event_ahead_start(struct allo_events *events, allo_events_read *read)
{
	struct allo_event_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->events = events;
	ahead->read = read;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	if (allo_thread_start(&ahead->thread, read_all, ahead))
		return ahead;
	free(ahead);
	return NULL;
}

/* The replaying thread. */

/* Returns the current batch and waits for the next; false at the end. */
static bool next_batch(struct allo_event_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->emptied += ahead->has_batch;
	ALLO_ASSERT(ahead->emptied <= ahead->filled && ahead->filled - ahead->emptied <= BATCHES);
	/* Waking the reading thread may take as long as reading a batch: not for each batch. */
	if (ahead->filled - ahead->emptied <= BATCHES / 2)
		pthread_cond_signal(&ahead->changed);
	while (ahead->filled == ahead->emptied && !ahead->is_over)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	ahead->has_batch = ahead->filled > ahead->emptied;
	pthread_mutex_unlock(&ahead->lock);
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
	pthread_mutex_lock(&ahead->lock);
	ahead->is_stopping = true;
	pthread_cond_signal(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
	free(ahead);
}
