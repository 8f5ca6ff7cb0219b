/* record.c - see record.h. */
#include "capture/record.h"
#include "capture/check.h"

void allo_record_alloc(struct allo_thread *thread, void *pointer, size_t size,
		       struct allo_hook_frame frame)
{
	struct allo_registers caller = { allo_return_address((uint64_t)&frame.record[1]), frame.cfa,
					 frame.record[0] };
	uint32_t stack = 0;
	uint8_t *at;

	if (__builtin_expect(allo_config.is_plain || allo_config.unwind != ALLO_UNWIND_NONE, 1))
		stack = allo_thread_stack(thread, &caller);
	if (__builtin_expect(!allo_config.is_plain, 0) && stack)
		allo_check_stack(thread, &caller, stack);
	at = allo_event_time(thread, allo_event_begin(thread));
	at = allo_put_alloc(&thread->events, at, (uint64_t)pointer, size, stack);
	allo_event_end(thread, at);
}

void allo_record_resize(struct allo_thread *thread, void *pointer)
{
	uint8_t *at = allo_event_time(thread, allo_event_begin(thread));

	allo_event_end(thread, allo_put_resize(&thread->events, at, (uint64_t)pointer));
}

void allo_record_outcome(struct allo_thread *thread, enum allo_escape outcome)
{
	uint8_t *at = allo_event_begin(thread);

	*at++ = 0;
	*at++ = (uint8_t)outcome;
	allo_event_end(thread, at);
}
