/* thread.c - setting up, parking and reusing the state of threads; the slow paths of recording. */
#include "capture/thread.h"
#include "capture/api/annotations.h"
#include "capture/hooks/abandoned_hook.h"
#include "capture/hooks/asked_size.h"
#include "capture/overhead.h"
#include "capture/process.h"
#include "capture/python/python.h"
#include "capture/python/python_frames.h"
#include "capture/sampler.h"
#include "capture/settings.h"
#include "capture/system.h"
#include "capture/thread_rest.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

enum {
	RETRY_EVENTS = 1024, /* lost ones, until a thread without memory asks for it again */
	PASSED_EVENTS =
		1024, /* calls that pass by, until a jump out of the allocator is looked for */
	NO_THREAD = INT32_MAX,
};

__thread struct allo_thread_state *allo_self;
bool allo_allocator_is_apart;

static pthread_key_t end_key;
static bool has_end_key;

/* Streams. */

/* Takes effect when the thread leaves its hook. */
static void turn_off(struct allo_thread_state *thread)
{
	__atomic_store_n(&thread->rest_phase, ALLO_THREAD_OFF, __ATOMIC_RELAXED);
}

/* Reads the name late: threads are named after they start. */
static void note_name(struct allo_thread_state *thread)
{
	if (thread->tail)
		ALLO_SYSCALL2(SYS_prctl, PR_GET_NAME, thread->tail->name);
}

/* The first thread that notices makes the others stop when they next read the clock. */
void allo_thread_check_end(struct allo_thread_state *thread)
{
	struct allo_recorder *r = allo_recorder;

	/* There is no head if the recording has ended since the thread entered its hook. */
	if (__builtin_expect(!r->head, 0) ||
	    __builtin_expect(__atomic_load_n(&r->head->end, __ATOMIC_RELAXED) != ALLO_END_STOPPED,
			     1))
		return;
	if (allo_recorder_is_on())
		allo_recorder_update_clock();
	__atomic_store_n(&r->end_ticks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->due_ticks, 0, __ATOMIC_RELAXED);
	allo_thread_stop(thread);
}

/* For a chunk that starts without predictions. */
static void forget_predictions(struct allo_thread_state *thread)
{
	memset(thread->events.predictions, 0, sizeof(thread->events.predictions));
	thread->events.stack = 0;
	thread->is_timed = false;
}

void allo_thread_seal(struct allo_thread_state *thread)
{
	struct allo_event_state *events = &thread->events;

	if (thread->session != allo_session) {
		thread->tail->used = 0; /* its recording has ended */
	} else if (!allo_tail_seal(thread->tail, events->ticks, events->pointer)) {
		forget_predictions(thread);
		/* A bounded recording goes on: the page is lost. */
		if (allo_recorder_is_on())
			allo_annotations_write_labels(thread);
		else
			turn_off(thread);
	} else {
		allo_thread_check_end(thread);
	}
	note_name(thread);
}

void allo_thread_stop(struct allo_thread_state *thread)
{
	allo_recorder_stop(ALLO_END_STOPPED);
	turn_off(thread);
}

void allo_thread_attend(struct allo_thread_state *thread, uint64_t now)
{
	if (!allo_recorder_attend(now))
		allo_thread_stop(thread);
	else
		allo_thread_check_end(thread);
}

/* Stacks. */

/* Counts a miss.  False while the cache is paused because it hits too rarely. */
static bool note_miss(struct allo_suffix_cache *suffixes)
{
	if (suffixes->pause > 0) {
		suffixes->pause--;
		return false;
	}
	if (++suffixes->misses == ALLO_SUFFIX_TRIAL) {
		if (suffixes->hits < ALLO_SUFFIX_TRIAL)
			suffixes->pause = ALLO_SUFFIX_PAUSE;
		suffixes->hits = suffixes->misses = 0;
	}
	return true;
}

/* A stack that was found, but there is no room for it. */
static void count_lost_stack(void)
{
	allo_count(&allo_recorder->head->counts.failed_stacks, 1);
	allo_count(&allo_recorder->head->losses.lost_stacks, 1);
}

