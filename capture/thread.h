/*
 * thread.h - what the runtime keeps for a thread, and who may use it when.
 *
 * A hook enters, records and leaves.  While it is inside, what the thread allocates is either our
 * own doing, and passes by, or that of a signal handler that interrupted us, and is recorded in a
 * second, nested state.
 */
#ifndef ALLO_CAPTURE_THREAD_H
#define ALLO_CAPTURE_THREAD_H

#include "capture/counts.h"
#include "capture/recorder.h"
#include "capture/safepoint.h"
#include "capture/sizes.h"
#include "capture/stack_intern.h"
#include "capture/suffix_cache.h"
#include "capture/visibility.h"
#include "wire/events.h"

enum allo_thread_phase {
	ALLO_THREAD_NEW, /* also: of a process that was just forked, where the memory is wiped */
	ALLO_THREAD_IDLE,
	ALLO_THREAD_BUSY,
	ALLO_THREAD_OFF,
	ALLO_THREAD_PARKED, /* in a hook, waiting for the gate */
};

/* See sampler.h. */
struct allo_sampler {
	uint64_t left; /* bytes, or blocks, to the next one that is recorded */
	uint64_t random;
	uint64_t alloc_blocks, alloc_bytes, freed_blocks; /* that the head does not tell of yet */
};

/* A block that is about to be resized. */
struct allo_resized {
	const void *block;
	struct allo_size known;
};

struct allo_thread_state {
	uint32_t phase;
	uint32_t rest_phase;      /* when it is not busy: IDLE, or OFF */
	uint32_t number;          /* of the next event */
	uint32_t time_mask;       /* 0 while events are few: each has its time */
	uint32_t generation;      /* of the modules that the cache is of */
	uint32_t session;         /* that it has begun in */
	uint32_t open_safepoint;  /* what the gate is while it may go in */
	uint32_t plain_safepoint; /* where each block is recorded and no more: the same; or no gate
				   */
	bool is_timed;            /* a time follows each event */
	bool is_nested;
	bool is_resizing; /* a block that the program itself tells of */
	bool has_ended;   /* the thread runs its last destructors, or is gone */
	uint32_t thread_number;
	struct allo_wire_slot *tail; /* NULL where nothing is written */
	struct allo_thread_state *nested;
	struct allo_thread_state *next; /* in the list of all */
	struct allo_counts counts;
	struct allo_sampler sampler;
	struct allo_resized resized;
	struct allo_event_state events;
	struct allo_stack_cache cache;
	struct allo_suffix_cache suffixes;
	struct allo_intern_cache ids;
};

ALLO_HIDDEN extern __thread struct allo_thread_state *allo_self;

/* The real allocator never calls the functions that we replace, so that what is seen while a hook
 * is busy comes from a signal handler. */
ALLO_HIDDEN extern bool allo_allocator_is_apart;

/* What allo_enter does when the thread is not simply idle. */
struct allo_thread_state *allo_enter_slowly(void);

/* The order within this thread is all that is needed: see safepoint.h. */
static inline void allo_leave(struct allo_thread_state *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->phase, thread->rest_phase, __ATOMIC_RELEASE);
}

/* Goes in; false when the thread is not idle, or the gate not as given. */
static inline bool allo_enter_at(struct allo_thread_state *thread, const uint32_t *gate)
{
	if (__builtin_expect(thread->phase != ALLO_THREAD_IDLE, 0))
		return false;
	thread->phase = ALLO_THREAD_BUSY;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&allo_safepoint, __ATOMIC_RELAXED) == *gate, 1))
		return true;
	allo_leave(thread);
	return false;
}

static inline bool allo_enter_idle(struct allo_thread_state *thread)
{
	return allo_enter_at(thread, &thread->open_safepoint);
}

/* The same where each block is recorded and no more. */
static inline bool allo_enter_plain(struct allo_thread_state *thread)
{
	return allo_enter_at(thread, &thread->plain_safepoint);
}

/* The state to record into, or NULL: then the call passes by. */
static inline struct allo_thread_state *allo_enter(void)
{
	struct allo_thread_state *thread = allo_self;

	if (__builtin_expect(thread && allo_enter_idle(thread), 1))
		return thread;
	return allo_enter_slowly();
}

/* The block is full. */
void allo_thread_seal(struct allo_thread_state *thread);

/* Settings have changed while it was outside. */
void allo_thread_note_settings(struct allo_thread_state *thread);

/* The time for recording is over. */
void allo_thread_stop(struct allo_thread_state *thread);

/* Takes all threads out of a recording that is over; those that are still inside of a hook keep
 * what they write to. */
void allo_threads_end(void);

/* A time in a stream where not every event has one, or no longer. */
uint8_t *allo_thread_put_time(struct allo_thread_state *thread, uint8_t *at);

/* The stack of a hook's caller, when it is not one that came before. */
uint32_t allo_thread_unwind(struct allo_thread_state *thread, const struct allo_registers *caller,
			    struct allo_suffix *suffix);

/* The stack of a hook's caller. */
static inline uint32_t allo_thread_stack(struct allo_thread_state *thread,
					 const struct allo_registers *caller)
{
	struct allo_suffix *suffix = allo_suffix_slot(&thread->suffixes, caller->pc, caller->sp);
	uint32_t id;

	if (__builtin_expect(thread->generation == allo_recorder->generation, 1) &&
	    __builtin_expect(thread->suffixes.pause == 0, 1)) {
		id = allo_suffix_find(suffix, &thread->cache, caller);
		if (__builtin_expect(id != 0, 1)) {
			thread->suffixes.hits++;
			return id;
		}
	}
	return allo_thread_unwind(thread, caller, suffix);
}

static inline uint8_t *allo_event_begin(struct allo_thread_state *thread)
{
	if (__builtin_expect(thread->tail->used > ALLO_SLOT_ROOM - ALLO_EVENT_MAX, 0))
		allo_thread_seal(thread);
	return (uint8_t *)(thread->tail + 1) + thread->tail->used;
}

/* To be called between allo_event_begin and the event. */
static inline uint8_t *allo_event_time(struct allo_thread_state *thread, uint8_t *at)
{
	if ((thread->number++ & allo_recorder->time_mask & thread->time_mask) == 0 &&
	    !thread->is_timed)
		return allo_thread_put_time(thread, at);
	return at;
}

/* The event is written: a reader may see it. */
static inline void allo_event_end(struct allo_thread_state *thread, uint8_t *at)
{
	struct allo_wire_slot *tail = thread->tail;

	if (thread->is_timed) {
		uint64_t now = allo_now();

		at = allo_put_time(&thread->events, at, now);
		if (__builtin_expect(now >= allo_recorder->end_ticks, 0))
			allo_thread_stop(thread);
	}
	__atomic_store_n(&tail->used, (uint32_t)(at - (uint8_t *)(tail + 1)), __ATOMIC_RELEASE);
}

#endif
