/*
 * stress_fork.c - processes that begin everywhere: from main() and from a thread, while another
 * thread allocates; every fifth child has another child.
 *
 * Each child finds the 23 blocks of its parent as they were, frees them and allocates 7.
 */
#include "blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 20, INHERITED = 23, OWN = 7 };

static void *inherited[INHERITED];
static atomic_bool is_over;

APART static void in_child(void)
{
	void *own[OWN];

	for (int i = 0; i < OWN; i++)
		own[i] = filled(4099, i);
	for (int i = 0; i < INHERITED; i++) {
		must_be_filled(inherited[i], 1009, i);
		free(inherited[i]);
	}
	for (int i = 0; i < OWN; i++) {
		must_be_filled(own[i], 4099, i);
		free(own[i]);
	}
}

static int status_of(pid_t child)
{
	int status = -1;

	must(child > 0 && waitpid(child, &status, 0) == child, "a child ends");
	must(WIFEXITED(status), "a child ends by itself");
	return WEXITSTATUS(status);
}

static pid_t child_with_status(int status)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	in_child();
	if (status % 5 == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			held(filled(2053, 1));
			_exit(1);
		}
		status += status_of(grandchild);
	}
	/* Both ways out of a child are common. */
	if (status % 2 == 0)
		_exit(status);
	exit(status);
}

static int sum_of_children(void)
{
	pid_t children[CHILDREN];
	int sum = 0;

	for (int i = 0; i < CHILDREN; i++)
		children[i] = child_with_status(i);
	for (int i = 0; i < CHILDREN; i++)
		sum += status_of(children[i]);
	return sum;
}

static void *allocate(void *argument)
{
	while (!is_over)
		free(filled(512, 1));
	return argument;
}

static void *fork_in_thread(void *argument)
{
	*(int *)argument = sum_of_children();
	return NULL;
}

int main(void)
{
	pthread_t allocating, forking;
	int sum = 0, sum_in_thread = 0;

	for (int i = 0; i < INHERITED; i++)
		inherited[i] = filled(1009, i);
	must(pthread_create(&allocating, NULL, allocate, NULL) == 0, "a thread starts");
	must(pthread_create(&forking, NULL, fork_in_thread, &sum_in_thread) == 0,
	     "a thread starts");
	sum = sum_of_children();
	pthread_join(forking, NULL);
	is_over = 1;
	pthread_join(allocating, NULL);
	printf("children said %d and %d\n", sum, sum_in_thread);
	return 0;
}
