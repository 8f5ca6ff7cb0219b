/* pid_namespace.c - searches /proc. */
#include "run/pid_namespace.h"

#include "base/text.h"
#include "watch/mapped_recording.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The inode of a process's PID namespace; 0 if we may not see it. */
static uint64_t namespace_of(const char *process)
{
	char path[300];
	struct stat found;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", process);
	return stat(path, &found) == 0 ? found.st_ino : 0;
}

/* When a process started, in clock ticks since boot; 0 if it has ended. */
static uint64_t start_of(const char *process)
{
	char path[300], line[1024] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", process);
	file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	/* The name, field 2, may contain anything, even brackets; the start is field 22. */
	at = strrchr(line, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Whether the process with this number in /proc is the one that has the id `pid` in its namespace.
 */
static bool is_it(const char *process, uint64_t number, pid_t pid, uint64_t space, uint64_t since)
{
	uint64_t found;

	if (allo_inner_pid(number) != (uint64_t)pid || start_of(process) < since)
		return false;
	found = namespace_of(process);
	return found == space || found == 0 || space == 0;
}

pid_t allo_pid_from_namespace(pid_t pid, uint64_t space)
{
	uint64_t own = namespace_of("self"), since = start_of("self");
	struct dirent *entry;
	pid_t found = 0;
	DIR *folder;

	if (own == 0 || own == space)
		return pid;
	folder = opendir("/proc");
	while (folder && found == 0 && (entry = readdir(folder))) {
		uint64_t number;

		if (allo_text_u64(allo_text_of(entry->d_name), &number) && number <= INT32_MAX &&
		    is_it(entry->d_name, number, pid, space, since))
			found = (pid_t)number;
	}
	if (folder)
		closedir(folder);
	return found;
}
