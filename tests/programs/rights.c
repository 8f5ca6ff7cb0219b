/*
 * rights.c - gives up rights or changes its namespace, and prints the threads it has.
 *
 *     drop        becomes the user nobody, through libc
 *     drop-raw    the same through syscall()
 *     unshare     enters a user namespace, through syscall()
 *     fork        forks
 *
 * Then it prints the number of its threads, and the different rights that they have.
 */
#include "blocks.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, KINDS_MAX = 8 };

static char kinds[KINDS_MAX][1024];
static int kind_count;

static void add_kind(const char *kind)
{
	for (int i = 0; i < kind_count; i++) {
		if (strcmp(kinds[i], kind) == 0)
			return;
	}
	must(kind_count < KINDS_MAX, "there are few kinds");
	strcpy(kinds[kind_count++], kind);
}

static int is_right(const char *line)
{
	static const char *const names[] = { "Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strncmp(line, names[i], strlen(names[i])) == 0)
			return 1;
	}
	return 0;
}

/* The rights of a thread, from its status. */
static void read_rights(const char *thread)
{
	char path[300], line[512], rights[1024] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	file = fopen(path, "r");
	if (!file)
		return; /* it has just ended */
	while (fgets(line, sizeof(line), file)) {
		if (is_right(line) && strlen(rights) + strlen(line) < sizeof(rights))
			strcat(rights, line);
	}
	fclose(file);
	add_kind(rights);
}

static int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	must(folder != NULL, "there is a folder");
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		read_rights(entry->d_name);
	}
	closedir(folder);
	return count;
}

static void drop(void)
{
	must(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0,
	     "it becomes nobody");
}

static void drop_raw(void)
{
	must(syscall(SYS_setgroups, 0, NULL) == 0 &&
		     syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) == 0 &&
		     syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) == 0,
	     "it becomes nobody");
}

static void enter_namespace(void)
{
	long result = syscall(SYS_unshare, CLONE_NEWUSER);

	printf("unshare: %s\n", result == 0 ? "done" : strerror(errno));
}

/* Waits until somebody has seen it, so that there was time for a thread to begin. */
static void wait_for_input(void)
{
	printf("ready\n");
	fflush(stdout);
	getchar();
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "";
	int threads;

	free(held(malloc(1009)));
	wait_for_input();
	if (strcmp(way, "drop") == 0)
		drop();
	else if (strcmp(way, "drop-raw") == 0)
		drop_raw();
	else if (strcmp(way, "unshare") == 0)
		enter_namespace();
	else
		must(strcmp(way, "fork") == 0, "it knows the way");
	threads = count_threads();
	printf("%d threads, %d kinds of rights\n", threads, kind_count);
	fflush(stdout);
	if (strcmp(way, "fork") == 0 && fork() == 0) {
		printf("child: %d threads\n", count_threads());
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
