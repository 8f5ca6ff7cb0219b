/*
 * thread.h - the state that the runtime keeps per thread, and the entry and exit of hooks.
 *
 * A hook enters, records and leaves.  While it is inside, allocations of this thread come from the
 * runtime, which are not recorded, or from a signal handler that interrupted the hook, which are
 * recorded with a second, nested state.
 *
 * Other threads read `phase`, which only its own thread stores to, and store to `rest_phase`.  All
 * other fields belong to the thread while it is busy, and to the owner of the safepoint otherwise.
 */
#ifndef ALLO_CAPTURE_THREAD_H
#define ALLO_CAPTURE_THREAD_H

#include "capture/counts.h"
#include "capture/file/recorder.h"
#include "capture/safepoint.h"
#include "capture/sizes.h"
#include "capture/stacks/stack_intern.h"
#include "capture/stacks/suffix_cache.h"
#include "capture/time/pace.h"
#include "capture/visibility.h"
#include "wire/events.h"

enum allo_thread_phase {
	ALLO_THREAD_NEW,     /* 0: also in a child made by fork, where the memory is wiped */
	ALLO_THREAD_IDLE,    /* outside of all hooks */
	ALLO_THREAD_BUSY,    /* inside of a hook */
	ALLO_THREAD_OFF,     /* its recording has ended */
	ALLO_THREAD_PARKED,  /* inside of a hook, waiting for the safepoint */
	ALLO_THREAD_PASSING, /* the same, while an allocator calls another function of ours */
};

enum {
	/* Used bytes of a tail: there is no room for another event. */
	ALLO_TAIL_FULL = ALLO_SLOT_ROOM - ALLO_EVENT_MAX
};

/* See sampler.h. */
struct allo_sampler {
	uint64_t left; /* bytes, or blocks, until the next sample */
	uint64_t rate; /* the interval that it was drawn for */
	uint64_t random;
	uint64_t alloc_blocks, alloc_bytes, freed_blocks; /* not yet added to the file's head */
	uint64_t sample_ticks, other_ticks; /* not yet added to allo_overhead: see overhead.h */
	uint32_t others;                    /* hooks of blocks that may be sampled */
};

/* The block that realloc is resizing. */
struct allo_resized {
	const void *block;
	struct allo_size known;
};

struct allo_thread_state {
	uint32_t phase;           /* enum allo_thread_phase */
	uint32_t rest_phase;      /* the phase after the hook: IDLE or OFF */
	uint32_t checked;         /* stacks that allo_unwind_check() was called for */
	uint32_t generation;      /* of the modules that the stack cache was filled with */
	uint32_t session;         /* the recording that this state was set up for */
	uint32_t open_safepoint;  /* the safepoint word that lets this thread into all hooks */
	uint32_t plain_safepoint; /* into the short hooks, too */
	bool is_timed;            /* every event is followed by a time stamp */
	bool is_nested;           /* serves signal handlers that interrupted a hook */
	bool is_resizing;         /* between allo_on_realloc_begin and _end */
	bool has_ended;           /* the thread runs its last destructors, or is gone */
	uint32_t thread_number;
	struct allo_wire_slot *tail; /* the open slot of the event stream; NULL without a file */
	struct allo_pace pace;
	struct allo_python_thread *python; /* NULL: no Python frame was seen yet */
	uint32_t passed;                   /* calls inside of other hooks */
	struct allo_thread_state *nested;
	struct allo_thread_state *next; /* in the list of all states */
	struct allo_counts counts;
	struct allo_sampler sampler;
	struct allo_resized resized;
	struct allo_event_state events;
	struct allo_stack_cache cache;
	struct allo_suffix_cache suffixes;
	struct allo_intern_cache ids;
	/* Stack pointer of the caller of the last hook that an operator new may have called: one of
	 * hooks_built_in.c, or for aligned blocks. */
	uint64_t built_in_cfa;
};

ALLO_HIDDEN extern __thread struct allo_thread_state *allo_self;

/* The real allocator never calls the functions that the runtime replaces.  Then an allocation while
 * a hook is busy comes from a signal handler. */
ALLO_HIDDEN extern bool allo_allocator_is_apart;

/* The slow half of allo_enter, for a thread that is not simply idle. */
struct allo_thread_state *allo_enter_slowly(void);

struct allo_hook_frame;

/* For calls inside of another hook: looks now and then whether that hook still exists.  If a signal
 * handler has left it by a jump, the thread recovers; returns whether it did. */
bool allo_thread_leaves_abandoned(struct allo_thread_state *thread, struct allo_hook_frame entered);

/* The compiler must not move recording past the store; safepoint.h explains why the processor needs
 * no fence. */
