/* memory_maps.c - see memory_maps.h. */
#include "capture/stacks/memory_maps.h"
#include "capture/file/helper_process.h"
#include "capture/system.h"

#include <fcntl.h>

enum { END = -1 };

static int next_byte(struct allo_memory_maps *maps)
{
	if (maps->at == maps->len) {
		long got = ALLO_SYSCALL3(SYS_read, maps->fd, maps->bytes, sizeof(maps->bytes));

		maps->at = 0;
		maps->len = got > 0 ? (size_t)got : 0;
		if (maps->len == 0)
			return END;
	}
	return (unsigned char)maps->bytes[maps->at++];
}

/* A hexadecimal number, and the byte after it. */
static uint64_t next_number(struct allo_memory_maps *maps, int *after)
{
	uint64_t number = 0;

	for (;;) {
		int byte = next_byte(maps);

		if (byte >= '0' && byte <= '9') {
			number = number * 16 + (uint64_t)(byte - '0');
		} else if (byte >= 'a' && byte <= 'f') {
			number = number * 16 + (uint64_t)(byte - 'a') + 10;
		} else {
			*after = byte;
			return number;
		}
	}
}

/* The rest of the line, without the spaces at its start. */
static size_t next_path(struct allo_memory_maps *maps, int byte, char *path, size_t room)
{
	size_t len = 0;

	while (byte == ' ')
		byte = next_byte(maps);
	for (; byte != '\n' && byte != END; byte = next_byte(maps)) {
		if (len + 1 < room)
			path[len++] = (char)byte;
	}
	path[len] = '\0';
	return len;
}

/* start-end rwxp offset major:minor inode path */
bool allo_memory_maps_next(struct allo_memory_maps *maps, struct allo_maps_line *mapping,
			   char *path, size_t room)
{
	static const char vdso[] = "[vdso]";
	char name[sizeof(vdso) + 1]; /* one more byte: a longer name is another one */
	uint64_t device, number;
	int after;

	mapping->start = next_number(maps, &after);
	if (after == END)
		return false;
	mapping->end = next_number(maps, &after);
	mapping->is_readable = next_byte(maps) == 'r';
	next_byte(maps);
	mapping->is_executable = next_byte(maps) == 'x';
	next_byte(maps);
	next_byte(maps);
	mapping->offset = next_number(maps, &after);
	device = next_number(maps, &after) << 32;
	device |= next_number(maps, &after);
	for (number = 0; (after = next_byte(maps)) >= '0' && after <= '9';)
		number = number * 10 + (uint64_t)(after - '0');
	mapping->file = number ? (device ^ number * 0x9e3779b97f4a7c15) | 1 : 0;
	if (path)
		next_path(maps, after, path, room);
	else
		next_path(maps, after, name, sizeof(name));
	mapping->is_vdso = !path && strcmp(name, vdso) == 0;
	return true;
}

struct job {
	allo_memory_maps_work *work;
	void *context;
};

static long read_maps(void *context)
{
	const struct job *job = context;
	struct allo_memory_maps maps = { .at = 0 };
	long fd = ALLO_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/thread-self/maps",
				O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	maps.fd = (int)fd;
	job->work(&maps, job->context);
	ALLO_SYSCALL1(SYS_close, fd);
	return 0;
}

bool allo_memory_maps_read(allo_memory_maps_work *work, void *context)
{
	struct job job = { work, context };
	long result = read_maps(&job);

	return (result == -EMFILE ? allo_helper_run(read_maps, &job) : result) == 0;
}
