/* credentials.c - see credentials.h. */
#include "capture/credentials.h"
#include "capture/system.h"

#include <fcntl.h>
#include <string.h>

enum {
	GROUPS_MOST = 64, /* to be without one that is beyond is no harm */
	STATUS_SIZE = 4096,
};

/* As /proc tells them. */
struct credentials {
	uint32_t users[4], groups[4]; /* real, effective, saved, of the file system */
	uint32_t others[GROUPS_MOST];
	unsigned count;
};

/* Numbers behind a word at the start of a line; how many, 0 where there is no such line. */
static unsigned numbers_in(const char *text, const char *word, uint32_t *numbers, unsigned most)
{
	const char *at = strstr(text, word);
	unsigned count = 0;

	if (!at)
		return 0;
	for (at += strlen(word); *at && *at != '\n' && count < most;) {
		uint32_t number = 0;

		if (*at < '0' || *at > '9') {
			at++;
			continue;
		}
		while (*at >= '0' && *at <= '9')
			number = number * 10 + (uint32_t)(*at++ - '0');
		numbers[count++] = number;
	}
	return count;
}

static bool read_credentials(const char *path, struct credentials *found)
{
	char text[STATUS_SIZE];
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), len;

	if (fd < 0)
		return false;
	len = ALLO_SYSCALL3(SYS_read, fd, text, sizeof(text) - 1);
	ALLO_SYSCALL1(SYS_close, fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	memset(found, 0, sizeof(*found));
	found->count = numbers_in(text, "\nGroups:", found->others, GROUPS_MOST);
	return numbers_in(text, "\nUid:", found->users, 4) == 4 &&
	       numbers_in(text, "\nGid:", found->groups, 4) == 4;
}

/* In this order: who has given up his user may not change his groups. */
static bool take_on(const struct credentials *wanted)
{
	return ALLO_SYSCALL2(SYS_setgroups, wanted->count, wanted->others) == 0 &&
	       ALLO_SYSCALL3(SYS_setresgid, wanted->groups[0], wanted->groups[1],
			     wanted->groups[2]) == 0 &&
	       ALLO_SYSCALL3(SYS_setresuid, wanted->users[0], wanted->users[1], wanted->users[2]) ==
		       0;
}

bool allo_credentials_adopt(void)
{
	struct credentials wanted, own;

	/* Where nothing can be found out, nothing was changed that we could know of. */
	if (!read_credentials("/proc/self/status", &wanted) ||
	    !read_credentials("/proc/thread-self/status", &own))
		return true;
	return memcmp(&wanted, &own, sizeof(own)) == 0 || take_on(&wanted);
}
