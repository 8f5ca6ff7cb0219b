/*
 * hooks_built_in.c - replacements for functions of allocators that the program contains.
 *
 * One hook serves all functions of a kind.  The functions have at most five arguments; the
 * trampoline adds the entry as the sixth.
 *
 * These allocators call their own functions, so a call inside of a hook is not recorded.  The stack
 * pointer tells such calls apart at once: it is below that of the hook.
 */
#include "capture/hooks/built_in.h"
#include "capture/hooks/resizing.h"

#include <string.h>

#define PARAMETERS                                                                                 \
	uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,                                \
		struct allo_built_in_entry *entry
#define ARGUMENTS        a, b, c, d, e, entry
#define ORIGINAL()       entry->original(a, b, c, d, e)
#define ARGUMENT(number) (((const uint64_t[8]){ a, b, c, d, e })[entry->function->number])

/* Never inlined, so that the hook itself jumps to it, and is in no stack. */
#define APART static __attribute__((noinline))

#define SIZE() (ARGUMENT(size) * (entry->function->count == ALLO_NO_ARGUMENT ? 1 : ARGUMENT(count)))

static inline bool is_recording_shut(void)
{
	return allo_safepoint_state() == ALLO_SAFEPOINT_SHUT;
}

/* Whether another hook has called this one.  From time to time it looks whether that one still
 * exists: a signal handler may have left it by a jump. */
static inline bool is_inside(struct allo_thread_state *thread, struct allo_hook_frame frame)
{
	return thread && thread->phase == ALLO_THREAD_BUSY && frame.cfa < thread->built_in_cfa &&
	       !allo_thread_leaves_abandoned(thread, frame);
}

/* Enters a hook; NULL if this call is not recorded. */
static struct allo_thread_state *enter(struct allo_hook_frame frame)
{
	struct allo_thread_state *thread = allo_self;

	if (is_recording_shut() || is_inside(thread, frame))
		return NULL;
	thread = allo_enter();
	if (thread)
		thread->built_in_cfa = frame.cfa;
	return thread;
}

static void *got(struct allo_thread_state *thread, uint64_t pointer, size_t size, uint64_t least,
		 struct allo_hook_frame frame)
{
	return allo_got(thread, (void *)pointer, size, least, frame);
}

/* Allocations. */

APART void *allocate_recorded(PARAMETERS)
{
	struct allo_thread_state *thread = enter(ALLO_FRAME());
	uint64_t pointer = ORIGINAL();

	if (!thread)
		return (void *)pointer;
	return got(thread, pointer, SIZE(), allo_settings.malloc_size, ALLO_FRAME());
}

/* In exact recordings with every block: see malloc_plain() in hooks.c. */
static void *allocate(PARAMETERS)
{
	struct allo_thread_state *thread = allo_self;
	struct allo_registers caller;
	uint32_t stack;
	void *pointer;

	if (__builtin_expect(!thread || !allo_enter_plain(thread), 0))
		return allocate_recorded(ARGUMENTS);
	caller = allo_hook_caller(ALLO_FRAME());
	thread->built_in_cfa = caller.sp;
	stack = allo_thread_stack(thread, &caller);
	pointer = (void *)ORIGINAL();
	if (__builtin_expect(pointer != NULL, 1))
		allo_record_block(thread, pointer, SIZE(), stack);
	allo_leave(thread);
	return pointer;
}

static void *copy_text(PARAMETERS)
{
	struct allo_thread_state *thread = enter(ALLO_FRAME());
	uint64_t pointer = ORIGINAL();

	if (!thread)
		return (void *)pointer;
	return got(thread, pointer, pointer ? strlen((const char *)pointer) + 1 : 0,
		   allo_settings.malloc_size, ALLO_FRAME());
}

static int store(PARAMETERS)
{
	struct allo_thread_state *thread = enter(ALLO_FRAME());
	int failure = (int)ORIGINAL();

	if (thread)
		got(thread, failure ? 0 : *(const uint64_t *)ARGUMENT(pointer), SIZE(),
		    allo_settings.malloc_size, ALLO_FRAME());
	return failure;
}

