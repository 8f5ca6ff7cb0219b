/*
 * executes.c - executes a program by a function of the C library, or by a system call.
 *
 *     executes FUNCTION PROGRAM [ARGUMENT]...
 *
 * Functions that replace the process do so in a child.  Exits with the status of the program; 100
 * if the call failed, 101 if it changed the environment of this process.
 */
#include "blocks.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As Go and static programs do: nothing in libc sees the call. */
static void execute_unseen(const char *file, char **words)
{
#if defined(__x86_64__)
	long result = SYS_execve;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(file), "S"(words), "d"(environ)
			 : "rcx", "r11", "memory");
#else
	register long number __asm__("x8") = SYS_execve;
	register long first __asm__("x0") = (long)file;
	register long second __asm__("x1") = (long)words;
	register long third __asm__("x2") = (long)environ;

	__asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
#endif
}

static void call(const char *function, char **words)
{
	const char *file = words[0];

	if (strcmp(function, "execve") == 0 || strcmp(function, "vfork") == 0)
		execve(file, words, environ);
	else if (strcmp(function, "execv") == 0)
		execv(file, words);
	else if (strcmp(function, "execvp") == 0)
		execvp(file, words);
	else if (strcmp(function, "execvpe") == 0)
		execvpe(file, words, environ);
	else if (strcmp(function, "execl") == 0)
		execl(file, file, words[1], words[2], (char *)NULL);
	else if (strcmp(function, "execlp") == 0)
		execlp(file, file, words[1], words[2], (char *)NULL);
	else if (strcmp(function, "execle") == 0)
		execle(file, file, "only", (char *)NULL, environ);
	else if (strcmp(function, "fexecve") == 0)
		fexecve(open(file, O_RDONLY | O_CLOEXEC), words, environ);
#ifdef __GLIBC__ /* musl does not have it */
	else if (strcmp(function, "execveat") == 0)
		execveat(AT_FDCWD, file, words, environ, 0);
#endif
	else if (strcmp(function, "syscall") == 0)
		syscall(SYS_execve, file, words, environ);
	else if (strcmp(function, "syscall_at") == 0)
		syscall(SYS_execveat, AT_FDCWD, file, words, environ, 0);
	else if (strcmp(function, "inline") == 0)
		execute_unseen(file, words);
	_exit(100);
}

static int status_of(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return 100;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words)
{
	const char *preload = getenv("LD_PRELOAD");
	char before[8192] = "";
	pid_t child = -1;
	int status;

	if (count < 3)
		return 2;
	if (preload)
		snprintf(before, sizeof(before), "%s", preload);
	held(malloc(1009));
	if (strcmp(words[1], "posix_spawn") == 0) {
		if (posix_spawn(&child, words[2], NULL, NULL, words + 2, environ) != 0)
			return 100;
	} else if (strcmp(words[1], "posix_spawnp") == 0) {
		if (posix_spawnp(&child, words[2], NULL, NULL, words + 2, environ) != 0)
			return 100;
	} else {
		child = strcmp(words[1], "vfork") == 0 ? vfork() : fork();
		if (child == 0)
			call(words[1], words + 2);
	}
	status = status_of(child);
	preload = getenv("LD_PRELOAD");
	return strcmp(preload ? preload : "", before) == 0 ? status : 101;
}
