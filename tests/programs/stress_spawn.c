/*
 * stress_spawn.c - posix_spawn() of itself from two threads at once, its children allocate.
 *     stress_spawn [child]
 */
#include "blocks.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int child(void)
{
	for (int i = 0; i < 7; i++)
		free(filled(4099, i));
	return 3;
}

static int spawned(void)
{
	char program[] = "/proc/self/exe", word[] = "child";
	char *arguments[] = { program, word, NULL };
	posix_spawn_file_actions_t actions;
	int status = -1;
	pid_t pid;

	must(posix_spawn_file_actions_init(&actions) == 0, "there are file actions");
	must(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0,
	     "a file action is taken");
	must(posix_spawn(&pid, program, &actions, NULL, arguments, environ) == 0, "it starts");
	posix_spawn_file_actions_destroy(&actions);
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "a child ends by itself");
	return WEXITSTATUS(status);
}

static void *spawn_many(void *argument)
{
	for (int i = 0; i < 12; i++)
		*(int *)argument += spawned();
	return NULL;
}

int main(int argc, char **argv)
{
	int here = 0, there = 0;
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "child") == 0)
		return child();
	must(pthread_create(&thread, NULL, spawn_many, &there) == 0, "a thread starts");
	spawn_many(&here);
	pthread_join(thread, NULL);
	printf("children said %d\n", here + there);
	return 0;
}
