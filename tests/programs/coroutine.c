/*
 * coroutine.c - a coroutine with a stack of its own, switched to by code without unwind tables, as
 * Boost.Context does it; and one of the C library.
 *
 * Each allocates 23 blocks, of 1009 and 1013 bytes, and switches back after each; the main stack
 * allocates 23 of 1019.
 */
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 64 << 10, TIMES = 23 };

/* Pushes the registers that a function must keep, and stores the stack pointer. */
void switch_to(uint64_t **from, uint64_t *to);
extern const char first_frame[], finish[];

__asm__(".text\n"
	"switch_to:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	/* As make_fcontext() of Boost. */
	"first_frame:\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	"finish:\n"
	"	xor %rdi, %rdi\n"
	"	call _exit@plt\n"
	"	hlt\n");

static uint64_t stacks[2][STACK / 8] __attribute__((aligned(16)));
static uint64_t *main_stack, *other_stack;
static ucontext_t main_context, other_context;
static void *volatile kept;

static void __attribute__((noinline)) use(size_t size)
{
	kept = malloc(size);
	free(kept);
}

static void run_switched(void)
{
	for (;;) {
		use(1009);
		switch_to(&other_stack, main_stack);
	}
}

static void run_context(void)
{
	for (;;) {
		use(1013);
		swapcontext(&other_context, &main_context);
	}
}

static void prepare(void)
{
	uint64_t *top = stacks[0] + STACK / 8 - 8;

	*--top = (uint64_t)first_frame;
	*--top = (uint64_t)finish;       /* rbp */
	*--top = (uint64_t)run_switched; /* rbx */
	other_stack = top - 4;
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stacks[1];
	other_context.uc_stack.ss_size = STACK;
	makecontext(&other_context, run_context, 0);
}

int main(void)
{
	prepare();
	for (int i = 0; i < TIMES; i++) {
		use(1019);
		switch_to(&main_stack, other_stack);
		swapcontext(&main_context, &other_context);
	}
	return 0;
}
