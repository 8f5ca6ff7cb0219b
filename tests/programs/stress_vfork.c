/*
 * stress_vfork.c - children that borrow their parent's memory until they become another program,
 * or fail to, some with allocations of their own in between.
 *     stress_vfork [child]
 */
#include "blocks.h"

#include <sys/wait.h>
#include <unistd.h>

/* The child returns through this function's frame, so it needs a separate one. */
APART static int run(const char *program, int blocks)
{
	pid_t child = vfork();
	int status = -1;

	if (child == 0) {
		/* No manual allows it, and yet it is done: the parent sleeps meanwhile. */
		for (int i = 0; i < blocks; i++)
			free(held(malloc(4099)));
		execl(program, program, "child", (char *)NULL);
		_exit(7);
	}
	must(child > 0 && waitpid(child, &status, 0) == child, "a child ends");
	must(WIFEXITED(status), "a child ends by itself");
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int sum = 0;

	(void)argv;
	if (argc > 1) {
		free(filled(4099, 1));
		return 3;
	}
	for (int i = 0; i < 30; i++) {
		void *block = filled(1009, i);

		sum += run(i % 3 == 0 ? "/nowhere/at/all" : "/proc/self/exe", i % 4);
		must_be_filled(block, 1009, i);
		free(block);
	}
	printf("children said %d\n", sum);
	return 0;
}
