/*
 * memory_maps.h - reads /proc/thread-self/maps in small pieces, with system calls only.
 */
#ifndef ALLO_CAPTURE_MEMORY_MAPS_H
#define ALLO_CAPTURE_MEMORY_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allo_memory_maps {
	int fd;
	size_t at, len; /* of the bytes that are read, but not parsed */
	char bytes[1024];
};

struct allo_maps_line {
	uint64_t start, end, offset;
	uint64_t file; /* a hash of its device and number; 0: no file */
	bool is_readable, is_executable, is_vdso;
};

typedef void allo_memory_maps_work(struct allo_memory_maps *maps, void *context);

/* Opens the file, calls `work`, and closes it.  False if it cannot be opened.  At the program's
 * limit of descriptors, `work` runs in a helper process (helper_process.h). */
bool allo_memory_maps_read(allo_memory_maps_work *work, void *context);

/* The next mapping; false at the end.  Copies up to `room` bytes of its path, with the NUL, if
 * `path` is not NULL. */
bool allo_memory_maps_next(struct allo_memory_maps *maps, struct allo_maps_line *mapping,
			   char *path, size_t room);

#endif
