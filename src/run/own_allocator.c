#include "run/own_allocator.h"

#include "profile/naming.h"
#include "report/messages.h"
#include "run/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void allo_own_allocator_tell(const struct allo_direct_allocator *allocator, const char *name)
{
	if (!allocator->name || allocator->is_recorded)
		return;
	allo_say_note(
		"%s uses %s directly: only blocks from malloc and new are recorded; %s", name,
		allocator->name,
		allocator->is_stripped
			? "to record all, build it with symbols (no strip, no -s), or install "
			  "its debug file of the same build-id in /usr/lib/debug"
			: "build it with the C library's allocator to record all");
}

/* False for scripts, and for programs that the user may execute but not read. */
static bool look_at(const char *path, struct allo_direct_allocator *allocator)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char start[SELFMAG] = "";
	bool is_elf = fd >= 0 && allo_elf_read(fd, 0, start, SELFMAG) == SELFMAG &&
		      memcmp(start, ELFMAG, SELFMAG) == 0;

	if (is_elf)
		*allocator = allo_direct_allocator_find(fd);
	if (fd >= 0)
		close(fd);
	return is_elf;
}

/* Programs that are not recorded at all have a reason of their own. */
static bool is_skipped(const struct allo_recordings *recordings, const char *path)
{
	for (size_t i = 0; i < recordings->skipped.len; i++) {
		if (strcmp(recordings->skipped.at[i].path, path) == 0)
			return true;
	}
	return false;
}

void allo_own_allocators_look(struct allo_recordings *recordings, bool is_quiet)
{
	while (recordings->executed_seen < recordings->executed.len) {
		struct allo_executed *executed =
			&recordings->executed.at[recordings->executed_seen++];
		struct allo_direct_allocator allocator = { 0 };

		if (is_skipped(recordings, executed->path) || !look_at(executed->path, &allocator))
			continue;
		if (!is_quiet)
			allo_own_allocator_tell(&allocator,
						allo_basename(allo_text_of(executed->path)).data);
		executed->allocator = allocator.is_recorded ? NULL : allocator.name;
	}
}
