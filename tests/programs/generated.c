/*
 * generated.c - calls through code that is made at run time, without unwind tables.
 *
 * usage: generated COUNT
 *
 * Allocates 23 blocks of 1009 bytes through COUNT trampolines like those of `python3 -X perf`.
 * Compile it without frame pointers, as CPython is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 4096 };

/* As functions of CPython's trampolines: the fourth argument is called with the others. */
typedef long (*called)(long depth, void *chain, long unused);
typedef long (*trampoline)(long depth, void *chain, long unused, called function);

static void *volatile kept;

static long innermost(long depth, void *chain, long unused)
{
	(void)depth;
	(void)chain;
	kept = malloc(1009);
	free(kept);
	return unused + 1;
}

/* Each trampoline calls this, with the next one. */
static long __attribute__((noinline)) between(long depth, void *chain, long unused)
{
	trampoline *next = chain;

	return 1 + (depth > 1 ? next[0](depth - 1, next + 1, unused, between)
			      : next[0](0, NULL, unused, innermost));
}

int main(int count, char **words)
{
	/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
	static const uint8_t code[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
					0x48, 0x83, 0xc4, 0x08, 0xc3 };
	long trampolines = count > 1 ? atol(words[1]) : 1, sum = 0;
	uint8_t *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	trampoline chain[ROOM / 16];

	if (room == MAP_FAILED || trampolines < 1 || trampolines >= ROOM / 16)
		return 2;
	for (long i = 0; i < ROOM / 16; i++) {
		/* The first one ends with the page, which nothing follows. */
		uint8_t *at = room + ROOM - 16 * i - sizeof(code);

		memcpy(at, code, sizeof(code));
		chain[i] = (trampoline)(uintptr_t)at;
	}
	if (mprotect(room, ROOM, PROT_READ | PROT_EXEC) != 0)
		return 77;
	for (int i = 0; i < 23; i++)
		sum += between(trampolines, chain, 0);
	return sum == 23 * (trampolines + 1) ? 0 : 1;
}
