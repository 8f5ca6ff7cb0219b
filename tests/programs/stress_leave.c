/*
 * stress_leave.c - children that end at any moment, while `allo` starts and stops their recordings.
 *
 *     stress_leave COUNT
 */
#include "blocks.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS = 3, STEP_US = 37, STEPS = 200 };

static long now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Allocates all the time, for some milliseconds at most. */
static void live(unsigned number)
{
	long end = now_us() + number * 7919 % STEPS * STEP_US;

	do {
		free(held(malloc(number % 1000 + 1)));
	} while (now_us() < end);
	(number % 3 == 0 ? exit : _exit)(STATUS);
}

int main(int count, char **words)
{
	unsigned children = count > 1 ? (unsigned)atoi(words[1]) : 100;

	for (unsigned i = 0; i < children; i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			live(i);
		must(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
			     WEXITSTATUS(status) == STATUS,
		     "a child ends by itself");
	}
	printf("%u children\n", children);
	return 0;
}
