/*
 * hooks.c - replacements for malloc, free and the other allocation functions of libc.
 *
 * malloc, calloc, realloc and free jump through a dispatch table, active_hooks.  There is one table
 * per recording mode, so the fast path never tests the mode.  A frame that is left by a tail call
 * is in no stack, so stacks begin at the caller of malloc.
 */
#include "base/assert.h"
#include "capture/control/allocator_stats_proxy.h"
#include "capture/file/record.h"
#include "capture/hooks/asked_size.h"
#include "capture/hooks/real.h"
#include "capture/hooks/resizing.h"
#include "capture/modes.h"
#include "capture/process.h"
#include "capture/python/python.h"
#include "capture/python/python_objects.h"
#include "capture/sampler.h"
#include "capture/stacks/modules.h"
#include "capture/stacks/stack_intern.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* C23 functions that libc does not declare yet.  Only some allocators use the extra arguments. */
void free_sized(void *pointer, size_t size);
void free_aligned_sized(void *pointer, size_t alignment, size_t size);

static inline void *got(struct allo_thread_state *thread, void *pointer, size_t size,
			struct allo_hook_frame frame)
{
	return allo_got(thread, pointer, size, allo_settings.malloc_size, frame);
}

/* The same for a function that operator new calls with a larger size. */
static inline void *got_asked(struct allo_thread_state *thread, void *pointer, size_t size,
			      struct allo_hook_frame frame)
{
	return got(thread, pointer, pointer ? allo_asked_size_find(size, frame) : size, frame);
}

/* A target of the dispatch table: never inlined, so that the exported hook is a single jump. */
#define APART static __attribute__((noinline))

/* The general hooks: correct in every mode. */

APART void *malloc_recorded(size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.malloc(size);
	return got_asked(thread, allo_real.malloc(size), size, ALLO_FRAME());
}

APART void *calloc_recorded(size_t count, size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.calloc(count, size);
	return got(thread, allo_real.calloc(count, size), count * size, ALLO_FRAME());
}

APART void free_recorded(void *pointer)
{
	struct allo_thread_state *thread = pointer ? allo_enter() : NULL;

	if (thread) {
		allo_give(thread, pointer, ALLO_CALLER());
		allo_leave(thread);
	}
	allo_real.free(pointer);
}

APART void *realloc_recorded(void *pointer, size_t size)
{
	struct allo_thread_state *thread = allo_enter();
	void *moved;

	if (!thread)
		return allo_real.realloc(pointer, size);
	allo_resize_begin(thread, pointer);
	moved = allo_real.realloc(pointer, size);
	allo_resize_end(thread, pointer, moved, size, ALLO_FRAME());
	allo_leave(thread);
	return moved;
}

/* Exact recordings with every block and no statistics: the common case, as short as possible. */

APART void *malloc_plain(size_t size)
{
	struct allo_thread_state *thread = allo_self;
	struct allo_registers caller;
	uint32_t stack;
	void *pointer;

	if (__builtin_expect(!thread || !allo_enter_plain(thread), 0))
		return malloc_recorded(size);
	/* Before the real call: the processor executes it while these loads are pending. */
	caller = allo_hook_caller(ALLO_FRAME());
	stack = allo_thread_stack(thread, &caller);
	pointer = allo_real.malloc(size);
	if (__builtin_expect(pointer != NULL, 1))
		allo_record_block(thread, pointer, size, stack);
	allo_leave(thread);
	return pointer;
}

APART void free_timed(struct allo_thread_state *thread, void *pointer, uint64_t caller)
{
	allo_record_free_timed(thread, pointer, caller);
	allo_leave(thread);
	allo_real.free(pointer);
}

/* Calls no function but the last one, so it saves no registers. */
APART void free_plain(void *pointer)
{
	struct allo_thread_state *thread = allo_self;

	if (__builtin_expect(!pointer || !thread || !allo_enter_plain(thread), 0)) {
		free_recorded(pointer);
		return;
	}
	if (!allo_record_free_quickly(thread, pointer, ALLO_CALLER())) {
		free_timed(thread, pointer, ALLO_CALLER());
		return;
	}
	allo_leave(thread);
	allo_real.free(pointer);
}

/* Sampled recordings: a block that is not in the sample is only counted. */

static inline bool passes(const struct allo_thread_state *thread)
{
	return __builtin_expect(thread && thread->open_safepoint == allo_safepoint_load(), 1);
}