uint32_t allo_thread_unwind(struct allo_thread_state *thread, const struct allo_registers *caller,
			    struct allo_suffix *suffix)
{
	struct allo_stack_cache *cache = &thread->cache;
	struct allo_cached_frame_rest *innermost;
	uint32_t generation = allo_recorder_generation();

	if (__builtin_expect(thread->generation != generation, 0)) {
		thread->generation = generation;
		allo_stack_cache_clear(cache, thread->generation * 0x9e3779b97f4a7c15);
	}
	if (__builtin_expect(allo_python_has_news, 0) && !thread->is_nested)
		allo_python_tell();
	if (!allo_stack_cache_capture(cache, caller)) {
		allo_count(&allo_recorder->head->counts.failed_stacks, 1);
		return 0;
	}
	innermost = &cache->rest[cache->count - 1];
	if (innermost->id == 0 && __builtin_expect(allo_settings.stack_depth == 0, 1))
		innermost->id = allo_intern_cache_find(&thread->ids, innermost->hash);
	if (innermost->id == 0)
		innermost->id = allo_stack_intern(&thread->ids, cache, thread->is_nested);
	if (innermost->id == 0)
		count_lost_stack();
	else if (note_miss(&thread->suffixes))
		allo_suffix_keep(suffix, cache, innermost->id, caller);
	allo_stack_cache_note(cache);
	return innermost->id;
}

/* Setting up. */

/* Runs among the destructors of an exiting thread.  Destructors that run later may still allocate
 * and free. */
static void note_end(void *given)
{
	struct allo_thread_state *thread = given;

	if (allo_enter_idle(thread)) {
		note_name(thread);
		allo_leave(thread);
	}
	if (thread->nested)
		__atomic_store_n(&thread->nested->has_ended, true, __ATOMIC_RELEASE);
	__atomic_store_n(&thread->has_ended, true, __ATOMIC_RELEASE);
}

/* Clears the state for another thread or another recording. */
static void clear(struct allo_thread_state *thread)
{
	memset(&thread->events, 0, sizeof(thread->events));
	memset(&thread->suffixes, 0, sizeof(thread->suffixes));
	allo_stack_cache_clear(&thread->cache, 0);
	if (thread->python)
		allo_python_thread_clear(thread->python);
	memset(&thread->cache.bounds, 0, sizeof(thread->cache.bounds));
	thread->checked = 0;
	thread->generation = 0;
	thread->is_timed = thread->is_nested = thread->is_resizing = false;
	if (thread->nested)
		__atomic_store_n(&thread->nested->has_ended, true, __ATOMIC_RELEASE);
	thread->nested = NULL;
}

/* Takes over the state of a thread that no longer exists.  It claims the state first and asks the
 * kernel for the thread second: in the other order, the state could have been reused by another
 * thread that has ended too but still exists. */
