/* mapped_file.c - see mapped_file.h. */
#include "watch/mapped_file.h"

#include "base/defer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

bool allo_mapped_file_parse(const char *line, struct allo_mapped_file *file)
{
	return sscanf(line, "%*s %*s %*s %x:%x %" SCNu64, &file->major, &file->minor,
		      &file->inode) == 3 &&
	       file->inode != 0;
}

static void close_maps(FILE **maps)
{
	if (*maps)
		fclose(*maps);
}

/* Finds the line of our own mapping at `start`. */
static bool find_own(const void *start, struct allo_mapped_file *file)
{
	ALLO_DEFER(close_maps) FILE *maps = fopen("/proc/self/maps", "re");
	ALLO_DEFER(allo_free_pointer) char *line = NULL;
	size_t room = 0;

	while (maps && getline(&line, &room, maps) > 0) {
		if (strtoull(line, NULL, 16) == (uintptr_t)start)
			return allo_mapped_file_parse(line, file);
	}
	return false;
}

bool allo_mapped_file_is(const struct allo_mapped_file *file, int fd)
{
	struct allo_mapped_file own;
	void *mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	bool is_same;

	if (mapped == MAP_FAILED)
		return false;
	is_same = find_own(mapped, &own) && own.major == file->major && own.minor == file->minor &&
		  own.inode == file->inode;
	munmap(mapped, 1);
	return is_same;
}
