/*
 * operators.h - the C++ operators new and delete of allocators that bring their own.
 */
#ifndef ALLO_CAPTURE_OPERATORS_H
#define ALLO_CAPTURE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes our hooks call operators past patches that were made since. */
void allo_operators_update(void);

/* An operator of an attached process. */
struct allo_attached_operator {
	const char *symbol; /* mangled */
	bool is_new, is_aligned;
	void *(*original)(uint64_t size, uint64_t second, uint64_t third);
};

enum { ALLO_ATTACHED_OPERATORS = 20 };
extern struct allo_attached_operator allo_attached_operators[ALLO_ATTACHED_OPERATORS];

/* Takes the place of an operator new there, which is the sixth argument.  The hook of free() takes
 * that of each delete. */
void *allo_attached_new(uint64_t size, uint64_t second, uint64_t third, uint64_t fourth,
			uint64_t fifth, struct allo_attached_operator *given);

#endif
