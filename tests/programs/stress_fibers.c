/*
 * stress_fibers.c - fibers on stacks of their own, which allocate in turns at different depths;
 * stacks are unmapped as soon as their fibers are through, and used again by others.
 */
#include "blocks.h"

#include <sys/mman.h>
#include <ucontext.h>

enum { FIBERS = 40, ROUNDS = 6, STACK = 1 << 16 };

struct fiber {
	ucontext_t context;
	void *stack;
	int number, is_over;
};

static ucontext_t scheduler;
static struct fiber fibers[FIBERS];
static struct fiber *current;
static int finished;

static void pause_fiber(void)
{
	swapcontext(&current->context, &scheduler);
}

/* Allocates on the way in and on the way out, and lets others run in between. */
APART static void descend(int depth)
{
	void *block = filled((size_t)(1009 + depth), depth);

	if (depth > 0)
		descend(depth - 1);
	pause_fiber();
	must_be_filled(block, (size_t)(1009 + depth), depth);
	free(block);
}

static void run(void)
{
	descend(current->number % 12);
	current->is_over = 1;
	/* uc_link leads back to the scheduler. */
}

static void start(struct fiber *fiber, int number)
{
	fiber->number = number;
	fiber->is_over = 0;
	fiber->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	must(fiber->stack != MAP_FAILED, "there is a stack");
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = &scheduler;
	makecontext(&fiber->context, run, 0);
}

static int resume(struct fiber *fiber)
{
	if (!fiber->stack)
		return 0;
	current = fiber;
	swapcontext(&scheduler, &fiber->context);
	if (fiber->is_over) {
		munmap(fiber->stack, STACK);
		fiber->stack = NULL;
		finished++;
		/* Something else may lie there now. */
		free(filled(STACK, 1));
	}
	return 1;
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		int running = 1;

		for (int i = 0; i < FIBERS; i++)
			start(&fibers[i], i + round);
		while (running) {
			running = 0;
			for (int i = 0; i < FIBERS; i++)
				running |= resume(&fibers[i]);
		}
	}
	printf("%d fibers\n", finished);
	return 0;
}
