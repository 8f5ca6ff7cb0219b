/*
 * stress_frames.c - frames that unwinders get wrong: variable ones, some that are realigned, calls
 * that do not return as a function's last instruction, and one function called from two places.
 *
 * Each is called 23 times with a different size.
 */
#include "blocks.h"

#include <alloca.h>
#include <setjmp.h>

static jmp_buf back;

APART static void allocate(size_t size)
{
	free(filled(size, 1));
	stay();
}

APART static void with_alloca(size_t room)
{
	volatile char *bytes = alloca(room);

	bytes[room - 1] = 1;
	allocate(1009);
	bytes[0] = 2;
}

APART static void with_array(size_t room)
{
	char bytes[room];

	held(bytes);
	allocate(1013);
	held(bytes);
}

/* The compiler aligns the stack by hand here. */
APART static void with_alignment(int value)
{
	_Alignas(256) volatile int aligned[64];

	aligned[0] = value;
	allocate(1019);
	must(((size_t)(const void *)aligned & 255) == 0 && aligned[0] == value, "it is aligned");
}

APART static void with_alignment_and_alloca(size_t room)
{
	_Alignas(128) volatile char aligned[128];
	volatile char *bytes = alloca(room);

	aligned[0] = bytes[0] = 3;
	allocate(1021);
	must(aligned[0] == 3 && bytes[0] == 3, "both are there");
}

/* Its return address, in callers, may lie behind the caller's last instruction. */
__attribute__((noreturn)) APART static void never_returns(size_t size)
{
	allocate(size);
	longjmp(back, 1);
}

__attribute__((noreturn)) APART static void ends_in_a_call(void)
{
	never_returns(1031);
}

APART static void from_here(void)
{
	allocate(1033);
	stay();
}

APART static void two_places(int place)
{
	if (place == 0) {
		from_here();
		stay();
	} else {
		from_here();
		__asm__ volatile("nop");
	}
}

int main(void)
{
	/* longjmp() comes back here: variables that change must be in memory. */
	volatile size_t i;

	for (i = 0; i < 23; i++) {
		with_alloca(100 + i * 37);
		with_array(100 + i * 53);
		with_alignment((int)i);
		with_alignment_and_alloca(100 + i * 71);
		if (setjmp(back) == 0)
			ends_in_a_call();
		two_places((int)i % 2);
	}
	puts("all frames");
	return 0;
}
