/* other_memory.c - process_vm_readv() and /proc/PID/pagemap. */
#include "ledger/other_memory.h"

#include "base/assert.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

void allo_other_memory_open(struct allo_other_memory *memory, uint64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/pagemap", pid);
	memory->pid = pid;
	memory->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	memory->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	memory->access = NULL;
}

void allo_other_memory_close(struct allo_other_memory *memory)
{
	if (memory->pagemap >= 0)
		close(memory->pagemap);
	memory->pagemap = -1;
}

bool allo_other_read(const struct allo_other_memory *memory, uint64_t address, void *out,
		     size_t len)
{
	struct iovec here = { out, len }, there = { (void *)address, len };

	if (memory->access)
		return memory->access->read(memory, address, out, len);
	return process_vm_readv((pid_t)memory->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

void allo_other_read_heads(const struct allo_other_memory *memory, uint64_t address, size_t count,
			   const uint8_t *states, uint64_t (*words)[2])
{
	enum { AT_ONCE = 512 };
	struct iovec here[AT_ONCE], there[AT_ONCE];
	size_t found = 0;

	for (size_t i = 0; i < count && i < AT_ONCE; i++) {
		if (states[i] != ALLO_PAGE_RESIDENT)
			continue;
		if (memory->access) {
			memory->access->read(memory, address + i * memory->page_size, words[i],
					     sizeof(words[i]));
			continue;
		}
		here[found] = (struct iovec){ words[i], sizeof(words[i]) };
		there[found++] = (struct iovec){ (void *)(address + i * memory->page_size),
						 sizeof(words[i]) };
	}
	if (found > 0)
		process_vm_readv((pid_t)memory->pid, here, found, there, found, 0);
}

bool allo_other_pages(const struct allo_other_memory *memory, uint64_t address, size_t count,
		      uint8_t *states)
{
	enum { AT_ONCE = 512 };
	const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62;
	uint64_t entries[AT_ONCE], first = address / memory->page_size;

	if (memory->access)
		return memory->access->states(memory, first, count, states);
	for (size_t done = 0; done < count;) {
		size_t now = count - done < AT_ONCE ? count - done : AT_ONCE;
		size_t len = now * sizeof(*entries);

		if (memory->pagemap < 0 ||
		    pread(memory->pagemap, entries, len,
			  (off_t)((first + done) * sizeof(*entries))) != (ssize_t)len)
			return false;
		for (size_t i = 0; i < now; i++)
			states[done + i] = entries[i] & present   ? ALLO_PAGE_RESIDENT
					   : entries[i] & swapped ? ALLO_PAGE_SWAPPED
								  : ALLO_PAGE_NONE;
		done += now;
	}
	return true;
}

uint64_t allo_other_resident(const struct allo_other_memory *memory, uint64_t address, uint64_t len)
{
	enum { AT_ONCE = 4096 };
	uint64_t pages = len / memory->page_size, resident = 0;
	uint8_t states[AT_ONCE];

	for (uint64_t done = 0; done < pages; done += AT_ONCE) {
		size_t now = pages - done < AT_ONCE ? (size_t)(pages - done) : AT_ONCE;

		if (!allo_other_pages(memory, address + done * memory->page_size, now, states))
			return 0;
		for (size_t i = 0; i < now; i++)
			resident += states[i] == ALLO_PAGE_RESIDENT;
	}
	return resident * memory->page_size;
}

bool allo_other_is_resident(const struct allo_other_memory *memory, uint64_t address, size_t len)
{
	uint64_t first = address / memory->page_size,
		 last = (address + len - 1) / memory->page_size;
	uint8_t state;

	ALLO_ASSERT(len > 0);
	for (uint64_t page = first; page <= last; page++) {
		if (!allo_other_pages(memory, page * memory->page_size, 1, &state) ||
		    state != ALLO_PAGE_RESIDENT)
			return false;
	}
	return true;
}
