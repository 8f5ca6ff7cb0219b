/*
 * stress_exits.c - every way to end: stress_exits HOW
 *
 * Before it ends it makes 23 blocks of 1009 bytes and frees 7 of them, and a thread is at work.
 */
#include "blocks.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_bool is_at_work;

static void *work(void *argument)
{
	for (;;) {
		free(filled(512, 1));
		is_at_work = 1;
	}
	return argument;
}

static void on_exit_allocate(void)
{
	free(filled(2003, 1));
}

static void *exit_from_thread(void *argument)
{
	exit(*(int *)argument);
}

static void *exit_later(void *argument)
{
	usleep(10000);
	puts("main() is gone");
	exit(*(int *)argument);
}

/* Becomes itself, with another word. */
static void become(char **argv)
{
	char ended[] = "return";
	char *arguments[] = { argv[0], ended, NULL };

	execv("/proc/self/exe", arguments);
}

static void end(const char *how, char **argv)
{
	static int status = 5;
	pthread_t thread;

	if (strcmp(how, "_exit") == 0)
		_exit(status);
	if (strcmp(how, "exit") == 0)
		exit(status);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(status);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segfault") == 0)
		*(volatile int *)held(NULL) = 1;
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(how, "exec") == 0)
		become(argv);
	if (strcmp(how, "exit-in-thread") == 0) {
		pthread_create(&thread, NULL, exit_from_thread, &status);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "main-leaves") == 0) {
		pthread_create(&thread, NULL, exit_later, &status);
		pthread_exit(NULL);
	}
	must(strcmp(how, "return") == 0, "stress_exits HOW");
}

int main(int argc, char **argv)
{
	void *blocks[23];
	pthread_t worker;

	must(argc > 1, "stress_exits HOW");
	atexit(on_exit_allocate);
	at_quick_exit(on_exit_allocate);
	for (int i = 0; i < 23; i++)
		blocks[i] = filled(1009, i);
	for (int i = 0; i < 7; i++)
		free(blocks[i]);
	must(pthread_create(&worker, NULL, work, NULL) == 0, "a thread starts");
	while (!is_at_work)
		usleep(100);
	printf("ends by %s\n", argv[1]);
	fflush(stdout);
	end(argv[1], argv);
	return 3;
}
