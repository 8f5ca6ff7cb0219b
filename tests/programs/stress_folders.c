/*
 * stress_folders.c - goes to another folder, and with a second one makes that its root: paths lead
 * elsewhere from then on.
 *     stress_folders FOLDER [ROOT]
 */
#include "blocks.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *allocate_much(void *argument)
{
	for (int i = 0; i < 200000; i++)
		free(held(malloc((size_t)(i % 977))));
	return argument;
}

/* Here, in a thread and in a child. */
static void work(void)
{
	pthread_t thread;
	int status = -1;
	pid_t child;

	allocate_much(NULL);
	must(pthread_create(&thread, NULL, allocate_much, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		allocate_much(NULL);
		exit(3);
	}
	must(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3,
	     "a child ends");
}

int main(int argc, char **argv)
{
	must(argc > 1 && chdir(argv[1]) == 0, "there is a folder");
	work();
	if (argc > 2) {
		must(chroot(argv[2]) == 0 && chdir("/") == 0, "there is a root");
		work();
	}
	puts("worked elsewhere");
	return 0;
}