static void *resize(PARAMETERS)
{
	struct allo_thread_state *thread = enter(ALLO_FRAME());
	void *before = (void *)ARGUMENT(pointer), *moved;

	if (!thread)
		return (void *)ORIGINAL();
	allo_resize_begin(thread, before);
	moved = (void *)ORIGINAL();
	allo_resize_end(thread, before, moved, SIZE(), ALLO_FRAME());
	allo_leave(thread);
	return moved;
}

/* Resizes a block in place, to a size plus as much as possible of the third argument; returns how
 * large it is now. */
static size_t grow(PARAMETERS)
{
	struct allo_thread_state *thread = enter(ALLO_FRAME());
	size_t least = ARGUMENT(size), most = least + ARGUMENT(count), size;
	void *block = (void *)ARGUMENT(pointer);

	if (!thread)
		return ORIGINAL();
	allo_resize_begin(thread, block);
	size = ORIGINAL();
	allo_resize_end(thread, block, size >= least ? block : NULL, size < most ? size : most,
			ALLO_FRAME());
	allo_leave(thread);
	return size;
}

/* Frees.  The thread stays inside of the hook: delete may call free. */

APART void release_recorded(PARAMETERS)
{
	void *pointer = (void *)ARGUMENT(pointer);
	struct allo_thread_state *thread = pointer ? enter(ALLO_FRAME()) : NULL;

	if (thread)
		allo_give(thread, pointer, 0);
	ORIGINAL();
	if (thread)
		allo_leave(thread);
}

static void release(PARAMETERS)
{
	struct allo_thread_state *thread = allo_self;
	void *pointer = (void *)ARGUMENT(pointer);

	if (__builtin_expect(!pointer || !thread || !allo_enter_plain(thread), 0)) {
		release_recorded(ARGUMENTS);
		return;
	}
	thread->built_in_cfa = ALLO_FRAME().cfa;
	allo_record_free(thread, pointer, ALLO_CALLER());
	ORIGINAL();
	allo_leave(thread);
}

/* The operators new of C++, which may have a way of their own to the allocator, or call malloc:
 * then its hook records the block and sets built_in_cfa.  Both may happen, depending on the
 * allocator's state. They may throw, so the thread is not inside of the hook while they run. */

static void *operator_new(PARAMETERS)
{
	struct allo_thread_state *thread = allo_self;
	uint64_t pointer;

	/* A thread that is not inside of a hook may not have begun yet, as in a child. */
	if (thread && (thread->phase == ALLO_THREAD_BUSY || thread->phase == ALLO_THREAD_PARKED ||
		       thread->phase == ALLO_THREAD_PASSING))
		return (void *)ORIGINAL();
	if (thread)
		thread->built_in_cfa = 0;
	pointer = ORIGINAL();
	thread = allo_self;
	if (thread && thread->built_in_cfa != 0)
		return (void *)pointer;
	thread = enter(ALLO_FRAME());
	if (!thread)
		return (void *)pointer;
	return got(thread, pointer, SIZE(), allo_settings.min_size, ALLO_FRAME());
}

void *allo_built_in_hook(enum allo_built_in_kind kind)
{
	static void *const hooks[ALLO_BUILT_IN_KINDS] = {
		[ALLO_BUILT_IN_ALLOC] = (void *)allocate,
		[ALLO_BUILT_IN_NEW] = (void *)operator_new,
		[ALLO_BUILT_IN_TEXT] = (void *)copy_text,
		[ALLO_BUILT_IN_STORE] = (void *)store,
		[ALLO_BUILT_IN_RESIZE] = (void *)resize,
		[ALLO_BUILT_IN_GROW] = (void *)grow,
		[ALLO_BUILT_IN_FREE] = (void *)release,
	};

	return hooks[kind];
}
