/*
 * blocks.c - 23 blocks of 1009 bytes, 20 of which are freed: counts that nothing else makes by
 * chance.  Then, by its argument:
 *
 *     abort     dies of SIGABRT
 *     leave     leaves a process behind that holds a block and waits for its standard input to end
 *     remove    removes the recording that the second argument names
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *blocks[23];

static void leave_process(void)
{
	char byte;

	if (fork() != 0)
		return;
	setsid();
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	blocks[0] = malloc(4099);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	free(blocks[0]);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	for (int i = 0; i < 23; i++)
		blocks[i] = memset(malloc(1009), i, 1009);
	for (int i = 0; i < 20; i++)
		free(blocks[i]);
	if (strcmp(what, "abort") == 0)
		abort();
	if (strcmp(what, "leave") == 0) {
		leave_process();
		usleep(300000); /* the other has begun its recording by then */
	}
	if (strcmp(what, "remove") == 0)
		return unlink(argv[2]) == 0 ? 5 : 6;
	return 0;
}
