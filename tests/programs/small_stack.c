/*
 * small_stack.c - a target of `allo attach` whose memory below the stack pointer is in use.
 *
 * usage: small_stack MODE
 *
 * "computes" and "waits": a coroutine on a stack of 2 KiB computes, or waits for its input.  Below
 * the stack is memory of the program.  "deep": the same, below a function that has filled the whole
 * stack of the main thread so far.  The program ends when its standard input does, and prints how
 * many bytes have changed.
 */
#include <alloca.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { BELOW = 16 << 10, STACK = 2 << 10, FILL = 0xaa, DEEP = 1 << 20 };

static struct {
	unsigned char below[BELOW], stack[STACK];
} memory __attribute__((aligned(4096)));
static ucontext_t outer, inner;
static bool computes;

static unsigned changed(const unsigned char *bytes, size_t size)
{
	unsigned count = 0;

	for (size_t i = 0; i < size; i++)
		count += bytes[i] != FILL;
	return count;
}

static void run(void)
{
	char byte;

	while (read(0, &byte, 1) != 0) {
		for (volatile int i = 0; computes && i < 100000; i++) {
		}
	}
	swapcontext(&inner, &outer);
}

static unsigned run_on_small_stack(void)
{
	memset(&memory, FILL, sizeof(memory));
	getcontext(&inner);
	inner.uc_stack.ss_sp = memory.stack;
	inner.uc_stack.ss_size = sizeof(memory.stack);
	makecontext(&inner, run, 0);
	printf("ready\n");
	fflush(stdout);
	swapcontext(&outer, &inner);
	return changed(memory.below, sizeof(memory.below));
}

static unsigned run_deep(void)
{
	unsigned char *bytes = alloca(DEEP);
	unsigned found;

	memset(bytes, FILL, DEEP);
	found = run_on_small_stack();
	return found + changed(bytes, DEEP);
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "";
	unsigned found;
	char byte;

	/* The first call of a function finds its address, which needs a larger stack. */
	(void)!read(0, &byte, 0);
	computes = strcmp(mode, "computes") == 0;
	if (computes)
		fcntl(0, F_SETFL, O_NONBLOCK);
	found = strcmp(mode, "deep") == 0 ? run_deep() : run_on_small_stack();
	printf("%u bytes have changed\n", found);
	return found != 0;
}
