/*
 * stress_daemon.c - becomes a daemon the old way: two forks, a new session, another folder,
 * no file that was open.  The first process waits until the daemon is through.
 */
#include "blocks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void serve(int says)
{
	void *blocks[11];

	for (int i = 0; i < 11; i++)
		blocks[i] = filled(2053, i);
	for (int i = 0; i < 11; i++)
		free(blocks[i]);
	/* More than fits in any buffer. */
	for (int i = 0; i < 100000; i++)
		free(held(malloc(31)));
	must(write(says, "served", 6) == 6, "the daemon is heard");
	exit(0);
}

static void become_daemon(int says)
{
	must(setsid() > 0, "there is a new session");
	if (fork() != 0)
		_exit(0);
	must(chdir("/") == 0, "there is a root");
	umask(0);
	/* Everything but the pipe. */
	for (int file = 0; file < 1024; file++) {
		if (file != says)
			close(file);
	}
	open("/dev/null", O_RDWR);
	must(dup(0) == 1 && dup(1) == 2, "the first files are ours");
	serve(says);
}

int main(void)
{
	char said[16] = "";
	int ends[2];
	pid_t child;

	must(pipe(ends) == 0, "there is a pipe");
	child = fork();
	if (child == 0) {
		close(ends[0]);
		become_daemon(ends[1]);
	}
	close(ends[1]);
	waitpid(child, NULL, 0);
	must(read(ends[0], said, 6) == 6, "the daemon says something");
	/* It has ended when its end of the pipe is closed. */
	must(read(ends[0], said + 6, 1) == 0, "the daemon ends");
	printf("the daemon %s\n", said);
	return 0;
}
