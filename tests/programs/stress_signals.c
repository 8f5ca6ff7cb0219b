/*
 * stress_signals.c - handlers that allocate.
 *
 * First where the program asks for the signal, on the thread's own stack and on another one, a
 * handler within a handler; then at any moment of a long computation.  A thread allocates all the
 * time.
 */
#include "blocks.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/time.h>

static atomic_int handled, timed;
static atomic_bool is_over;

APART static void in_handler(size_t size)
{
	free(filled(size, 1));
	stay();
}

static void on_inner(int signal)
{
	in_handler((size_t)(1009 + signal));
	handled++;
}

static void on_outer(int signal)
{
	in_handler((size_t)(2003 + signal));
	raise(SIGUSR1);
	handled++;
}

static void on_timer(int signal)
{
	in_handler((size_t)(4099 + signal));
	timed++;
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	must(sigaction(signal, &action, NULL) == 0, "a handler is taken");
}

static void *allocate(void *argument)
{
	sigset_t all;

	/* The timer is for main(): a signal within malloc() would not be allowed to allocate. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (!is_over)
		free(filled(512, 1));
	return argument;
}

/* Computes and does not allocate: the signals come from without. */
APART static uint64_t compute(int until)
{
	uint64_t sum = 1;

	while (timed < until)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}

APART static uint64_t compute_deeper(int depth, int until)
{
	uint64_t sum = depth == 0 ? compute(until) : compute_deeper(depth - 1, until);

	stay();
	return sum;
}

int main(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	stack_t other = { .ss_sp = held(malloc(1 << 16)), .ss_size = 1 << 16 };
	pthread_t thread;

	must(sigaltstack(&other, NULL) == 0, "there is another stack");
	must(pthread_create(&thread, NULL, allocate, NULL) == 0, "a thread starts");
	handle(SIGUSR1, on_inner, 0);
	handle(SIGUSR2, on_outer, SA_ONSTACK);
	handle(SIGALRM, on_timer, SA_RESTART);
	for (int i = 0; i < 200; i++) {
		void *block = filled(307, i);

		raise(i % 2 == 0 ? SIGUSR1 : SIGUSR2);
		must_be_filled(block, 307, i);
		free(block);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 1; i <= 40; i++)
		held((void *)(uintptr_t)compute_deeper(i, i));
	setitimer(ITIMER_REAL, &never, NULL);
	is_over = 1;
	pthread_join(thread, NULL);
	printf("%d signals handled\n", handled);
	return 0;
}
