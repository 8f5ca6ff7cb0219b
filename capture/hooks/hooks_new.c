/*
 * hooks_new.c - replacements for the C++ operators new and delete, under their mangled names.
 *
 * The operators of the C++ library call malloc and free, where they are recorded, so the hook is
 * just a jump, after a note of sizes that they round up (asked_size.h).  An allocator that brings
 * its own operators does not call malloc in them; these are recorded here.  new may throw, so the
 * thread is not inside of the hook while it runs.
 */
#include "capture/file/record.h"
#include "capture/hooks/asked_size.h"
#include "capture/hooks/built_in.h"
#include "capture/hooks/operators.h"
#include "capture/hooks/real.h"
#include "capture/process.h"

#include <dlfcn.h>

/* Stand-ins for C++ types. */
typedef size_t alignment_t;
typedef const void *nothrow_t;

/* If a program loads the C++ library with dlopen and RTLD_LOCAL, RTLD_NEXT does not find its
 * operators, so the library is searched by name. */
static void *find(const char *symbol)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1" };
	void *found = dlsym(RTLD_NEXT, symbol), *library;

	for (unsigned i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !found; i++) {
		library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		if (library)
			found = dlsym(library, symbol);
	}
	if (!found)
		__builtin_trap(); /* the program could not have been linked */
	return found;
}

/* True if the operator belongs to the allocator and does not call malloc. */
static bool is_allocator(void *function)
{
	allo_process_init();
	return (allo_settings.track & ALLO_TRACK_NEW) &&
	       allo_are_in_one_module(function, allo_real_malloc_entry);
}

struct cxx_operator {
	const char *symbol;
	void *function;
	bool is_recorded;
};

static __attribute__((cold, noinline)) void resolve(struct cxx_operator *real)
{
	void *function = find(real->symbol);

	real->is_recorded = is_allocator(function);
	__atomic_store_n(&real->function, allo_built_in_past(function), __ATOMIC_RELEASE);
}

static inline bool is_recorded(struct cxx_operator *real)
{
	if (__builtin_expect(!__atomic_load_n(&real->function, __ATOMIC_ACQUIRE), 0))
		resolve(real);
	return __builtin_expect(real->is_recorded, 0);
}

/* Notes of the size, for operators without and with an alignment. */
#define NOTE_ZERO(function)                                                                        \
	do {                                                                                       \
		if (__builtin_expect(size == 0, 0))                                                \
			allo_asked_size_note_zero(function);                                       \
	} while (0)
#define NOTE_ALIGNED(function) allo_asked_size_note(size, alignment, function)

/* new may throw, so the thread is not inside of the hook while it runs.  Another hook that it calls
 * records the block, and sets built_in_cfa.  Returns whether that will tell: not in a signal
 * handler that has interrupted a hook. */
static inline bool expect_other_hook(void)
{
	struct allo_thread_state *thread = allo_self;

	if (!thread || thread->phase != ALLO_THREAD_IDLE)
		return false;
	thread->built_in_cfa = 0;
	return true;
}

static inline bool was_in_other_hook(void)
{
	return allo_self->built_in_cfa != 0;
}

/* The recording half is a separate function, so that a forwarded call is a jump and the hook is in
 * no stack. */
