/*
 * patched.c - patches functions that begin with each kind of instruction, and calls both the
 * patched function and the original.
 *
 * usage: patched
 */
#include "capture/patch/patch.h"
#include "capture/stacks/modules.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

typedef long function(long x);

/* A function in assembly, with a size that dladdr1() and the test know. */
#define FUNCTION(name, body)                                                                       \
	long name(long x);                                                                         \
	extern const char name##_end[] __attribute__((visibility("hidden")));                      \
	__asm__(".pushsection .text\n.p2align 4\n.globl " #name "\n.type " #name                   \
		", %function\n" #name ":\n" body "\n" #name "_end:\n.size " #name ", . - " #name   \
		"\n.popsection")

extern const long seven __attribute__((visibility("hidden")));
const long seven = 7;

#if defined(__x86_64__)
FUNCTION(plain, "lea 7(%rdi), %rax\n nop\n ret");
FUNCTION(with_landing, "endbr64\n push %rbx\n lea 7(%rdi), %rax\n pop %rbx\n ret");
FUNCTION(with_data, "mov seven(%rip), %rax\n add %rdi, %rax\n ret");
FUNCTION(with_branch,
	 "test %rdi, %rdi\n js 1f\n lea 7(%rdi), %rax\n ret\n 1: lea 7(%rdi), %rax\n ret");
FUNCTION(with_far_branch,
	 "test %rdi, %rdi\n .byte 0x0f, 0x84\n .long 1f - . - 4\n lea 7(%rdi), %rax\n"
	 "ret\n .skip 200\n 1: mov $7, %eax\n ret");
FUNCTION(with_jump, "mov %rdi, %rax\n jmp 1f\n .skip 60\n 1: lea 7(%rdi), %rax\n ret");
FUNCTION(alias, "jmp plain");
FUNCTION(calling, "call plain\n ret");
FUNCTION(counting, "mov %rdi, %rcx\n loop 1f\n nop\n nop\n 1: ret");
FUNCTION(testing, "jrcxz 1f\n nop\n nop\n nop\n 1: ret");
FUNCTION(short_one, "mov %edi, %eax\n ret");
FUNCTION(repeating, "mov %rdi, %rax\n 1: add $7, %rax\n cmp $7, %rax\n jl 1b\n ret");
FUNCTION(repeating_all,
	 "add $7, %rdi\n nop\n cmp $7, %rdi\n jl repeating_all\n mov %rdi, %rax\n ret");
FUNCTION(unknown, ".byte 0x06, 0x90, 0x90, 0x90, 0x90\n ret");
#elif defined(__aarch64__)
FUNCTION(plain, "add x0, x0, #7\n ret");
FUNCTION(with_landing, "hint #34\n add x0, x0, #7\n ret");
FUNCTION(with_data, "adrp x1, seven\n ldr x1, [x1, :lo12:seven]\n add x0, x0, x1\n ret");
FUNCTION(with_near_data, "adr x1, 1f\n ldr x1, [x1]\n add x0, x0, x1\n ret\n 1: .quad 7");
FUNCTION(with_literal, "ldr x1, 1f\n add x0, x0, x1\n ret\n nop\n 1: .quad 7");
FUNCTION(with_narrow_literal, "ldr w1, 1f\n add x0, x0, x1\n ret\n nop\n 1: .word 7");
FUNCTION(with_signed_literal, "ldrsw x1, 1f\n sub x0, x0, x1\n ret\n nop\n 1: .word -7");
FUNCTION(with_vector_literal, "ldr d0, 1f\n fmov x1, d0\n add x0, x0, x1\n ret\n 1: .quad 7");
FUNCTION(with_branch, "cbz x0, 1f\n add x0, x0, #7\n ret\n 1: mov x0, #7\n ret");
FUNCTION(with_bit_branch, "tbz x0, #0, 1f\n add x0, x0, #7\n ret\n 1: add x0, x0, #7\n ret");
FUNCTION(signing, "hint #25\n add x0, x0, #7\n hint #29\n ret");
FUNCTION(alias, "b plain");
FUNCTION(calling, "bl plain\n ret");
FUNCTION(short_one, "ret");
FUNCTION(repeating_all, "add x0, x0, #7\n cmp x0, #7\n b.lt repeating_all\n ret");
#endif

static unsigned long calls;
static function *original;

static long replacement(long x)
{
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	return original(x);
}

