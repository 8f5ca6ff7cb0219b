/* event_ahead.c - see event_ahead.h. */
#include "replay/event_ahead.h"

#include "base/threads.h"

#include <stdlib.h>

enum {
	BLOCKS = 24, /* some milliseconds: who reads may have to wait for a core as long */
	BLOCK_SPANS = 16,
	BLOCK_EVENTS = BLOCK_SPANS * ALLO_EVENTS_AT_ONCE, /* 160 KiB, of some 100 microseconds */
};

struct block {
	size_t spans;
	size_t counts[BLOCK_SPANS], silent[BLOCK_SPANS];
	struct allo_event events[BLOCK_EVENTS]; /* those of the spans, without gaps */
};

struct allo_event_ahead {
	struct allo_events *events;
	allo_events_read *read;
	pthread_t thread;

	pthread_mutex_t lock; /* of these: */
	pthread_cond_t changed;
	size_t filled, emptied; /* blocks, ever */
	bool is_over;           /* no more blocks come */
	bool is_stopping;

	struct allo_error err; /* why it was over; until then the other thread's */

	/* Of who replays. */
	size_t span, first; /* in the block at hand: the next span, and its first event */
	bool has_block;
	struct block blocks[BLOCKS];
};

/* The thread that reads. */

static bool fill(struct allo_event_ahead *ahead, struct block *block)
{
	struct allo_event_span span;
	size_t count = 0;

	for (block->spans = 0; block->spans < BLOCK_SPANS; block->spans++) {
		ahead->events->room = &block->events[count];
		if (!ahead->read(ahead->events, &span, &block->silent[block->spans], &ahead->err))
			return false;
		if (span.events != &block->events[count])
			memcpy(&block->events[count], span.events,
			       span.count * sizeof(*span.events));
		block->counts[block->spans] = span.count;
		count += span.count;
	}
	return true;
}

/* Waits for a block that may be filled; false when it is to stop. */
static bool wait_for_empty(struct allo_event_ahead *ahead)
{
	bool goes_on;

	pthread_mutex_lock(&ahead->lock);
	while (ahead->filled - ahead->emptied == BLOCKS && !ahead->is_stopping)
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
		has_more = fill(ahead, &ahead->blocks[ahead->filled % BLOCKS]);
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

/* The one that replays. */

/* Gives the block at hand back and waits for the next; false when none comes. */
static bool next_block(struct allo_event_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->emptied += ahead->has_block;
	/* Who reads is not woken for each block: that may take as long as reading one. */
	if (ahead->filled - ahead->emptied <= BLOCKS / 2)
		pthread_cond_signal(&ahead->changed);
	while (ahead->filled == ahead->emptied && !ahead->is_over)
		pthread_cond_wait(&ahead->changed, &ahead->lock);
	ahead->has_block = ahead->filled > ahead->emptied;
	pthread_mutex_unlock(&ahead->lock);
	ahead->span = ahead->first = 0;
	return ahead->has_block;
}

bool allo_event_ahead_next(struct allo_event_ahead *ahead, struct allo_event_span *span,
			   size_t *silent, struct allo_error *err)
{
	const struct block *block = &ahead->blocks[ahead->emptied % BLOCKS];

	while (!ahead->has_block || ahead->span == block->spans) {
		if (!next_block(ahead)) {
			if (allo_failed(&ahead->err))
				*err = ahead->err;
			return false;
		}
		block = &ahead->blocks[ahead->emptied % BLOCKS];
	}
	*span = (struct allo_event_span){ &block->events[ahead->first],
					  block->counts[ahead->span] };
	*silent = block->silent[ahead->span++];
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