static bool take_over(struct allo_thread_state *thread, long process)
{
	bool yes = true;

	if (!__atomic_load_n(&thread->has_ended, __ATOMIC_RELAXED) ||
	    !__atomic_compare_exchange_n(&thread->has_ended, &yes, false, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	if (ALLO_SYSCALL3(SYS_tgkill, process, thread->thread_number, 0) == -ESRCH)
		return true;
	__atomic_store_n(&thread->has_ended, true, __ATOMIC_RELEASE);
	return false;
}

/* The state of a thread that no longer exists, or NULL. */
static struct allo_thread_state *find_ended(void)
{
	long process = ALLO_SYSCALL1(SYS_getpid, 0);

	for (struct allo_thread_state *thread =
		     __atomic_load_n(&allo_process->threads, __ATOMIC_ACQUIRE);
	     thread; thread = thread->next) {
		if (take_over(thread, process))
			return thread;
	}
	return NULL;
}

static struct allo_thread_state *make(struct allo_thread_state *thread)
{
	/* A child made by fork has its parent's state, wiped to zeros. */
	if (!thread)
		thread = allo_map_private(sizeof(*thread));
	if (!thread)
		return NULL;
	thread->next = __atomic_load_n(&allo_process->threads, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&allo_process->threads, &thread->next, thread, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
	}
	allo_count(&allo_recorder->head->counts.own_bytes, sizeof(*thread));
	return thread;
}

static void close_tail(struct allo_thread_state *thread)
{
	allo_tail_close(thread->tail);
	thread->tail = NULL;
}

/* Opens a stream in the recording, if there is a file. */
static bool open_tail(struct allo_thread_state *thread)
{
	thread->tail = NULL;
	if (!allo_settings.has_file)
		return true;
	if (thread->cache.capacity == 0 &&
	    !allo_stack_cache_init(&thread->cache, allo_recorder->is_steady))
		return false;
	thread->tail = allo_tail_open(ALLO_STREAM_EVENTS);
	if (thread->tail)
		allo_count(&allo_recorder->head->counts.own_bytes, ALLO_SLOT_SIZE);
	return thread->tail != NULL;
}

/* Moves a state from an earlier recording to the current one. */
static bool restart(struct allo_thread_state *thread)
{
	close_tail(thread);
	memset(&thread->ids, 0, sizeof(thread->ids));
	return open_tail(thread);
}

/* Continues with the state of a thread that no longer exists. */
static bool take_tail(struct allo_thread_state *thread)
{
	if (thread->session != allo_session)
		return restart(thread);
	if (thread->tail) {
		if (thread->tail->used > 0)
			allo_thread_seal(thread);
		allo_tail_restart(thread->tail);
	}
	return true;
}

static void start(struct allo_thread_state *thread)
{
	if (thread->session != allo_session) {
		memset(&thread->counts, 0, sizeof(thread->counts));
		memset(&thread->sampler, 0, sizeof(thread->sampler));
	}
	clear(thread);
	thread->session = allo_session;
	thread->open_safepoint = allo_safepoint_open_word();
	thread->plain_safepoint = thread->open_safepoint | ALLO_SAFEPOINT_PLAIN;
	thread->thread_number = allo_thread_number();
	allo_pace_begin(thread);
	allo_counts_start(thread);
	allo_sampler_start(thread);
	thread->events.ticks = allo_now();
	if (thread->tail) {
		thread->tail->from[0] = thread->events.ticks;
		thread->tail->from[1] = 0;
	}
	__atomic_store_n(&thread->rest_phase, ALLO_THREAD_IDLE, __ATOMIC_RELAXED);
}

/* Leaves a state without a stream to the next attempt, of this thread or another. */
static void give_up(struct allo_thread_state *thread, bool is_own)
{
	thread->session = allo_session - 1;
	if (is_own) {
		__atomic_store_n(&thread->phase, ALLO_THREAD_OFF, __ATOMIC_RELAXED);
	} else {
		thread->thread_number = NO_THREAD;
		__atomic_store_n(&thread->has_ended, true, __ATOMIC_RELEASE);
	}
}

/* `own` is the state that the thread already has: wiped memory in a child made by fork, a state
 * from an earlier recording, or NULL. */
static struct allo_thread_state *begin(struct allo_thread_state *own)
{
	bool is_known = own && own->phase != ALLO_THREAD_NEW;
	struct allo_thread_state *ended = own ? NULL : find_ended();
	struct allo_thread_state *thread = ended ? ended : is_known ? own : make(own);

	if (!thread)
		return NULL;
	if (!(is_known ? restart(thread) : ended ? take_tail(thread) : open_tail(thread))) {
		give_up(thread, own != NULL);
		return NULL;
	}
	start(thread);
	return thread;
}

static struct allo_thread_state *begin_outermost(struct allo_thread_state *own)
{
	struct allo_thread_state *thread = begin(own);

	if (!thread)
		return NULL;
	allo_pace_add_thread();
	if (has_end_key)
		pthread_setspecific(end_key, thread);
	__atomic_store_n(&thread->phase, ALLO_THREAD_BUSY, __ATOMIC_RELAXED);
	allo_self = thread;
	allo_annotations_write_labels(thread);
	allo_annotations_write_pending_marks(thread);
	return thread;
}

/* A signal handler has interrupted a hook of this thread and allocates. */
static struct allo_thread_state *enter_nested(struct allo_thread_state *outer)
{
	struct allo_thread_state *nested = outer->nested;

	if (outer->session != allo_session)
		return NULL;
	if (!nested) {
		nested = begin(NULL);
		if (nested)
			nested->is_nested = true;
		outer->nested = nested;
	}
	if (nested && nested->open_safepoint == ALLO_SAFEPOINT_STALE)
		allo_overhead_catch_up(nested);
	if (!nested || nested->phase == ALLO_THREAD_BUSY) {
		if (outer->tail)
			outer->tail->dropped++;
		return NULL;
	}
	__atomic_store_n(&nested->phase, ALLO_THREAD_BUSY, __ATOMIC_RELAXED);
	return nested;
}

/* Counts an event of a thread for whose state there is no memory. */
static void count_lost_event(void)
{
	struct allo_wire_losses *losses = &allo_recorder->head->losses;

	allo_count(allo_is_confined ? &losses->sandbox_events : &losses->memory_events, 1);
}

static struct allo_thread_state *enter_first(struct allo_thread_state *own)
{
	static __thread uint32_t lost; /* events since the last attempt */
	bool was_confined = allo_is_confined;
	struct allo_thread_state *thread = NULL;

	if ((own && own->phase == ALLO_THREAD_OFF && own->session == allo_session) ||
	    !allo_process_records())
		return NULL;
	if (lost++ % RETRY_EVENTS == 0) {
		thread = begin_outermost(own);
		/* If another thread has entered a sandbox meanwhile, system calls failed; from
		 * there on, memory comes from elsewhere. */
		if (!thread && !was_confined && allo_is_confined)
			thread = begin_outermost(own);
	}
	if (thread)
		lost = 0;
	else if (allo_recorder_is_on())
		count_lost_event();
	return thread;
}

/* This thread is counted in allo_process->beginning. */
static __thread bool is_beginning;

/* `beginning` makes a freezing thread wait for this one until its state is in the list. */
static struct allo_thread_state *enter_beginning(struct allo_thread_state *thread)
{
	bool is_open;

	is_beginning = true;
	__atomic_add_fetch(&allo_process->beginning, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	is_open = allo_safepoint_state() == ALLO_SAFEPOINT_OPEN;
	thread = is_open ? enter_first(thread) : NULL;
	__atomic_sub_fetch(&allo_process->beginning, 1, __ATOMIC_SEQ_CST);
	is_beginning = false;
	return thread;
}

/* Starts the stream over: the abandoned hook may have changed the predictions for an event that it
 * did not write. */
static void restart_stream(struct allo_thread_state *thread)
{
	if (thread->session != allo_session || !thread->tail)
		return;
	allo_thread_seal(thread);
	forget_predictions(thread);
	thread->tail->is_fresh = 1;
	thread->is_resizing = false;
	allo_stack_cache_clear(&thread->cache, thread->cache.seed);
	allo_annotations_write_labels(thread);
}

static void recover_state(struct allo_thread_state *thread)
{
	restart_stream(thread);
	__atomic_store_n(&thread->phase, __atomic_load_n(&thread->rest_phase, __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
}

/* Makes a thread usable again whose last hook was left by a jump. */
static void recover(struct allo_thread_state *thread)
{
	struct allo_thread_state *nested = thread->nested;

	allo_recorder_recover();
	allo_stacks_recover();
	allo_counts_recover();
	if (nested && nested->phase == ALLO_THREAD_BUSY)
		recover_state(nested);
	recover_state(thread);
}

bool allo_thread_leaves_abandoned(struct allo_thread_state *thread, struct allo_hook_frame entered)
{
	if (++thread->passed % PASSED_EVENTS != 0 || !allo_hook_is_abandoned(entered))
		return false;
	recover(thread);
	return true;
}

/* Whether an allocator makes this call.  A signal handler may have left it by a jump. */
static bool passes_by(struct allo_thread_state *thread, struct allo_hook_frame entered)
{
	return thread && thread->phase == ALLO_THREAD_PASSING &&
	       !allo_thread_leaves_abandoned(thread, entered);
}

/* Whether the sampling interval has changed since the thread was inside of a hook. */
static bool is_stale(const struct allo_thread_state *thread)
{
	return thread && thread->open_safepoint == ALLO_SAFEPOINT_STALE &&
	       thread->session == allo_session && thread->phase == ALLO_THREAD_IDLE;
}

/* Enters the hook like allo_enter_idle(). */
static bool enter_stale(struct allo_thread_state *thread)
{
	uint32_t word = allo_safepoint_open_word();

	if (!allo_enter_at(thread, ~(uint32_t)ALLO_SAFEPOINT_PLAIN, &word))
		return false;
	allo_overhead_catch_up(thread);
	return true;
}

static struct allo_thread_state *enter(struct allo_hook_frame entered)
{
	struct allo_thread_state *thread = allo_self;

	if (!allo_process || passes_by(thread, entered))
		return NULL;
	if (thread && thread->phase == ALLO_THREAD_BUSY && allo_hook_is_abandoned(entered))
		recover(thread);
	/* A freezing thread waits for the outer hook, so the nested one need not wait here. */
	if (thread && thread->phase == ALLO_THREAD_BUSY)
		return allo_allocator_is_apart ? enter_nested(thread) : NULL;
	while (allo_safepoint_wait() && allo_safepoint_state() != ALLO_SAFEPOINT_SHUT) {
		bool has_stale_rate = is_stale(thread);

		if (thread && (has_stale_rate ? enter_stale(thread) : allo_enter_idle(thread)))
			return thread;
		if (has_stale_rate || allo_safepoint_state() != ALLO_SAFEPOINT_OPEN)
			continue;
		thread = enter_beginning(thread);
		if (thread && allo_settings.has_stats)
			allo_counts_begun(thread);
		return thread;
	}
	return NULL;
}

/* Whether this call comes from the set-up in progress, which began at a frame.  Stacks grow down: a
 * call from a higher address shows that a signal handler has left the set-up by a jump. */
static bool is_within(uintptr_t frame)
{
	if (frame == 0)
		return false;
	if ((uintptr_t)__builtin_frame_address(0) < frame)
		return true;
	if (is_beginning)
		__atomic_sub_fetch(&allo_process->beginning, 1, __ATOMIC_SEQ_CST);
	is_beginning = false;
	return false;
}

struct allo_thread_state *allo_enter_slowly(void)
{
	static __thread uintptr_t entered; /* frame of the set-up in progress; 0: none */
	struct allo_thread_state *thread;

	allo_asked_size_return_self();
	/* Allocations of the set-up itself are not the program's. */
	if (is_within(entered))
		return NULL;
	entered = (uintptr_t)__builtin_frame_address(0);
	allo_process_init();
	thread = enter(ALLO_FRAME());
	entered = 0;
	return thread;
}

/* Ending. */

/* A thread that has just loaded the safepoint word may still store a rest phase that it loaded
 * earlier.  The barrier makes the new rest phase visible to all threads before their phases are
 * trusted. */
void allo_threads_end(void)
{
	struct allo_thread_state *first = __atomic_load_n(&allo_process->threads, __ATOMIC_ACQUIRE);

	for (struct allo_thread_state *thread = first; thread; thread = thread->next)
		turn_off(thread);
	allo_safepoint_barrier();
	for (struct allo_thread_state *thread = first; thread; thread = thread->next) {
		allo_safepoint_await_exit(thread);
		if (__atomic_load_n(&thread->phase, __ATOMIC_ACQUIRE) != ALLO_THREAD_BUSY)
			close_tail(thread);
	}
}

void allo_threads_init(void)
{
	has_end_key = pthread_key_create(&end_key, note_end) == 0;
	allo_thread_rest_init();
}
