/* asked_size.c - notes of operator new, and the test whether an allocation belongs to one. */
#include "capture/hooks/asked_size.h"

/* The code of an operator is shorter than this: it is a loop around one call. */
enum { OPERATOR_CODE_MAX = 512 };

__thread struct allo_asked_size allo_asked_size;

void allo_asked_size_note(size_t size, size_t slack, const void *function)
{
	allo_asked_size.size = size;
	allo_asked_size.slack = slack;
	allo_asked_size.function = (uint64_t)function;
}

void allo_asked_size_note_zero(const void *function)
{
	allo_asked_size_note(0, 1, function);
	if (allo_self && allo_self->phase == ALLO_THREAD_IDLE) {
		allo_asked_size.self = allo_self;
		allo_self = NULL;
	}
}

size_t allo_asked_size_take(size_t size, struct allo_hook_frame frame)
{
	struct allo_asked_size *asked = &allo_asked_size;
	uint64_t from = allo_hook_caller(frame).pc - asked->function;

	if (from >= OPERATOR_CODE_MAX || size < asked->size || size - asked->size > asked->slack)
		return size;
	asked->function = 0;
	return asked->size;
}