static inline void allo_leave(struct allo_thread_state *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->phase, __atomic_load_n(&thread->rest_phase, __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
}

/* Calls of our functions pass by unrecorded, until the phase is set back: an allocator makes them.
 */
static inline void allo_pass_by(struct allo_thread_state *thread)
{
	__atomic_store_n(&thread->phase, ALLO_THREAD_PASSING, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void allo_pass_no_more(struct allo_thread_state *thread)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&thread->phase, ALLO_THREAD_BUSY, __ATOMIC_RELAXED);
}

/* Enters a hook if the thread is idle and the safepoint word, with the bits of `mask`, is `word`.
 */
static inline bool allo_enter_at(struct allo_thread_state *thread, uint32_t mask,
				 const uint32_t *word)
{
	if (__builtin_expect(thread->phase != ALLO_THREAD_IDLE, 0))
		return false;
	__atomic_store_n(&thread->phase, ALLO_THREAD_BUSY, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect((allo_safepoint_load() & mask) == *word, 1))
		return true;
	allo_leave(thread);
	return false;
}

static inline bool allo_enter_idle(struct allo_thread_state *thread)
{
	return allo_enter_at(thread, ~(uint32_t)ALLO_SAFEPOINT_PLAIN, &thread->open_safepoint);
}

/* The same for the short hooks of exact recordings. */
static inline bool allo_enter_plain(struct allo_thread_state *thread)
{
	return allo_enter_at(thread, UINT32_MAX, &thread->plain_safepoint);
}

/* Enters the hook.  Returns the state to record with, or NULL if this call is not recorded. */
static inline struct allo_thread_state *allo_enter(void)
{
	struct allo_thread_state *thread = allo_self;

	if (__builtin_expect(thread && allo_enter_idle(thread), 1))
		return thread;
	return allo_enter_slowly();
}

/* Writes the full tail to the file and continues with an empty one. */
void allo_thread_seal(struct allo_thread_state *thread);

/* Stops the recording because its time is over. */
void allo_thread_stop(struct allo_thread_state *thread);

/* Stops it if another process has ended it: `allo stop` writes the reason into the head.  Threads
 * look there on paths that are slow anyway. */
void allo_thread_check_end(struct allo_thread_state *thread);

/* Calls allo_recorder_attend(), and stops the recording if its time is over or another process has
 * ended it. */
void allo_thread_attend(struct allo_thread_state *thread, uint64_t now);

/* Detaches all threads from a recording that has ended.  A thread that is still inside of a hook
 * keeps its tail. */
void allo_threads_end(void);

/* The id of a hook's caller stack, if the suffix cache does not have it. */
uint32_t allo_thread_unwind(struct allo_thread_state *thread, const struct allo_registers *caller,
			    struct allo_suffix *suffix);

/* The id of a hook's caller stack. */
static inline uint32_t allo_thread_stack(struct allo_thread_state *thread,
					 const struct allo_registers *caller)
{
	struct allo_suffix *suffix = allo_suffix_slot(&thread->suffixes, caller->pc, caller->sp);
	struct allo_registers unwound;
	uint32_t id;

	/* A plain pointer: otherwise gcc derives the address of each field from the index. */
	__asm__("" : "+r"(suffix));

	if (__builtin_expect(thread->generation == allo_recorder_generation(), 1) &&
	    __builtin_expect(thread->suffixes.pause == 0, 1)) {
		id = allo_suffix_find(suffix, &thread->cache, caller);
		if (__builtin_expect(id != 0, 1)) {
			thread->suffixes.hits++;
			return id;
		}
	}
	/* A copy, so that a hit keeps the registers out of memory. */
	unwound = *caller;
	return allo_thread_unwind(thread, &unwound, suffix);
}

static inline uint8_t *allo_event_begin(struct allo_thread_state *thread)
{
	uint32_t room = thread->is_timed ? ALLO_TAIL_FULL : thread->pace.room;

	if (__builtin_expect(thread->tail->used > room, 0))
		allo_pace_make_room(thread);
	return (uint8_t *)(thread->tail + 1) + thread->tail->used;
}

/* Call it between allo_event_begin and the event. */
static inline uint8_t *allo_event_time(struct allo_thread_state *thread, uint8_t *at, uint64_t next)
{
	uint64_t step = allo_step(thread->events.stack, next);

	if (!allo_pace_holds(&thread->pace, step) && !thread->is_timed)
		return allo_pace_put_time(thread, at, step);
	return at;
}

/* The same for an event that needs neither a time stamp nor another slot; otherwise NULL. */
static inline uint8_t *allo_event_begin_quickly(struct allo_thread_state *thread, uint64_t next)
{
	uint32_t used = thread->tail->used;

	if (__builtin_expect(used > thread->pace.room, 0) ||
	    !allo_pace_holds(&thread->pace, allo_step(thread->events.stack, next)))
		return NULL;
	return (uint8_t *)(thread->tail + 1) + used;
}

/* The same for a thread that times every event. */
static inline uint8_t *allo_event_begin_timed(struct allo_thread_state *thread)
{
	uint32_t used = thread->tail->used;

	if (!thread->is_timed || __builtin_expect(used > ALLO_TAIL_FULL, 0))
		return NULL;
	return (uint8_t *)(thread->tail + 1) + used;
}

/* Publishes the event that ends at `at` to readers of the file. */
static inline void allo_event_publish(struct allo_wire_slot *tail, const uint8_t *at)
{
	__atomic_store_n(&tail->used, (uint32_t)(at - (uint8_t *)(tail + 1)), __ATOMIC_RELEASE);
}

/* The same; writes the time first if every event has one. */
static inline void allo_event_end(struct allo_thread_state *thread, uint8_t *at)
{
	if (thread->is_timed) {
		uint64_t now = allo_now();

		at = allo_put_time(&thread->events, at, now);
		if (__builtin_expect(now >= allo_recorder_due(), 0))
			allo_thread_attend(thread, now);
	}
	allo_event_publish(thread->tail, at);
}

#endif
