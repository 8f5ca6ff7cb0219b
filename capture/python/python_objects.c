/* python_objects.c - sets of hooks for each of the domains.
 *
 * Programs wrap allocators, too: tracemalloc and the interpreter's debug hooks keep the allocator
 * that they find and put theirs in front.  So the hooks may have to go in front of a wrapper of
 * themselves.  The same functions cannot do that: they have one allocator to call, and would call
 * themselves through the wrapper.  Therefore each layer has its own functions, and is used once.
 * The outermost hook records, the others see that it does. */
#include "capture/python/python_objects.h"
#include "capture/modes.h"
#include "capture/settings.h"

/* Domains of CPython.  The first is malloc itself, but from 3.15 on without a GIL. */
enum { DOMAIN_RAW, DOMAIN_MEM, DOMAIN_OBJECT, DOMAINS };

/* One when the interpreter is found, one when its options have replaced that, and one in front of a
 * wrapper at the start of a later recording. */
enum { LAYERS = 3 };

static allo_python_get_allocator *get_allocator, *set_allocator;
static struct allo_python_allocator real[LAYERS][DOMAINS];
static int first_domain; /* of those that are hooked */
static bool is_recording;

static inline struct allo_thread_state *enter(void)
{
	return __atomic_load_n(&is_recording, __ATOMIC_RELAXED) ? allo_enter() : NULL;
}

static inline void *got(struct allo_thread_state *thread, void *object, size_t size,
			struct allo_hook_frame frame)
{
	allo_pass_no_more(thread);
	return allo_got(thread, object, size, allo_settings.min_size, frame);
}

static inline void begin_resize(struct allo_thread_state *thread, void *object)
{
	if (allo_settings.is_filtered)
		allo_filtered_resize(thread, 0, object);
	else if (object)
		allo_record_resize(thread, object);
	allo_pass_by(thread);
}

/* A size of 0 resizes to the smallest object. */
static inline void end_resize(struct allo_thread_state *thread, void *object, void *moved,
			      size_t size, struct allo_hook_frame frame)
{
	allo_pass_no_more(thread);
	if (allo_settings.is_filtered)
		allo_filtered_resized(thread, 0, moved, size, frame);
	else if (moved && size >= allo_settings.min_size)
		allo_record_alloc(thread, moved, size, frame);
	else if (object)
		allo_record_outcome(thread, moved ? ALLO_ESCAPE_GONE : ALLO_ESCAPE_FAILED);
	allo_leave(thread);
}

static inline void give(struct allo_thread_state *thread, void *object, uint64_t caller)
{
	allo_give(thread, object, caller);
	allo_pass_by(thread);
}

/* Never inlined, so that there is one copy for all domains and layers. */
#define APART static __attribute__((noinline))

/* The general hooks: correct in every mode. */

APART void *object_malloc_recorded(const struct allo_python_allocator *next, size_t size)
{
	struct allo_thread_state *thread = enter();
	void *object;

	if (!thread)
		return next->malloc(next->context, size);
	allo_pass_by(thread);
	object = next->malloc(next->context, size);
	return got(thread, object, size, ALLO_FRAME());
}

APART void *object_calloc_recorded(const struct allo_python_allocator *next, size_t count,
				   size_t size)
{
	struct allo_thread_state *thread = enter();
	void *object;

	if (!thread)
		return next->calloc(next->context, count, size);
	allo_pass_by(thread);
	object = next->calloc(next->context, count, size);
	return got(thread, object, count * size, ALLO_FRAME());
}

APART void *object_realloc_recorded(const struct allo_python_allocator *next, void *object,
				    size_t size)
{
	struct allo_thread_state *thread = enter();
	void *moved;

	if (!thread)
		return next->realloc(next->context, object, size);
	begin_resize(thread, object);
	moved = next->realloc(next->context, object, size);
	end_resize(thread, object, moved, size, ALLO_FRAME());
	return moved;
}

APART void object_free_recorded(const struct allo_python_allocator *next, void *object)
{
	struct allo_thread_state *thread = object ? enter() : NULL;

	if (thread)
		give(thread, object, ALLO_CALLER());
	next->free(next->context, object);
	if (thread)
		allo_leave(thread);
}

/* Exact recordings with every block and no statistics, as in hooks.c. */

APART void *object_malloc_plain(const struct allo_python_allocator *next, size_t size)
{
	struct allo_thread_state *thread = allo_self;
	struct allo_registers caller;
	uint32_t stack;
	void *object;

	if (__builtin_expect(!thread || !allo_python_is_on || !allo_enter_plain(thread), 0))
		return object_malloc_recorded(next, size);
	caller = allo_hook_caller(ALLO_FRAME());
	stack = allo_thread_stack(thread, &caller);
	stack = allo_python_stack(thread, stack, &caller);
	allo_pass_by(thread);
	object = next->malloc(next->context, size);
	allo_pass_no_more(thread);
	if (__builtin_expect(object != NULL, 1))
		allo_record_block(thread, object, size, stack);
	allo_leave(thread);
	return object;
}

