/*
 * hooks_attached.c - operators new of an allocator in an attached process.
 *
 * They may or may not call malloc, whose entry is ours.  So the hook asks the allocator for memory
 * itself, as malloc does: all allocators that bring operators let these share their heap.
 */
#include "capture/hooks/operators.h"
#include "capture/hooks/real.h"
#include "capture/modes.h"

#define NEW(symbol)                                                                                \
	{                                                                                          \
		symbol, true, false, NULL                                                          \
	}
#define NEW_ALIGNED(symbol)                                                                        \
	{                                                                                          \
		symbol, true, true, NULL                                                           \
	}
#define DELETE(symbol)                                                                             \
	{                                                                                          \
		symbol, false, false, NULL                                                         \
	}

struct allo_attached_operator allo_attached_operators[ALLO_ATTACHED_OPERATORS] = {
	NEW("_Znwm"),
	NEW("_Znam"),
	NEW("_ZnwmRKSt9nothrow_t"),
	NEW("_ZnamRKSt9nothrow_t"),
	NEW_ALIGNED("_ZnwmSt11align_val_t"),
	NEW_ALIGNED("_ZnamSt11align_val_t"),
	NEW_ALIGNED("_ZnwmSt11align_val_tRKSt9nothrow_t"),
	NEW_ALIGNED("_ZnamSt11align_val_tRKSt9nothrow_t"),
	DELETE("_ZdlPv"),
	DELETE("_ZdaPv"),
	DELETE("_ZdlPvm"),
	DELETE("_ZdaPvm"),
	DELETE("_ZdlPvRKSt9nothrow_t"),
	DELETE("_ZdaPvRKSt9nothrow_t"),
	DELETE("_ZdlPvSt11align_val_t"),
	DELETE("_ZdaPvSt11align_val_t"),
	DELETE("_ZdlPvmSt11align_val_t"),
	DELETE("_ZdaPvmSt11align_val_t"),
	DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t"),
	DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t"),
};

void *allo_attached_new(uint64_t size, uint64_t second, uint64_t third, uint64_t fourth,
			uint64_t fifth, struct allo_attached_operator *given)
{
	struct allo_thread_state *thread = allo_enter();
	void *pointer = given->is_aligned ? allo_real.memalign(second, size)
					  : allo_real.malloc(size);

	(void)fourth;
	(void)fifth;
	if (pointer && thread)
		return allo_got(thread, pointer, size, allo_settings.min_size, ALLO_FRAME());
	if (thread)
		allo_leave(thread);
	/* Without memory, the operator calls the program's handler, or throws. */
	return pointer ? pointer : given->original(size, second, third);
}
