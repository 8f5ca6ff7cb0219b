/*
 * tracee_memory.h - the memory of another process: its mappings and their contents.
 *
 * The descriptor of /proc/PID/mem belongs to the program that the process executes now: after an
 * exec, reads and writes fail.
 */
#ifndef ALLO_ATTACH_TRACEE_MEMORY_H
#define ALLO_ATTACH_TRACEE_MEMORY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <stddef.h>
#include <sys/types.h>

struct allo_tracee_mapping {
	uint64_t start, end, offset;
	bool is_executable;
	const char *path; /* "": none */
};

/* Set `mem` to -1; all else zeros. */
struct allo_tracee_memory {
	pid_t pid;
	int mem;
	ALLO_VEC(struct allo_tracee_mapping) mappings; /* by address */
	struct allo_arena arena;                       /* owns the paths */
};

bool allo_tracee_memory_open(struct allo_tracee_memory *memory, pid_t pid, struct allo_error *err);
void allo_tracee_memory_done(struct allo_tracee_memory *memory);

/* Reads the list of mappings again. */
bool allo_tracee_memory_list(struct allo_tracee_memory *memory, struct allo_error *err);

/* The mapping of an address, or NULL. */
const struct allo_tracee_mapping *allo_tracee_mapping_of(const struct allo_tracee_memory *memory,
							 uint64_t address);

bool allo_tracee_read(const struct allo_tracee_memory *memory, uint64_t address, void *out,
		      size_t size);

/* Reads as much as there is, at most `size` bytes. */
size_t allo_tracee_read_some(const struct allo_tracee_memory *memory, uint64_t address, void *out,
			     size_t size);

/* Writes, also to memory that the process itself may not write to. */
bool allo_tracee_write(const struct allo_tracee_memory *memory, uint64_t address, const void *bytes,
		       size_t size);

/* Writes to memory that the process may write to. */
bool allo_tracee_write_data(const struct allo_tracee_memory *memory, uint64_t address,
			    const void *bytes, size_t size);

/* Reads a text of at most `size` - 1 bytes. */
void allo_tracee_read_text(const struct allo_tracee_memory *memory, uint64_t address, char *out,
			   size_t size);

#endif
