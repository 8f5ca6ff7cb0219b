/* tracee_memory.c - reads /proc/PID/maps and /proc/PID/mem. */
#include "attach/tracee_memory.h"

#include "base/defer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

bool allo_tracee_memory_open(struct allo_tracee_memory *memory, pid_t pid, struct allo_error *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory->pid = pid;
	memory->mem = open(path, O_RDWR | O_CLOEXEC);
	if (memory->mem < 0)
		return allo_fail_errno(err, path, "open the memory of the process");
	return allo_tracee_memory_list(memory, err);
}

void allo_tracee_memory_done(struct allo_tracee_memory *memory)
{
	allo_close_fd(&memory->mem);
	allo_vec_done(&memory->mappings);
	allo_arena_done(&memory->arena);
}

static bool add_line(struct allo_tracee_memory *memory, char *line, struct allo_error *err)
{
	struct allo_tracee_mapping mapping = { 0 };
	char permissions[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping.start,
		   &mapping.end, permissions, &mapping.offset, &path) < 4)
		return true;
	mapping.is_executable = permissions[2] == 'x';
	mapping.path = path ? allo_arena_copy(&memory->arena, line + path, strlen(line + path))
			    : "";
	if (!mapping.path)
		return allo_fail_memory(err);
	return allo_vec_add(&memory->mappings, mapping, err);
}

static void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

bool allo_tracee_memory_list(struct allo_tracee_memory *memory, struct allo_error *err)
{
	ALLO_DEFER(close_file) FILE *file = NULL;
	ALLO_DEFER(allo_free_pointer) char *line = NULL;
	size_t room = 0;
	char path[64];

	memory->mappings.len = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)memory->pid);
	file = fopen(path, "re");
	if (!file)
		return allo_fail_errno(err, path, "read the mappings of the process");
	while (getline(&line, &room, file) > 0) {
		if (!add_line(memory, line, err))
			return false;
	}
	return true;
}

const struct allo_tracee_mapping *allo_tracee_mapping_of(const struct allo_tracee_memory *memory,
							 uint64_t address)
{
	for (size_t i = 0; i < memory->mappings.len; i++) {
		const struct allo_tracee_mapping *mapping = &memory->mappings.at[i];

		if (address >= mapping->start && address < mapping->end)
			return mapping;
	}
	return NULL;
}

size_t allo_tracee_read_some(const struct allo_tracee_memory *memory, uint64_t address, void *out,
			     size_t size)
{
	ssize_t len = pread(memory->mem, out, size, (off_t)address);

	return len > 0 ? (size_t)len : 0;
}

bool allo_tracee_read(const struct allo_tracee_memory *memory, uint64_t address, void *out,
		      size_t size)
{
	return allo_tracee_read_some(memory, address, out, size) == size;
}

bool allo_tracee_write(const struct allo_tracee_memory *memory, uint64_t address, const void *bytes,
		       size_t size)
{
	return pwrite(memory->mem, bytes, size, (off_t)address) == (ssize_t)size;
}

bool allo_tracee_write_data(const struct allo_tracee_memory *memory, uint64_t address,
			    const void *bytes, size_t size)
{
	struct iovec from = { (void *)bytes, size }, to = { (void *)address, size };

	return process_vm_writev(memory->pid, &from, 1, &to, 1, 0) == (ssize_t)size;
}

void allo_tracee_read_text(const struct allo_tracee_memory *memory, uint64_t address, char *out,
			   size_t size)
{
	out[allo_tracee_read_some(memory, address, out, size - 1)] = '\0';
}