APART void object_free_plain(const struct allo_python_allocator *next, void *object)
{
	struct allo_thread_state *thread = allo_self;

	if (__builtin_expect(!object || !thread || !allo_enter_plain(thread), 0)) {
		object_free_recorded(next, object);
		return;
	}
	if (!allo_record_free_quickly(thread, object, ALLO_CALLER()))
		allo_record_free_timed(thread, object, ALLO_CALLER());
	allo_pass_by(thread);
	next->free(next->context, object);
	allo_leave(thread);
}

/* The hooks take nothing from the context.  CPython may read it before or after they are set.  They
 * are single jumps, so the functions above see CPython's frame as their caller's. */
#define HOOKS(name, layer, domain)                                                                 \
	static void *name##_malloc(void *context, size_t size)                                     \
	{                                                                                          \
		(void)context;                                                                     \
		return object_malloc_plain(&real[layer][domain], size);                            \
	}                                                                                          \
                                                                                                   \
	static void *name##_calloc(void *context, size_t count, size_t size)                       \
	{                                                                                          \
		(void)context;                                                                     \
		return object_calloc_recorded(&real[layer][domain], count, size);                  \
	}                                                                                          \
                                                                                                   \
	static void *name##_realloc(void *context, void *object, size_t size)                      \
	{                                                                                          \
		(void)context;                                                                     \
		return object_realloc_recorded(&real[layer][domain], object, size);                \
	}                                                                                          \
                                                                                                   \
	static void name##_free(void *context, void *object)                                       \
	{                                                                                          \
		(void)context;                                                                     \
		object_free_plain(&real[layer][domain], object);                                   \
	}

HOOKS(raw_0, 0, DOMAIN_RAW)
HOOKS(raw_1, 1, DOMAIN_RAW)
HOOKS(raw_2, 2, DOMAIN_RAW)
HOOKS(mem_0, 0, DOMAIN_MEM)
HOOKS(mem_1, 1, DOMAIN_MEM)
HOOKS(mem_2, 2, DOMAIN_MEM)
HOOKS(object_0, 0, DOMAIN_OBJECT)
HOOKS(object_1, 1, DOMAIN_OBJECT)
HOOKS(object_2, 2, DOMAIN_OBJECT)

#define FUNCTIONS(name)                                                                            \
	{                                                                                          \
		NULL, name##_malloc, name##_calloc, name##_realloc, name##_free                    \
	}

static const struct allo_python_allocator hooks[LAYERS][DOMAINS] = {
	{ FUNCTIONS(raw_0), FUNCTIONS(mem_0), FUNCTIONS(object_0) },
	{ FUNCTIONS(raw_1), FUNCTIONS(mem_1), FUNCTIONS(object_1) },
	{ FUNCTIONS(raw_2), FUNCTIONS(mem_2), FUNCTIONS(object_2) },
};

void allo_python_objects_init(allo_python_get_allocator *get, allo_python_get_allocator *set,
			      bool raw_is_malloc)
{
	if (!get || !set || !(allo_settings.track & ALLO_TRACK_PYTHON))
		return;
	get_allocator = get;
	set_allocator = set;
	first_domain = raw_is_malloc ? DOMAIN_MEM : DOMAIN_RAW;
	allo_python_objects_hook();
	allo_python_objects_update();
}

/* The first layer that is not used; -1 if the allocator needs no hooks or can have none. */
static int choose_layer(int domain, const struct allo_python_allocator *now)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		if (now->malloc == hooks[layer][domain].malloc)
			return -1;
		if (!real[layer][domain].malloc)
			return layer;
	}
	return -1;
}

static void hook(int domain, const struct allo_python_allocator *raw)
{
	struct allo_python_allocator now = { 0 }, ours;
	int layer;

	get_allocator(domain, &now);
	if (!now.malloc || (now.malloc == raw->malloc && domain != DOMAIN_RAW))
		return;
	layer = choose_layer(domain, &now);
	if (layer < 0)
		return;
	real[layer][domain] = now;
	ours = hooks[layer][domain];
	/* A thread may read the old function and the new context. */
	ours.context = now.context;
	set_allocator(domain, &ours);
}

void allo_python_objects_hook(void)
{
	static bool is_busy;
	struct allo_python_allocator raw = { 0 };

	if (!get_allocator || __atomic_exchange_n(&is_busy, true, __ATOMIC_ACQUIRE))
		return;
	get_allocator(DOMAIN_RAW, &raw);
	for (int domain = first_domain; domain < DOMAINS; domain++)
		hook(domain, &raw);
	__atomic_store_n(&is_busy, false, __ATOMIC_RELEASE);
}

bool allo_python_objects_are_hooked(void)
{
	return get_allocator != NULL;
}

void allo_python_objects_update(void)
{
	__atomic_store_n(&is_recording,
			 get_allocator && allo_safepoint_state() != ALLO_SAFEPOINT_SHUT,
			 __ATOMIC_RELAXED);
}
