/*
 * obeys.c - executes commands, one per line, and prints "done" after each.
 *
 *     get N SIZE       N blocks more that it holds        user N         another user, by number
 *     give N           gives the last N back              close          closes all descriptors
 * from 3 on brief N SIZE     N blocks, each gone again          folder PATH    goes there child a
 * child that obeys in its place    leave          _exit(7) apart            a user namespace of its
 * own        threads        says how many threads it has     end-thread     ends its only thread
 *
 * The end of its input is its own.
 */
#include "blocks.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 100000 };

static void *blocks[MOST];
static size_t count;

APART static void get(size_t number, size_t size)
{
	for (size_t i = 0; i < number && count < MOST; i++)
		blocks[count++] = memset(held(malloc(size)), 1, size);
	stay();
}

APART static void give(size_t number)
{
	for (; number > 0 && count > 0; number--)
		free(blocks[--count]);
	stay();
}

APART static void brief(size_t number, size_t size)
{
	for (size_t i = 0; i < number; i++)
		free(held(malloc(size)));
	stay();
}

/* The child takes over; its parent waits for it. */
static void make_child(void)
{
	pid_t child = fork();
	int status;

	must(child >= 0, "there can be a child");
	if (child == 0)
		return;
	waitpid(child, &status, 0);
	exit(WEXITSTATUS(status));
}

static int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int threads = -2; /* . and .. */

	while (readdir(folder))
		threads++;
	closedir(folder);
	return threads;
}

static void obey(const char *line)
{
	char word[16] = "", text[4000] = "";
	unsigned long number = 0, size = 0;

	sscanf(line, "%15s %3999s", word, text);
	sscanf(line, "%*s %lu %lu", &number, &size);
	if (strcmp(word, "get") == 0)
		get(number, size);
	else if (strcmp(word, "give") == 0)
		give(number);
	else if (strcmp(word, "brief") == 0)
		brief(number, size);
	else if (strcmp(word, "user") == 0)
		must(setgid((gid_t)number) == 0 && setuid((uid_t)number) == 0, "it may be another");
	else if (strcmp(word, "close") == 0)
		must(close_range(3, ~0u, 0) == 0, "all can be closed");
	else if (strcmp(word, "folder") == 0)
		must(chdir(text) == 0, "it can go there");
	else if (strcmp(word, "apart") == 0)
		printf("%s\n", unshare(CLONE_NEWUSER) == 0 ? "apart" : strerror(errno));
	else if (strcmp(word, "threads") == 0)
		printf("%d threads\n", count_threads());
	else if (strcmp(word, "child") == 0)
		make_child();
	else if (strcmp(word, "leave") == 0)
		_exit(7);
	else if (strcmp(word, "end-thread") == 0)
		syscall(SYS_exit, 3);
	else
		must(0, "it knows the word");
}

int main(void)
{
	char line[4096];

	/* Without buffers that come and go. */
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		printf("done\n");
	}
	return 0;
}
