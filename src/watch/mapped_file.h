/*
 * mapped_file.h - the identity of a mapped file.
 *
 * Inodes are unique on one device only, and on btrfs and overlayfs /proc/PID/maps and stat(2) name
 * different devices for the same file.  So we map a file as well, and compare what the kernel
 * prints for both processes.
 */
#ifndef ALLO_WATCH_MAPPED_FILE_H
#define ALLO_WATCH_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct allo_mapped_file {
	unsigned major, minor; /* the device */
	uint64_t inode;
};

/* Reads the columns of a line of /proc/PID/maps; false for memory without a file. */
bool allo_mapped_file_parse(const char *line, struct allo_mapped_file *file);

/* Whether an open file, which must be readable, is this one. */
bool allo_mapped_file_is(const struct allo_mapped_file *file, int fd);

#endif