#define NEW(name, symbol_text, note, parameters, arguments)                                        \
	static struct cxx_operator name##_real = { .symbol = (symbol_text) };                      \
                                                                                                   \
	static __attribute__((noinline)) void *name##_recorded parameters                          \
	{                                                                                          \
		bool can_tell = expect_other_hook();                                               \
		void *pointer = ((void *(*)parameters)name##_real.function)arguments;              \
		struct allo_thread_state *thread;                                                  \
                                                                                                   \
		if (can_tell && was_in_other_hook())                                               \
			return pointer;                                                            \
		thread = allo_enter();                                                             \
		if (!thread)                                                                       \
			return pointer;                                                            \
		return allo_got(thread, pointer, size, allo_settings.min_size, ALLO_FRAME());      \
	}                                                                                          \
                                                                                                   \
	ALLO_HOOK void *name parameters __asm__(symbol_text);                                      \
	ALLO_HOOK void *name parameters                                                            \
	{                                                                                          \
		if (is_recorded(&name##_real))                                                     \
			return name##_recorded arguments;                                          \
		note(name##_real.function);                                                        \
		return ((void *(*)parameters)name##_real.function)arguments;                       \
	}

/* Other hooks that delete calls must not record the free again. */
#define DELETE(name, symbol_text, parameters, arguments)                                           \
	static struct cxx_operator name##_real = { .symbol = (symbol_text) };                      \
                                                                                                   \
	ALLO_HOOK void name parameters __asm__(symbol_text);                                       \
	ALLO_HOOK void name parameters                                                             \
	{                                                                                          \
		struct allo_thread_state *thread;                                                  \
                                                                                                   \
		thread = is_recorded(&name##_real) && pointer ? allo_enter() : NULL;               \
		if (!thread) {                                                                     \
			((void(*) parameters)name##_real.function) arguments;                      \
			return;                                                                    \
		}                                                                                  \
		allo_give(thread, pointer, ALLO_CALLER());                                         \
		allo_pass_by(thread);                                                              \
		((void(*) parameters)name##_real.function) arguments;                              \
		allo_pass_no_more(thread);                                                         \
		allo_leave(thread);                                                                \
	}

NEW(new_one, "_Znwm", NOTE_ZERO, (size_t size), (size))
NEW(new_array, "_Znam", NOTE_ZERO, (size_t size), (size))
NEW(new_one_nothrow, "_ZnwmRKSt9nothrow_t", NOTE_ZERO, (size_t size, nothrow_t n), (size, n))
NEW(new_array_nothrow, "_ZnamRKSt9nothrow_t", NOTE_ZERO, (size_t size, nothrow_t n), (size, n))
NEW(new_one_aligned, "_ZnwmSt11align_val_t", NOTE_ALIGNED, (size_t size, alignment_t alignment),
    (size, alignment))
NEW(new_array_aligned, "_ZnamSt11align_val_t", NOTE_ALIGNED, (size_t size, alignment_t alignment),
    (size, alignment))
NEW(new_one_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", NOTE_ALIGNED,
    (size_t size, alignment_t alignment, nothrow_t n), (size, alignment, n))
NEW(new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", NOTE_ALIGNED,
    (size_t size, alignment_t alignment, nothrow_t n), (size, alignment, n))

DELETE(delete_one, "_ZdlPv", (void *pointer), (pointer))
DELETE(delete_array, "_ZdaPv", (void *pointer), (pointer))
DELETE(delete_one_sized, "_ZdlPvm", (void *pointer, size_t size), (pointer, size))
DELETE(delete_array_sized, "_ZdaPvm", (void *pointer, size_t size), (pointer, size))
DELETE(delete_one_nothrow, "_ZdlPvRKSt9nothrow_t", (void *pointer, nothrow_t n), (pointer, n))
DELETE(delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", (void *pointer, nothrow_t n), (pointer, n))
DELETE(delete_one_aligned, "_ZdlPvSt11align_val_t", (void *pointer, alignment_t a), (pointer, a))
DELETE(delete_array_aligned, "_ZdaPvSt11align_val_t", (void *pointer, alignment_t a), (pointer, a))
DELETE(delete_one_sized_aligned, "_ZdlPvmSt11align_val_t",
       (void *pointer, size_t size, alignment_t a), (pointer, size, a))
DELETE(delete_array_sized_aligned, "_ZdaPvmSt11align_val_t",
       (void *pointer, size_t size, alignment_t a), (pointer, size, a))
DELETE(delete_one_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
       (void *pointer, alignment_t a, nothrow_t n), (pointer, a, n))
DELETE(delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
       (void *pointer, alignment_t a, nothrow_t n), (pointer, a, n))

static struct cxx_operator *const operators[] = {
	&new_one_real,
	&new_array_real,
	&new_one_nothrow_real,
	&new_array_nothrow_real,
	&new_one_aligned_real,
	&new_array_aligned_real,
	&new_one_aligned_nothrow_real,
	&new_array_aligned_nothrow_real,
	&delete_one_real,
	&delete_array_real,
	&delete_one_sized_real,
	&delete_array_sized_real,
	&delete_one_nothrow_real,
	&delete_array_nothrow_real,
	&delete_one_aligned_real,
	&delete_array_aligned_real,
	&delete_one_sized_aligned_real,
	&delete_array_sized_aligned_real,
	&delete_one_aligned_nothrow_real,
	&delete_array_aligned_nothrow_real,
};

enum { OPERATORS = sizeof(operators) / sizeof(*operators) };

void allo_operators_update(void)
{
	for (size_t i = 0; i < OPERATORS; i++) {
		void *function = __atomic_load_n(&operators[i]->function, __ATOMIC_ACQUIRE);

		if (function)
			__atomic_store_n(&operators[i]->function, allo_built_in_past(function),
					 __ATOMIC_RELEASE);
	}
}
