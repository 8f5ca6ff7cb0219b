/* record.c - the events that are not written inline. */
#include "capture/record.h"

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
