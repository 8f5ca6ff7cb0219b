/* unwind_check.c - unwinding with libgcc, and comparing hashes. */
#include "capture/stacks/unwind_check.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <dlfcn.h>
#include <unistd.h>
#include <unwind.h>

enum { DEPTH_MAX = 4096 };

static _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn each, void *context);
static _Unwind_Ptr (*get_pc)(struct _Unwind_Context *frame);

static void find_functions(void *library)
{
	*(void **)&backtrace = dlsym(library, "_Unwind_Backtrace");
	*(void **)&get_pc = dlsym(library, "_Unwind_GetIP");
}

void allo_unwind_check_init(void)
{
	static bool is_done;
	void *libgcc;

	if (is_done || allo_settings.check_every == 0)
		return;
	find_functions(RTLD_DEFAULT);
	/* Loading a library initializes those that it needs.  The C library, too, but without the
	 * arguments of the program: so not before it has been initialized with them. */
	if (!backtrace && !environ)
		return;
	is_done = true;
	libgcc = backtrace ? NULL : dlopen("libgcc_s.so.1", RTLD_NOW);
	if (libgcc)
		find_functions(libgcc);
}

/* Allocated with mmap: too large for the stacks of the program's threads. */
struct found {
	uint64_t first; /* the innermost frame of the program; the runtime's are before it */
	size_t count;
	uint64_t pcs[DEPTH_MAX];
};

/* The second one is for a signal handler that interrupts a check. */
static __thread struct found *found_here[2];

static _Unwind_Reason_Code add(struct _Unwind_Context *frame, void *context)
{
	struct found *found = context;
	uint64_t pc = get_pc(frame);

	if (pc == 0 || found->count == DEPTH_MAX)
		return _URC_END_OF_STACK;
	if (found->count > 0 || pc == found->first)
		found->pcs[found->count++] = pc;
	return _URC_NO_REASON;
}

static uint32_t stack_of(const struct found *found, uint64_t seed)
{
	uint64_t hash = seed;

	for (size_t i = found->count; i-- > 0;)
		hash = allo_stack_hash(hash, found->pcs[i]);
	return allo_stack_find(hash);
}

void allo_unwind_check(struct allo_thread_state *thread, const struct allo_registers *caller,
		       uint32_t id)
{
	struct allo_wire_counts *counts = &allo_recorder->head->counts;
	uint64_t seed = thread->cache.seed;
	struct found *found;

	if (!backtrace || !get_pc || thread->checked++ % allo_settings.check_every != 0)
		return;
	if (!found_here[thread->is_nested])
		found_here[thread->is_nested] = allo_map_private(sizeof(*found));
	found = found_here[thread->is_nested];
	if (!found)
		return;
	found->first = caller->pc;
	found->count = 0;
	backtrace(add, found);
	if (found->count == 0 || found->count == DEPTH_MAX)
		return;
	allo_count(&counts->checked_stacks, 1);
	/* libgcc cannot tell the end of the stack from missing tables. */
	if (stack_of(found, allo_stack_hash_root(seed, false)) != id &&
	    stack_of(found, allo_stack_hash_root(seed, true)) != id)
		allo_count(&counts->different_stacks, 1);
}
