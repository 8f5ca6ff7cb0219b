/* hooks.c - the functions of libc that ours stand in front of. */
#include "capture/allocator_stats_proxy.h"
#include "capture/modes.h"
#include "capture/process.h"
#include "capture/real.h"
#include "capture/record.h"
#include "capture/sampler.h"
#include "capture/stack_intern.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* C23; libc does not have them yet.  What they are told besides is for allocators that make use of
 * it. */
void free_sized(void *pointer, size_t size);
void free_aligned_sized(void *pointer, size_t alignment, size_t size);

static inline void *got(struct allo_thread_state *thread, void *pointer, size_t size,
			struct allo_hook_frame frame)
{
	return allo_got(thread, pointer, size, allo_settings.malloc_size, frame);
}

/* The functions that are called all the time jump to what is to be done now: to the real one, to
 * what records, or to what mostly does not.  A frame that is left by a jump is in no stack. */
#define APART static __attribute__((noinline))

APART void *malloc_recorded(size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.malloc(size);
	return got(thread, allo_real.malloc(size), size, ALLO_FRAME());
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

	if (thread)
		allo_give(thread, pointer);
	allo_real.free(pointer);
}

static void *resize(struct allo_thread_state *thread, void *pointer, size_t size,
		    struct allo_hook_frame frame)
{
	void *moved;

	if (pointer)
		allo_record_resize(thread, pointer);
	moved = allo_real.realloc(pointer, size);
	if (moved && size >= allo_settings.malloc_size)
		allo_record_alloc(thread, moved, size, frame);
	else if (pointer) /* without a size, or with one too small to be recorded, it is gone */
		allo_record_outcome(thread,
				    moved || size == 0 ? ALLO_ESCAPE_GONE : ALLO_ESCAPE_FAILED);
	return moved;
}

static void *resize_special(struct allo_thread_state *thread, void *pointer, size_t size,
			    struct allo_hook_frame frame)
{
	void *moved;

	allo_filtered_resize(thread, 0, pointer);
	moved = allo_real.realloc(pointer, size);
	allo_filtered_resized(thread, 0, moved, size, frame);
	return moved;
}

APART void *realloc_recorded(void *pointer, size_t size)
{
	struct allo_thread_state *thread = allo_enter();
	void *moved;

	if (!thread)
		return allo_real.realloc(pointer, size);
	moved = allo_settings.is_filtered ? resize_special(thread, pointer, size, ALLO_FRAME())
					  : resize(thread, pointer, size, ALLO_FRAME());
	allo_leave(thread);
	return moved;
}

/* Where each block is recorded and no more: what programs do most, as short as it can be. */

APART void *malloc_plain(size_t size)
{
	struct allo_thread_state *thread = allo_self;
	struct allo_registers caller;
	uint32_t stack;
	void *pointer;

	if (__builtin_expect(!thread || !allo_enter_plain(thread), 0))
		return malloc_recorded(size);
	/* First, since the processor goes on to the real one while it waits for what this reads. */
	caller = allo_hook_caller(ALLO_FRAME());
	stack = allo_thread_stack(thread, &caller);
	pointer = allo_real.malloc(size);
	if (__builtin_expect(pointer != NULL, 1))
		allo_record_block(thread, pointer, size, stack);
	allo_leave(thread);
	return pointer;
}

APART void free_plain(void *pointer)
{
	struct allo_thread_state *thread = allo_self;

	if (__builtin_expect(!pointer || !thread || !allo_enter_plain(thread), 0)) {
		free_recorded(pointer);
		return;
	}
	allo_record_free(thread, pointer);
	allo_leave(thread);
	allo_real.free(pointer);
}

/* Of sampled recordings: a block that is not taken is only counted. */

static inline bool passes(const struct allo_thread_state *thread)
{
	return __builtin_expect(thread &&
					thread->open_safepoint ==
						__atomic_load_n(&allo_safepoint, __ATOMIC_RELAXED),
				1);
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

/* Of statistics alone. */

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

/* What is to be done active_hooks. */

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
static const struct hooks sampled_hooks = { malloc_sampled, calloc_sampled, realloc_recorded,
					    free_sampled };
static const struct hooks counted_hooks = { malloc_counted, calloc_recorded, realloc_recorded,
					    free_counted };
static struct hooks active_hooks = { malloc_recorded, calloc_recorded, realloc_recorded,
				     free_recorded };

/* Once, before whatever else is to be done: see allocator_stats_proxy.h. */

APART void *malloc_asked(size_t size)
{
	allo_allocator_proxy_serve();
	return active_hooks.malloc(size);
}

APART void free_asked(void *pointer)
{
	allo_allocator_proxy_serve();
	active_hooks.free(pointer);
}

static struct hooks choose_hooks(void)
{
	const struct allo_settings *settings = &allo_settings;

	if (allo_safepoint_state() == ALLO_SAFEPOINT_SHUT)
		return (struct hooks){ allo_real.malloc, allo_real.calloc, allo_real.realloc,
				       allo_real.free };
	if (settings->is_plain)
		return plain_hooks;
	if (settings->malloc_size > 0)
		return recorded_hooks;
	if (settings->mode == ALLO_SAMPLED && !settings->has_stats)
		return sampled_hooks;
	return settings->mode == ALLO_COUNTERS ? counted_hooks : recorded_hooks;
}

/* Two threads may be at it: whoever is the last has seen what is so then. */
void allo_hooks_update(void)
{
	uint32_t gate;
	bool is_asked;

	do {
		gate = __atomic_load_n(&allo_safepoint, __ATOMIC_SEQ_CST);
		is_asked = allo_allocator_proxy_is_pending();
		active_hooks = choose_hooks();
		if (is_asked) {
			active_hooks.malloc = malloc_asked;
			active_hooks.free = free_asked;
		}
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (gate != __atomic_load_n(&allo_safepoint, __ATOMIC_SEQ_CST) ||
		 is_asked != allo_allocator_proxy_is_pending());
}

ALLO_HOOK void *malloc(size_t size)
{
	return active_hooks.malloc(size);
}

ALLO_HOOK void *calloc(size_t count, size_t size)
{
	return active_hooks.calloc(count, size);
}

ALLO_HOOK void free(void *pointer)
{
	if (!allo_is_early(pointer))
		active_hooks.free(pointer);
}

/* A block from before the real functions were found moves to them. */
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
	return active_hooks.realloc(pointer, size);
}

ALLO_HOOK void *memalign(size_t alignment, size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.memalign(alignment, size);
	return got(thread, allo_real.memalign(alignment, size), size, ALLO_FRAME());
}

ALLO_HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return allo_real.aligned_alloc(alignment, size);
	return got(thread, allo_real.aligned_alloc(alignment, size), size, ALLO_FRAME());
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
	got(thread, failure ? NULL : *pointer, size, ALLO_FRAME());
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

/* Another module may take the place of one that goes: what is known of addresses ends here. */
ALLO_HOOK int dlclose(void *handle)
{
	struct allo_thread_state *thread;
	int result;

	allo_process_init();
	result = allo_real.dlclose(handle);
	if (!allo_recorder || allo_recorder->state != ALLO_RECORDER_ON)
		return result;
	allo_rules_forget();
	__atomic_add_fetch(&allo_recorder->generation, 1, __ATOMIC_RELEASE);
	/* Inside, so that the recording does not end meanwhile. */
	thread = allo_enter();
	if (thread) {
		allo_stacks_modules_gone(thread->is_nested);
		allo_leave(thread);
	}
	return result;
}
