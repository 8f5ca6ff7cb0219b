/*
 * truncated.c - truncates files that it has mapped, or that the runtime has.
 *
 * truncated FILE own [SIZE] truncates its recording, and allocates much
 * truncated FILE handled    has a handler of SIGBUS, for a mapping of its own, which is a new FILE
 * truncated FILE default    dies of SIGBUS
 */
#include "blocks.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 400000, SIZE = 1 << 16 };

static sigjmp_buf back;

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

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	siglongjmp(back, signal);
}

static volatile char *map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char *memory;

	must(fd >= 0 && ftruncate(fd, SIZE) == 0, "the file has a size");
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(memory != MAP_FAILED && ftruncate(fd, 0) == 0, "the file is mapped and cut");
	close(fd);
	return memory;
}

/* A child that resets the action must not change that of its parent. */
static void reset_in_child(void)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	pid_t child = vfork();

	if (child == 0) {
		sigaction(SIGBUS, &by_default, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void handle(const char *path)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, found;
	volatile char *memory = map(path);
	struct sigaction before;

	must(sigaction(SIGBUS, NULL, &before) == 0 && before.sa_handler == SIG_DFL,
	     "no handler is there");
	must(sigaction(SIGBUS, &action, &before) == 0 && before.sa_handler == SIG_DFL,
	     "no handler was there");
	reset_in_child();
	must(sigaction(SIGBUS, NULL, &found) == 0 && found.sa_sigaction == on_fault,
	     "the handler is there");
	printf("flags %x\n", (unsigned)found.sa_flags);
	if (sigsetjmp(back, 1) == 0) {
		memory[0] = 1;
		must(0, "the handler is called");
	}
	must(signal(SIGBUS, SIG_IGN) != SIG_ERR && signal(SIGBUS, SIG_DFL) == SIG_IGN,
	     "signal() returns the action before");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	must(argc > 2, "truncated FILE own|handled|default");
	allocate_much();
	if (strcmp(argv[2], "own") == 0)
		must(truncate(argv[1], argc > 3 ? atol(argv[3]) : 0) == 0, "the recording is cut");
	else if (strcmp(argv[2], "handled") == 0)
		handle(argv[1]);
	else
		map(argv[1])[0] = 1;
	allocate_much();
	must(pthread_create(&thread, NULL, run, NULL) == 0, "a thread starts");
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