static void fail(const char *name, const char *what)
{
	printf("%s: %s\n", name, what);
	exit(1);
}

/* The patched function, called for numbers of both signs, calls the replacement and returns what it
 * did before; undone, it is the old one again. */
static void check_patched(const char *name, function *patched, const char *end)
{
	struct allo_patch patch;

	calls = 0;
	if (!allo_patch_prepare(&patch, (void *)patched, (size_t)(end - (const char *)patched),
				(void *)replacement, (void **)&original))
		fail(name, allo_patch_refusal_text(patch.refusal));
	if (patched(5) != 12 || calls != 0)
		fail(name, "changed before the patch was applied");
	if (!allo_patch_seal() || !allo_patch_apply(&patch))
		fail(name, "not applied");
	for (long x = -3; x <= 3; x++) {
		if (patched(x) != x + 7)
			fail(name, "returns another value when patched");
	}
	if (calls != 7)
		fail(name, "does not call the replacement");
	if (original(5) != 12 || calls != 7)
		fail(name, "the original is not the old function");
	if (!allo_patch_undo(&patch) || patched(5) != 12 || calls != 7)
		fail(name, "not undone");
	printf("%s: patched\n", name);
}

static void check_refused(const char *name, function *refused, const char *end,
			  enum allo_patch_refusal refusal)
{
	struct allo_patch patch;

	if (allo_patch_prepare(&patch, (void *)refused, (size_t)(end - (const char *)refused),
			       (void *)replacement, (void **)&original))
		fail(name, "not refused");
	if (patch.refusal != refusal)
		fail(name, allo_patch_refusal_text(patch.refusal));
	printf("%s: %s\n", name, allo_patch_refusal_text(refusal));
}

/* Threads that call a function while it is patched and unpatched again and again.  Its first
 * instruction is as long as the jump, so no thread stands inside of it. */

#if defined(__x86_64__)
FUNCTION(busy, ".byte 0x48, 0x8d, 0x87\n .long 7\n ret"); /* lea with a long displacement */
#else
FUNCTION(busy, "add x0, x0, #7\n ret");
#endif

enum { ROUNDS = 2000 };

static bool is_over;

static void *call_busy(void *context)
{
	long x = 0;

	(void)context;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		if (busy(x) != x + 7)
			fail("busy", "returned a wrong value");
		x++;
	}
	return NULL;
}

static void check_threads(void)
{
	struct allo_patch patch;
	pthread_t threads[2];

	if (!allo_patch_prepare(&patch, (void *)busy, (size_t)(busy_end - (char *)busy),
				(void *)replacement, (void **)&original) ||
	    !allo_patch_seal())
		fail("busy", "not prepared");
	calls = 0;
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, call_busy, NULL);
	for (unsigned i = 0; i < ROUNDS || calls == 0; i++) {
		if (!allo_patch_apply(&patch) || !allo_patch_undo(&patch))
			fail("busy", "not applied");
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("busy: patched\n");
}

#define PATCHED(name)          check_patched(#name, name, name##_end)
#define REFUSED(name, refusal) check_refused(#name, name, name##_end, ALLO_PATCH_##refusal)

int main(void)
{
	allo_modules_init();
	PATCHED(plain);
	PATCHED(with_landing);
	PATCHED(with_data);
	PATCHED(with_branch);
	PATCHED(alias);
#if defined(__x86_64__)
	PATCHED(with_far_branch);
	PATCHED(with_jump);
	REFUSED(counting, LOOP);
	REFUSED(testing, LOOP);
	REFUSED(repeating, BRANCH);
	REFUSED(unknown, UNKNOWN);
#else
	PATCHED(with_near_data);
	PATCHED(with_literal);
	PATCHED(with_narrow_literal);
	PATCHED(with_signed_literal);
	PATCHED(with_vector_literal);
	PATCHED(with_bit_branch);
	/* A processor that checks where indirect calls go needs the instruction in its place. */
	if (getauxval(AT_HWCAP2) & HWCAP2_BTI)
		REFUSED(signing, LANDING);
	else
		PATCHED(signing);
#endif
	REFUSED(calling, CALL);
	REFUSED(short_one, END);
	REFUSED(repeating_all, BRANCH);
	if (allo_patch_target((void *)alias) != (void *)plain)
		fail("alias", "is not followed");
	check_threads();
	return 0;
}
