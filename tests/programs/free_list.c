/*
 * free_list.c - a program with a small malloc of its own, in the same source as its callers.
 *
 * The compiler knows which registers these functions use, and keeps values in the others across
 * calls, unless they call a function of another library.
 *
 *     free_list             makes a list and checks it
 *     free_list fork        a child makes 1000 blocks of 1009 bytes by operator new alone
 *     free_list jump        a signal handler leaves malloc by a jump; then 5000 blocks of 1013
 * bytes
 *
 * -DCALLS has them call such a function when memory is short.
 */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct block {
	size_t size;
	struct block *next;
};

static char room[64 << 20] __attribute__((aligned(16)));
static size_t used;
static struct block *list;
static volatile int must_jump;
static sigjmp_buf place;

static inline void call_others(int is_short)
{
#ifdef CALLS
	if (is_short)
		getppid();
	if (must_jump)
		raise(SIGUSR1);
#else
	(void)is_short;
#endif
}

void *malloc(size_t size)
{
	struct block **at = &list, *block;

	size = (size + 15) & ~(size_t)15;
	call_others(size > sizeof(room));
	for (; (block = *at); at = &block->next) {
		if (block->size >= size) {
			*at = block->next;
			return block + 1;
		}
	}
	if (used + size + sizeof(*block) > sizeof(room))
		return NULL;
	block = (struct block *)(room + used);
	used += size + sizeof(*block);
	*block = (struct block){ size, NULL };
	return block + 1;
}

void free(void *pointer)
{
	struct block *block = pointer;

	call_others(used > sizeof(room));
	if (!pointer)
		return;
	block--;
	block->next = list;
	list = block;
}

void *calloc(size_t count, size_t size)
{
	char *pointer = malloc(count * size);

	if (pointer)
		memset(pointer, 0, count * size);
	return pointer;
}

void *realloc(void *pointer, size_t size)
{
	char *moved = malloc(size);
	size_t before = pointer ? ((struct block *)pointer)[-1].size : 0;

	if (moved && pointer) {
		memcpy(moved, pointer, before < size ? before : size);
		free(pointer);
	}
	return moved;
}

/* operator new(unsigned long), which does not call malloc. */
__attribute__((noinline)) void *new_block(size_t size) __asm__("_Znwm");
void *new_block(size_t size)
{
	struct block *block = (struct block *)(room + used);

	call_others(size > sizeof(room));
	size = (size + 15) & ~(size_t)15;
	used += size + sizeof(*block);
	*block = (struct block){ size, NULL };
	return block + 1;
}

struct item {
	struct item *next;
	char name[40];
	size_t id, kind;
};

__attribute__((noinline)) static struct item *make(struct item *next, const char *name, size_t id,
						   size_t kind, size_t flags)
{
	struct item *item = malloc(sizeof(*item));

	item->next = next;
	item->id = id ^ flags;
	item->kind = kind;
	strcpy(item->name, name);
	return item;
}

static int check_list(void)
{
	struct item *items = NULL;
	size_t count = 0, wrong = 0;

	for (size_t i = 1; i < 200; i++)
		items = make(items, "item", i, i * 2, 0);
	for (; items; items = items->next) {
		count++;
		wrong += items->kind != items->id * 2 || strcmp(items->name, "item") != 0;
	}
	printf("%zu items, %zu wrong\n", count, wrong);
	return wrong != 0;
}

static int make_in_child(void)
{
	static void *volatile kept;

	kept = new_block(77);
	if (fork() == 0) {
		for (int i = 0; i < 1000; i++)
			kept = new_block(1009);
		_exit(0);
	}
	return wait(NULL) < 0;
}

static void leave(int number)
{
	(void)number;
	must_jump = 0;
	siglongjmp(place, 1);
}

/* A call from far below the one that was left. */
__attribute__((noinline)) static void make_deep(int depth)
{
	volatile char frame[256];

	frame[0] = (char)depth;
	if (depth > 0)
		make_deep(depth - 1);
	else
		free(malloc(1013));
	frame[1] = 1;
}

static int jump(void)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_NODEFER };

	sigaction(SIGUSR1, &action, NULL);
	if (!sigsetjmp(place, 1)) {
		must_jump = 1;
		free(malloc(77));
	}
	for (int i = 0; i < 5000; i++)
		make_deep(5);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "fork") == 0)
		return make_in_child();
	return argc > 1 ? jump() : check_list();
}
