/*
 * leaks.c - blocks that are never freed, and that nothing points to: 7 of 1009 bytes at the start,
 * 30 of 101 spread over the run, 3 of 4099 in its middle, all made by functions of their own.  Of
 * 53 bytes there are 1550 that are freed.  The argument is how long a step takes, in milliseconds;
 * there are 30.
 */
#include "blocks.h"

#include <time.h>

static APART void leak_at_start(void)
{
	filled(1009, 1);
	stay();
}

static APART void leak_on(void)
{
	filled(101, 2);
	stay();
}

static APART void leak_in_the_middle(void)
{
	filled(4099, 3);
	stay();
}

static APART void *borrow(void)
{
	void *block = filled(53, 4);

	stay();
	return block;
}

static APART void use(void)
{
	for (int i = 0; i < 50; i++)
		free(borrow());
	stay();
}

/* A search for pointers does not find it. */
static APART void wipe_stack(void)
{
	volatile char bytes[4096];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 0;
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	for (int i = 0; i < 7; i++)
		leak_at_start();
	use();
	for (int step = 0; step < 30; step++) {
		nanosleep(&pause, NULL);
		use();
		leak_on();
		if (step >= 14 && step < 17)
			leak_in_the_middle();
	}
	wipe_stack();
	return 0;
}