APART void *malloc_sampled(size_t size)
{
	struct allo_thread_state *thread = allo_self;

	if (passes(thread) && allo_sampler_passes(&thread->sampler, size))
		return allo_real.malloc(size);
	return malloc_recorded(size);
}

APART void *calloc_sampled(size_t count, size_t size)
{
	struct allo_thread_state *thread = allo_self;
	size_t bytes;

	if (passes(thread) && !__builtin_mul_overflow(count, size, &bytes) &&
	    allo_sampler_passes(&thread->sampler, bytes))
		return allo_real.calloc(count, size);
	return calloc_recorded(count, size);
}

APART void free_sampled(void *pointer)
{
	struct allo_thread_state *thread = allo_self;

	if (!pointer)
		return;
	if (passes(thread) && !allo_size_may_be_sampled(0, (uint64_t)pointer)) {
		thread->sampler.freed_blocks++;
		allo_real.free(pointer);
		return;
	}
	free_recorded(pointer);
}

/* Statistics without a recording. */

APART void *malloc_counted(size_t size)
{
	struct allo_thread_state *thread = allo_self;
	void *pointer;

	if (__builtin_expect(!thread || !allo_enter_idle(thread), 0))
		return malloc_recorded(size);
	pointer = allo_real.malloc(size);
	if (pointer && !allo_count_alloc_fast(thread, pointer, size))
		allo_filtered_alloc(thread, 0, pointer, size, ALLO_FRAME());
	allo_leave(thread);
	return pointer;
}

APART void free_counted(void *pointer)
{
	struct allo_thread_state *thread = allo_self;

	if (__builtin_expect(!pointer || !thread || !allo_enter_idle(thread), 0)) {
		free_recorded(pointer);
		return;
	}
	if (!allo_count_free_fast(thread, pointer))
		allo_filtered_free(thread, 0, pointer);
	allo_leave(thread);
	allo_real.free(pointer);
}

/* The dispatch table. */

struct hooks {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *pointer, size_t size);
	void (*free)(void *pointer);
};

static const struct hooks recorded_hooks = { malloc_recorded, calloc_recorded, realloc_recorded,
					     free_recorded };
static const struct hooks plain_hooks = { malloc_plain, calloc_recorded, realloc_recorded,
					  free_plain };
/* The same with functions of Python in stacks. */
static const struct hooks python_hooks = { malloc_recorded, calloc_recorded, realloc_recorded,
					   free_plain };
static const struct hooks sampled_hooks = { malloc_sampled, calloc_sampled, realloc_recorded,
					    free_sampled };
static const struct hooks counted_hooks = { malloc_counted, calloc_recorded, realloc_recorded,
					    free_counted };
static struct hooks active_hooks = { malloc_recorded, calloc_recorded, realloc_recorded,
				     free_recorded };

/* Relaxed: the targets are constant code, and they acquire the safepoint before they read anything.
 */
#define ACTIVE(name) __atomic_load_n(&active_hooks.name, __ATOMIC_RELAXED)

/* Run a pending request for allocator statistics first, then continue: see allocator_stats_proxy.h.
 */

APART void *malloc_proxied(size_t size)
{
	allo_allocator_proxy_serve();
	return ACTIVE(malloc)(size);
}

APART void free_proxied(void *pointer)
{
	allo_allocator_proxy_serve();
	ACTIVE(free)(pointer);
}

static struct hooks choose_hooks(void)
{
	const struct allo_settings *settings = &allo_settings;

	if (allo_safepoint_state() == ALLO_SAFEPOINT_SHUT)
		return (struct hooks){ allo_real.malloc, allo_real.calloc, allo_real.realloc,
				       allo_real.free };
	if (settings->is_plain)
		return allo_python_is_on ? python_hooks : plain_hooks;
	if (settings->malloc_size > 0)
		return recorded_hooks;
	if (settings->mode == ALLO_SAMPLED && !settings->has_stats)
		return sampled_hooks;
	return settings->mode == ALLO_COUNTERS ? counted_hooks : recorded_hooks;
}

/* Each pointer is stored on its own.  A thread may call malloc of one table and free of another in
 * the meantime: every hook checks the safepoint before it records. */
