/*
 * stress_longjmp.c - leaves many frames at once, and enters others where they were.
 */
#include "blocks.h"

#include <setjmp.h>
#include <signal.h>

static jmp_buf back;
static sigjmp_buf back_from_signal;
static volatile int jumps;

APART static void deeper(int depth, size_t size)
{
	free(filled(size, depth));
	if (depth == 0)
		longjmp(back, 1);
	deeper(depth - 1, size);
	stay();
}

/* Frames of another size at the same depth. */
APART static void deeper_and_wider(int depth, size_t size)
{
	volatile char room[777];

	room[depth] = 1;
	free(filled(size + (size_t)room[depth], depth));
	if (depth == 0)
		longjmp(back, 1);
	deeper_and_wider(depth - 1, size);
	stay();
}

static void on_signal(int signal)
{
	free(filled(2003, signal));
	siglongjmp(back_from_signal, 1);
}

APART static void jump(int number)
{
	if (setjmp(back) == 0) {
		if (number % 2 == 0)
			deeper(number % 50, 1009);
		else
			deeper_and_wider(number % 30, 1012);
	}
	jumps++;
	if (sigsetjmp(back_from_signal, 1) == 0)
		raise(SIGUSR1);
	free(filled(4099, 1));
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 500; i++)
		jump(i);
	printf("%d jumps\n", jumps);
	return 0;
}
