/*
 * descriptors.c - shows or counts its own descriptors while it allocates.
 *
 * descriptors list    prints the numbers of the open ones
 * descriptors limit   opens as many as it may, and allocates at the limit
 * descriptors fork    forks while another thread allocates; a child has the parent's descriptors
 */
#include "blocks.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 200000, LIMIT = 40, FORKS = 100, NUMBERS_MOST = 1024 };

static volatile int is_over;

/* More than fits in any buffer of the runtime. */
APART static void allocate_much(void)
{
	for (int i = 0; i < EVENTS / 2; i++)
		free(held(malloc((size_t)(i % 977))));
	stay();
}

static void list(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	allocate_much();
	while ((entry = readdir(folder)))
		puts(entry->d_name);
	closedir(folder);
}

static void *run(void *argument)
{
	allocate_much();
	return argument;
}

static void run_child(void)
{
	pid_t child = fork();
	int status;

	must(child >= 0, "a process starts");
	if (child == 0) {
		allocate_much();
		_exit(7);
	}
	must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "it ends well");
	must(waitpid(-1, &status, __WALL) == -1, "there is no other child");
}

static void reach_limit(void)
{
	struct rlimit limit = { LIMIT, LIMIT };
	pthread_t thread;
	int count = 0;

	must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit can be set");
	while (dup(0) >= 0)
		count++;
	printf("%d more\n", count);
	allocate_much();
	must(pthread_create(&thread, NULL, run, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
	run_child();
	must(dup(0) < 0, "the limit holds");
	must(close(LIMIT - 1) == 0, "the last one is ours");
	allocate_much();
	must(dup(0) == LIMIT - 1, "there is room for one again");
}

/* Without a function that allocates. */
static int count_open(void)
{
	int count = 0;

	for (int fd = 0; fd < NUMBERS_MOST; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void *run_until_over(void *argument)
{
	while (!is_over)
		allocate_much();
	return argument;
}

static void fork_often(void)
{
	int expected = count_open(), status, wrong = 0;
	pthread_t thread;

	must(pthread_create(&thread, NULL, run_until_over, NULL) == 0, "a thread starts");
	for (int i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(count_open() == expected ? 0 : 1);
		waitpid(child, &status, 0);
		wrong += WEXITSTATUS(status) != 0;
	}
	is_over = 1;
	pthread_join(thread, NULL);
	printf("%d children with other descriptors\n", wrong);
}

int main(int argc, char **argv)
{
	must(argc > 1, "descriptors list|limit|fork");
	allocate_much();
	if (strcmp(argv[1], "list") == 0)
		list();
	else if (strcmp(argv[1], "limit") == 0)
		reach_limit();
	else
		fork_often();
	return 0;
}
