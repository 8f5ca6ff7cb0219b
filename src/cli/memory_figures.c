/* memory_figures.c - see memory_figures.h. */
#include "cli/memory_figures.h"

#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TEXT_SIZE = 8192 }; /* more than any of these files has */

#define GROUPS "/sys/fs/cgroup"

/* A file's text; false when there is none. */
static bool read_text(const char *path, char text[TEXT_SIZE])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, TEXT_SIZE - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* The number behind a word at the start of a line. */
static bool number_after(const char *text, const char *word, uint64_t *number)
{
	const char *at = strstr(text, word);
	struct allo_text rest;

	if (!at)
		return false;
	rest = allo_text_trim(allo_text_of(at + strlen(word)));
	return allo_text_take_u64(&rest, number);
}

bool allo_memory_resident(pid_t pid, uint64_t *now_bytes, uint64_t *peak_bytes)
{
	char path[48], text[TEXT_SIZE];
	uint64_t now, peak;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!read_text(path, text) || !number_after(text, "\nVmRSS:", &now) ||
	    !number_after(text, "\nVmHWM:", &peak))
		return false;
	*now_bytes = now << 10;
	*peak_bytes = peak << 10;
	return true;
}

/* The group of a process in one of the hierarchies, as the line of /proc that begins so tells it:
 * "0::/user.slice". */
static bool find_group(pid_t pid, const char *hierarchy, char group[PATH_MAX])
{
	char path[48], text[TEXT_SIZE];
	struct allo_text rest, line, name;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (!read_text(path, text))
		return false;
	rest = allo_text_of(text);
	while (allo_text_next(&rest, '\n', &line)) {
		/* "4:memory:/path": the number says nothing. */
		if (!allo_text_cut(line, ':', &name, &line) ||
		    !allo_text_cut(line, ':', &name, &line) ||
		    !allo_text_equal(name, allo_text_of(hierarchy)) || line.len >= PATH_MAX)
			continue;
		memcpy(group, line.data, line.len);
		group[line.len] = '\0';
		return true;
	}
	return false;
}

/* The least number that a file has in a group and those above it. */
static uint64_t least_up(const char *mount, const char *group, const char *file)
{
	char up[PATH_MAX], path[2 * PATH_MAX], text[TEXT_SIZE];
	uint64_t least = UINT64_MAX, number;

	snprintf(up, sizeof(up), "%s", group);
	for (;;) {
		char *slash = strrchr(up, '/');

		snprintf(path, sizeof(path), "%s%s/%s", mount, up, file);
		/* "max" is no number. */
		if (read_text(path, text) &&
		    allo_text_u64(allo_text_trim(allo_text_of(text)), &number) && number < least)
			least = number;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

uint64_t allo_memory_limit(pid_t pid)
{
	uint64_t limit = UINT64_MAX, found;
	char group[PATH_MAX], text[TEXT_SIZE];

	if (read_text("/proc/meminfo", text) && number_after(text, "MemTotal:", &found))
		limit = found << 10;
	if (find_group(pid, "", group)) {
		found = least_up(GROUPS, group, "memory.max");
		if (found == UINT64_MAX)
			found = least_up(GROUPS "/unified", group, "memory.max");
		limit = found < limit ? found : limit;
	}
	if (find_group(pid, "memory", group)) {
		found = least_up(GROUPS "/memory", group, "memory.limit_in_bytes");
		limit = found < limit ? found : limit;
	}
	return limit;
}

/* "some avg10=1.23 avg60=..." */
static bool parse_pressure(const char *text, double *percent)
{
	const char *at = strstr(text, "some avg10=");

	if (!at)
		return false;
	*percent = strtod(at + strlen("some avg10="), NULL);
	return true;
}

bool allo_memory_pressure(pid_t pid, double *percent)
{
	char group[PATH_MAX], path[2 * PATH_MAX], text[TEXT_SIZE];

	if (find_group(pid, "", group) && strcmp(group, "/") != 0) {
		snprintf(path, sizeof(path), GROUPS "%s/memory.pressure", group);
		if (read_text(path, text) && parse_pressure(text, percent))
			return true;
	}
	return read_text("/proc/pressure/memory", text) && parse_pressure(text, percent);
}
