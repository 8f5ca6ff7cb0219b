/* record.c - the events that are not written inline. */
#include "capture/file/record.h"

/* Begins an event with a time stamp, separate unless every event has one. */
static uint8_t *begin_with_time(struct allo_thread_state *thread, uint64_t next)
{
	uint8_t *at = allo_event_begin(thread);

	return thread->is_timed
		       ? at
		       : allo_pace_put_time(thread, at, allo_step(thread->events.stack, next));
}

void allo_record_block_slowly(struct allo_thread_state *thread, const void *pointer, size_t size,
			      uint32_t stack)
{
	uint8_t *at = begin_with_time(thread, stack);

	at = allo_put_alloc(&thread->events, at, (uint64_t)pointer, size, stack);
	allo_event_end(thread, at);
}

void allo_record_free_slowly(struct allo_thread_state *thread, const void *pointer, uint64_t caller)
{
	uint8_t *at = begin_with_time(thread, caller);

	allo_event_end(thread, allo_put_free(&thread->events, at, (uint64_t)pointer));
}

void allo_record_alloc(struct allo_thread_state *thread, void *pointer, size_t size,
		       struct allo_hook_frame frame)
{
	allo_record_block(thread, pointer, size, allo_record_stack(thread, frame));
}

void allo_record_resize(struct allo_thread_state *thread, void *pointer)
{
	uint8_t *at = allo_event_time(thread, allo_event_begin(thread), 0);

	allo_event_end(thread, allo_put_resize(&thread->events, at, (uint64_t)pointer));
}

void allo_record_outcome(struct allo_thread_state *thread, enum allo_escape outcome)
{
	uint8_t *at = allo_event_begin(thread);

	*at++ = 0;
	*at++ = (uint8_t)outcome;
	allo_event_end(thread, at);
}
