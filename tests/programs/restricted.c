/*
 * restricted.c - gives up its access to files, then allocates much.
 *
 * restricted chroot FOLDER | setuid | deleted FILE | renamed FILE
 */
#include "blocks.h"

#include <pthread.h>
#include <unistd.h>

enum { EVENTS = 400000 };

APART static void allocate_much(void)
{
	for (int i = 0; i < EVENTS / 2; i++)
		free(held(malloc((size_t)(i % 977))));
	stay();
}

static void *run(void *argument)
{
	allocate_much();
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	must(argc > 1, "restricted chroot|setuid|deleted|renamed");
	allocate_much();
	if (strcmp(argv[1], "chroot") == 0)
		must(chroot(argv[2]) == 0 && chdir("/") == 0, "chroot");
	else if (strcmp(argv[1], "setuid") == 0)
		must(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
	else if (strcmp(argv[1], "deleted") == 0)
		must(unlink(argv[2]) == 0, "the recording is deleted");
	else
		must(rename(argv[2], argv[3]) == 0, "the recording is renamed");
	allocate_much();
	must(pthread_create(&thread, NULL, run, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
