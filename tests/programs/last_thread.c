/*
 * last_thread.c - ends without exit(), in the way that the first argument names.
 *
 *     exit      the only thread ends by the system call exit
 *     other     the main thread ends so first, another thread later
 *     strict    in seccomp's strict mode, which allows no exit_group
 *     killed    a seccomp filter kills the only thread
 *     stuck     the main thread ends; another one blocks all signals and stays
 */
#include "blocks.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void end_thread(int status)
{
	syscall(SYS_exit, status);
}

/* Allocates until its main thread is gone, and then ends. */
static void *outlive(void *given)
{
	char path[64], state = 'R';

	(void)given;
	snprintf(path, sizeof(path), "/proc/self/stat");
	while (state != 'Z') {
		FILE *file = fopen(path, "r");

		must(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1, "there is a state");
		fclose(file);
	}
	end_thread(0);
	return NULL;
}

static void *stay_forever(void *given)
{
	(void)given;
	for (;;)
		pause();
	return NULL;
}

static void start(void *(*run)(void *), int blocks_signals)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, blocks_signals ? &all : NULL, &before);
	must(pthread_create(&thread, NULL, run, NULL) == 0, "there is a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Installs a filter that kills the thread which calls getppid(). */
static void install_filter(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(*steps), steps };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "it gives up new rights");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "it has a filter");
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "";

	free(held(malloc(1009)));
	if (strcmp(way, "exit") == 0)
		end_thread(7);
	if (strcmp(way, "other") == 0) {
		start(outlive, 0);
		end_thread(5);
	}
	if (strcmp(way, "strict") == 0) {
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "it is strict");
		end_thread(9);
	}
	if (strcmp(way, "killed") == 0) {
		install_filter();
		syscall(SYS_getppid);
	}
	if (strcmp(way, "stuck") == 0) {
		start(stay_forever, 1);
		printf("stuck\n");
		fflush(stdout);
		end_thread(0);
	}
	must(0, "it knows the way");
	return 1;
}
