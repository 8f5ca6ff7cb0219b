/*
 * other_stack.c - calls a function on another stack, by code without unwind tables that keeps a
 * frame pointer, as Go calls C.  It has the note of Go's linker.
 *
 * Allocates 23 blocks of 1009 bytes.
 */
#include <stdlib.h>

enum { STACK = 64 << 10, TIMES = 23 };

/* Calls a function on the stack that ends at `end`. */
void call_there(char *end, void (*function)(void));

__asm__(".pushsection .note.go.buildid, \"a\", @note\n"
	"	.long 4, 4, 4\n"
	"	.asciz \"Go\\0\"\n"
	"	.long 0\n"
	".popsection\n"
	".text\n"
	"call_there:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rdi, %rsp\n"
	"	call *%rsi\n"
	"	mov %rbp, %rsp\n"
	"	pop %rbp\n"
	"	ret\n");

static char stack[STACK] __attribute__((aligned(16)));
static void *volatile kept;

static void innermost(void)
{
	kept = malloc(1009);
	free(kept);
}

static void __attribute__((noinline)) outer(void)
{
	for (int i = 0; i < TIMES; i++)
		call_there(stack + STACK, innermost);
}

int main(void)
{
	outer();
	return kept == NULL;
}
