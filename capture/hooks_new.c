/*
 * hooks_new.c - replacements for the C++ operators new and delete, under their mangled names.
 *
 * The operators of the C++ library call malloc and free, where they are recorded, so the hook is
 * just a jump, after a note of sizes that they round up (asked_size.h).  An allocator that brings
 * its own operators does not call malloc in them; these are recorded here.  new may throw, so the
 * thread is not inside of the hook while it runs.
 */
#include "capture/asked_size.h"
#include "capture/process.h"
#include "capture/real.h"
#include "capture/record.h"

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
	       allo_are_in_one_module(function, (void *)allo_real.malloc);
}

struct cxx_operator {
	void *function;
	bool is_recorded;
};

static __attribute__((cold, noinline)) void resolve(struct cxx_operator *real, const char *symbol)
{
	void *function = find(symbol);

	real->is_recorded = is_allocator(function);
	__atomic_store_n(&real->function, function, __ATOMIC_RELEASE);
}

static inline bool is_recorded(struct cxx_operator *real, const char *symbol)
{
	if (__builtin_expect(!__atomic_load_n(&real->function, __ATOMIC_ACQUIRE), 0))
		resolve(real, symbol);
	return __builtin_expect(real->is_recorded, 0);
}

/* Notes of the size, for operators without and with an alignment. */
#define NOTE_ZERO(function)                                                                        \
	do {                                                                                       \
		if (__builtin_expect(size == 0, 0))                                                \
			allo_asked_size_note_zero(function);                                       \
	} while (0)
#define NOTE_ALIGNED(function) allo_asked_size_note(size, alignment, function)

/* The recording half is a separate function, so that a forwarded call is a jump and the hook is in
 * no stack. */
#define NEW(name, symbol, note, parameters, arguments)                                             \
	static struct cxx_operator name##_real;                                                    \
                                                                                                   \
	static __attribute__((noinline)) void *name##_recorded parameters                          \
	{                                                                                          \
		void *pointer = ((void *(*)parameters)name##_real.function)arguments;              \
		struct allo_thread_state *thread = allo_enter();                                   \
                                                                                                   \
		if (!thread)                                                                       \
			return pointer;                                                            \
		return allo_got(thread, pointer, size, allo_settings.min_size, ALLO_FRAME());      \
	}                                                                                          \
                                                                                                   \
	ALLO_HOOK void *name parameters __asm__(symbol);                                           \
	ALLO_HOOK void *name parameters                                                            \
	{                                                                                          \
		if (is_recorded(&name##_real, symbol))                                             \
			return name##_recorded arguments;                                          \
		note(name##_real.function);                                                        \
		return ((void *(*)parameters)name##_real.function)arguments;                       \
	}

#define DELETE(name, symbol, parameters, arguments)                                                \
	ALLO_HOOK void name parameters __asm__(symbol);                                            \
	ALLO_HOOK void name parameters                                                             \
	{                                                                                          \
		static struct cxx_operator real;                                                   \
		struct allo_thread_state *thread;                                                  \
                                                                                                   \
		thread = is_recorded(&real, symbol) && pointer ? allo_enter() : NULL;              \
		if (thread)                                                                        \
			allo_give(thread, pointer);                                                \
		((void(*) parameters)real.function) arguments;                                     \
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
