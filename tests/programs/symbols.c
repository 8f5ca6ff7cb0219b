/* symbols.c - functions that allocate: plain, static, inlined, and called by a signal handler. */
#include <signal.h>
#include <stdlib.h>

static void *volatile kept[64];

static inline __attribute__((always_inline)) void *innermost(size_t size)
{
	return malloc(size);
}

static inline __attribute__((always_inline)) void keep_inlined(int slot, size_t size)
{
	kept[slot] = innermost(size);
}

__attribute__((noinline)) void allocate_inlined(int slot)
{
	keep_inlined(slot, 1009);
	__asm__ volatile("");
}

static __attribute__((noinline)) void allocate_static(int slot)
{
	kept[slot] = calloc(7, 1013);
	__asm__ volatile("");
}

/* Nothing follows a call that never returns: its return address is in the next function. */
static __attribute__((noinline, noreturn)) void allocate_and_end(int slot)
{
	kept[slot] = malloc(1019);
	exit(0);
}

static void handle(int number)
{
	kept[number] = malloc(1021);
}

int main(void)
{
	for (int i = 0; i < 23; i++)
		allocate_inlined(i);
	allocate_static(30);
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	allocate_and_end(31);
}
