/*
 * record.h - writing the events of allocations; used by the hooks and by the API for custom heaps.
 *
 * A free is written before the block is freed, an allocation after the block was allocated.  So the
 * events of two threads that use the same address are in the right order.
 */
#ifndef ALLO_CAPTURE_RECORD_H
#define ALLO_CAPTURE_RECORD_H

#include "capture/python/python.h"
#include "capture/settings.h"
#include "capture/stacks/unwind_check.h"
#include "capture/thread.h"

#define ALLO_HOOK __attribute__((visibility("default")))

/* The frame of a hook.  Passed on as two registers; the memory behind them is read where needed. */
struct allo_hook_frame {
	const uint64_t *record; /* the saved frame pointer and the return address */
	uint64_t cfa;           /* the caller's stack pointer */
};

#define ALLO_FRAME()                                                                               \
	((struct allo_hook_frame){ __builtin_frame_address(0), (uint64_t)__builtin_dwarf_cfa() })

static inline struct allo_registers allo_hook_caller(struct allo_hook_frame frame)
{
	return (struct allo_registers){ allo_return_address((uint64_t)&frame.record[1]), frame.cfa,
					frame.record[0] };
}

/* The id of the caller's stack; 0 if stacks are off or unwinding failed. */
static inline uint32_t allo_record_stack(struct allo_thread_state *thread,
					 struct allo_hook_frame frame)
{
	struct allo_registers caller = allo_hook_caller(frame);
	uint32_t stack = 0;

	if (allo_settings.unwind != ALLO_UNWIND_NONE)
		stack = allo_thread_stack(thread, &caller);
	if (allo_settings.check_every > 0 && stack)
		allo_unwind_check(thread, &caller, stack);
	if (__builtin_expect(allo_python_is_on, 0))
		stack = allo_python_stack(thread, stack, &caller);
	return stack;
}

/* Writes an allocation.  The second is for events that need a separate time stamp or another slot:
 * its code is not in the hook, which then saves fewer registers. */
void allo_record_block_slowly(struct allo_thread_state *thread, const void *pointer, size_t size,
			      uint32_t stack);
static inline void allo_record_block(struct allo_thread_state *thread, const void *pointer,
				     size_t size, uint32_t stack)
{
	struct allo_wire_slot *tail = thread->tail;
	uint8_t *at = allo_event_begin_quickly(thread, stack);

	if (at) {
		at = allo_put_alloc(&thread->events, at, (uint64_t)pointer, size, stack);
		allo_event_publish(tail, at);
		return;
	}
	at = allo_event_begin_timed(thread);
	if (at) {
		at = allo_put_alloc(&thread->events, at, (uint64_t)pointer, size, stack);
		allo_event_end(thread, at);
	} else {
		allo_record_block_slowly(thread, pointer, size, stack);
	}
}

void allo_record_alloc(struct allo_thread_state *thread, void *pointer, size_t size,
		       struct allo_hook_frame frame);

/* The return address of a hook without a frame. */
#define ALLO_CALLER() ((uint64_t)__builtin_return_address(0))

/* Writes a free; the same.  `caller` is the hook's return address, or 0 if it is far away. */
void allo_record_free_slowly(struct allo_thread_state *thread, const void *pointer,
			     uint64_t caller);
static inline __attribute__((always_inline)) bool allo_record_free_quickly(
	struct allo_thread_state *thread, const void *pointer, uint64_t caller)
{
	struct allo_wire_slot *tail = thread->tail;
	uint8_t *at = allo_event_begin_quickly(thread, caller);

	if (!at)
		return false;
	at = allo_put_free(&thread->events, at, (uint64_t)pointer);
	allo_event_publish(tail, at);
	return true;
}

/* After the one above has failed. */
static inline void allo_record_free_timed(struct allo_thread_state *thread, const void *pointer,
					  uint64_t caller)
{
	uint8_t *at = allo_event_begin_timed(thread);

	if (at)
		allo_event_end(thread, allo_put_free(&thread->events, at, (uint64_t)pointer));
	else
		allo_record_free_slowly(thread, pointer, caller);
}

static inline void allo_record_free(struct allo_thread_state *thread, const void *pointer,
				    uint64_t caller)
{
	if (!allo_record_free_quickly(thread, pointer, caller))
		allo_record_free_timed(thread, pointer, caller);
}

/* Writes the start of a realloc.  An allocation or one of its escapes (`outcome`) must follow. */
void allo_record_resize(struct allo_thread_state *thread, void *pointer);
void allo_record_outcome(struct allo_thread_state *thread, enum allo_escape outcome);

/* The same in all modes but exact ones without statistics; see modes.h. */
void allo_filtered_alloc(struct allo_thread_state *thread, uint32_t heap, const void *block,
			 size_t size, struct allo_hook_frame frame);
void allo_filtered_free(struct allo_thread_state *thread, uint32_t heap, const void *block);

/* Records an allocation of at least `least` bytes and leaves the hook that allo_enter entered. */
static inline void *allo_got(struct allo_thread_state *thread, void *pointer, size_t size,
			     uint64_t least, struct allo_hook_frame frame)
{
	if (__builtin_expect(pointer != NULL, 1) && size >= least) {
		if (__builtin_expect(!allo_settings.is_filtered, 1))
			allo_record_alloc(thread, pointer, size, frame);
		else
			allo_filtered_alloc(thread, 0, pointer, size, frame);
	}
	allo_leave(thread);
	return pointer;
}

/* Records a free; the thread stays inside of the hook. */
static inline void allo_give(struct allo_thread_state *thread, void *pointer, uint64_t caller)
{
	if (__builtin_expect(!allo_settings.is_filtered, 1))
		allo_record_free(thread, pointer, caller);
	else
		allo_filtered_free(thread, 0, pointer);
}

#endif