static void activate(struct hooks hooks)
{
	ALLO_ASSERT(hooks.malloc && hooks.calloc && hooks.realloc && hooks.free);
	__atomic_store_n(&active_hooks.malloc, hooks.malloc, __ATOMIC_RELAXED);
	__atomic_store_n(&active_hooks.calloc, hooks.calloc, __ATOMIC_RELAXED);
	__atomic_store_n(&active_hooks.realloc, hooks.realloc, __ATOMIC_RELAXED);
	__atomic_store_n(&active_hooks.free, hooks.free, __ATOMIC_RELAXED);
}

/* Two threads may update the table at once.  The loop makes the last of them use the state that it
 * finds at the end. */
void allo_hooks_update(void)
{
	struct hooks hooks;
	uint32_t safepoint;
	bool is_pending;

	do {
		safepoint = __atomic_load_n(&allo_safepoint, __ATOMIC_SEQ_CST);
		is_pending = allo_allocator_proxy_is_pending();
		hooks = choose_hooks();
		if (is_pending) {
			hooks.malloc = malloc_proxied;
			hooks.free = free_proxied;
		}
		activate(hooks);
		allo_python_objects_update();
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (safepoint != __atomic_load_n(&allo_safepoint, __ATOMIC_SEQ_CST) ||
		 is_pending != allo_allocator_proxy_is_pending());
}

ALLO_HOOK void *malloc(size_t size)
{
	return ACTIVE(malloc)(size);
}

ALLO_HOOK void *calloc(size_t count, size_t size)
{
	return ACTIVE(calloc)(count, size);
}

ALLO_HOOK void free(void *pointer)
{
	if (__builtin_expect(!allo_is_early(pointer), 1))
		ACTIVE(free)(pointer);
}

/* Moves a block of the early heap to the real one. */
static void *realloc_early(void *pointer, size_t size)
{
	void *moved = malloc(size);
	size_t room = (size_t)(allo_early + ALLO_EARLY_SIZE - (char *)pointer);

	if (moved)
		memcpy(moved, pointer, size < room ? size : room);
	return moved;
}

ALLO_HOOK void *realloc(void *pointer, size_t size)
{
	if (allo_is_early(pointer))
		return realloc_early(pointer, size);
	return ACTIVE(realloc)(pointer, size);
}

/* Operators new of allocators may call these hooks: see hooks_new.c. */
static inline void *got_aligned(struct allo_thread_state *thread, void *pointer, size_t size,
				struct allo_hook_frame frame)
{
	thread->built_in_cfa = frame.cfa;
	return got_asked(thread, pointer, size, frame);
}

ALLO_HOOK void *memalign(size_t alignment, size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.memalign(alignment, size);
	return got_aligned(thread, allo_real.memalign(alignment, size), size, ALLO_FRAME());
}

ALLO_HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.aligned_alloc(alignment, size);
	return got_aligned(thread, allo_real.aligned_alloc(alignment, size), size, ALLO_FRAME());
}

ALLO_HOOK void *valloc(size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.valloc(size);
	return got(thread, allo_real.valloc(size), size, ALLO_FRAME());
}

ALLO_HOOK void *pvalloc(size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.pvalloc(size);
	return got(thread, allo_real.pvalloc(size), size, ALLO_FRAME());
}

ALLO_HOOK int posix_memalign(void **pointer, size_t alignment, size_t size)
{
	struct allo_thread_state *thread = allo_enter();
	int failure;

	if (!thread)
		return allo_real.posix_memalign(pointer, alignment, size);
	failure = allo_real.posix_memalign(pointer, alignment, size);
	got_aligned(thread, failure ? NULL : *pointer, size, ALLO_FRAME());
	return failure;
}

ALLO_HOOK void free_sized(void *pointer, size_t size)
{
	(void)size;
	free(pointer);
}

ALLO_HOOK void free_aligned_sized(void *pointer, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(pointer);
}

/* Another module may be loaded where this one was, so all knowledge about addresses is dropped. */
ALLO_HOOK int dlclose(void *handle)
{
	struct allo_thread_state *thread;
	int result;

	allo_process_init();
	allo_python_keep_library();
	result = allo_real.dlclose(handle);
	if (!allo_recorder || !allo_recorder_is_on())
		return result;
	allo_modules_closed();
	allo_rules_forget();
	__atomic_add_fetch(&allo_generation, 1, __ATOMIC_RELEASE);
	/* A thread inside a hook keeps the recording from ending. */
	thread = allo_enter();
	if (thread) {
		allo_stacks_modules_gone(thread->is_nested);
		allo_leave(thread);
	}
	return result;
}
