// stack_room.cpp - measures the stack that allocation functions need.
//
// Each function runs on a painted stack: in a coroutine, twice, and as the first call of a thread.
// Prints one line per function: its name, the bytes of the coroutine's first and second call, and
// those of the thread.  "stack_room SIZE" runs all of them on coroutine stacks of that size in
// front of a page that cannot be touched, and prints "done".
#include "blocks.h"

#include <cstdint>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 1 << 18, PAINT = 0xa5 };

static const std::align_val_t aligned{ 64 };
static void *volatile block;

// Each call is in a function of its own: a new return address is the slow case.

APART static void call_malloc()
{
	block = held(malloc(1009));
}

APART static void call_free()
{
	free(held(block));
	stay();
}

APART static void call_calloc()
{
	block = held(calloc(1, 1013));
}

APART static void call_realloc()
{
	block = held(realloc(block, 5003));
}

APART static void call_reallocarray()
{
	block = held(reallocarray(block, 7, 1009));
}

APART static void call_aligned_alloc()
{
	block = held(aligned_alloc(64, 1019));
}

APART static void call_posix_memalign()
{
	void *made = nullptr;

	must(posix_memalign(&made, 64, 1021) == 0, "there is memory");
	block = held(made);
}

APART static void call_memalign()
{
	block = held(memalign(64, 1031));
}

APART static void call_new()
{
	block = held(operator new(1033));
}

APART static void call_delete()
{
	operator delete(held(block));
	stay();
}

APART static void call_new_aligned()
{
	block = held(operator new(1039, aligned));
}

APART static void call_delete_aligned()
{
	operator delete(held(block), aligned);
	stay();
}

// Functions that follow each other: one allocates, the next frees.
static const struct call {
	const char *name;
	void (*function)();
	void (*before)(), (*after)();
} calls[] = {
	{ "malloc", call_malloc, nullptr, call_free },
	{ "free", call_free, call_malloc, nullptr },
	{ "calloc", call_calloc, nullptr, call_free },
	{ "realloc", call_realloc, call_malloc, call_free },
	{ "reallocarray", call_reallocarray, call_malloc, call_free },
	{ "aligned_alloc", call_aligned_alloc, nullptr, call_free },
	{ "posix_memalign", call_posix_memalign, nullptr, call_free },
	{ "memalign", call_memalign, nullptr, call_free },
	{ "new", call_new, nullptr, call_delete },
	{ "delete", call_delete, call_new, nullptr },
	{ "new_aligned", call_new_aligned, nullptr, call_delete_aligned },
	{ "delete_aligned", call_delete_aligned, call_new_aligned, nullptr },
};

static ucontext_t outside, inside;
static char *stack;
static size_t stack_size;
static const struct call *current;
static uintptr_t start; // the stack pointer before the call

static void paint()
{
	memset(stack, PAINT, stack_size);
}

// The bytes that were used below `start`.
static size_t used()
{
	const char *at = stack;

	while (*at == (char)PAINT)
		at++;
	return start - (uintptr_t)at;
}

static void run_call()
{
	start = (uintptr_t)__builtin_frame_address(0);
	current->function();
	stay();
}

static void in_coroutine(void (*function)())
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = stack_size;
	inside.uc_link = &outside;
	makecontext(&inside, function, 0);
	swapcontext(&outside, &inside);
}

static size_t measure_coroutine(const struct call &call)
{
	size_t bytes;

	if (call.before)
		call.before();
	current = &call;
	paint();
	in_coroutine(run_call);
	bytes = used();
	if (call.after)
		call.after();
	return bytes;
}

static void *run_thread(void *)
{
	run_call();
	return nullptr;
}

static size_t measure_thread(const struct call &call)
{
	pthread_attr_t attributes;
	pthread_t thread;
	size_t bytes;

	if (call.before)
		call.before();
	current = &call;
	paint();
	pthread_attr_init(&attributes);
	must(pthread_attr_setstack(&attributes, stack, stack_size) == 0,
	     "a thread takes the stack");
	must(pthread_create(&thread, &attributes, run_thread, nullptr) == 0, "a thread starts");
	pthread_join(thread, nullptr);
	bytes = used();
	if (call.after)
		call.after();
	return bytes;
}

static void make_stack(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *mapping = (char *)mmap(nullptr, page + size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(mapping != MAP_FAILED && mprotect(mapping, page, PROT_NONE) == 0, "there is a stack");
	stack = mapping + page;
	stack_size = size;
}

int main(int count, char **words)
{
	bool is_small = count > 1;

	make_stack(is_small ? (size_t)atol(words[1]) : (size_t)STACK);
	for (const struct call &call : calls) {
		size_t slow = measure_coroutine(call), fast = measure_coroutine(call);

		if (!is_small)
			printf("%s %zu %zu %zu\n", call.name, slow, fast, measure_thread(call));
	}
	if (is_small)
		puts("done");
}
