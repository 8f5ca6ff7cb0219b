/* thread_stacks.c - see thread_stacks.h. */
#include "ledger/thread_stacks.h"

#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Larger than guards are, smaller than what allocators keep free. */
enum { GUARD_MOST = 1 << 20 };

static bool has_guard(const struct allo_vmas *vmas, const struct allo_vma *vma)
{
	const struct allo_vma *below = vma - 1;

	return vma > vmas->all.at && below->end == vma->start && below->kind == ALLO_VMA_ANON &&
	       !below->is_readable && !below->is_writable && !below->is_executable &&
	       below->end - below->start <= GUARD_MOST;
}

static bool may_be_stack(const struct allo_vmas *vmas, const struct allo_vma *vma)
{
	return vma->kind == ALLO_VMA_ANON && vma->is_writable && !vma->is_shared &&
	       has_guard(vmas, vma);
}

/* "0 0x3 0x7f.. ... SP PC", or "-1 SP PC"; of a thread that runs just now "running". */
static bool take_stack_pointer(struct allo_text text, uint64_t *pointer)
{
	struct allo_text before, last, rest;

	return allo_text_cut_last(allo_text_trim(text), ' ', &rest, &last) &&
	       allo_text_cut_last(rest, ' ', &before, &last) &&
	       allo_text_skip(&last, ALLO_TEXT("0x")) && allo_text_hex(last, pointer);
}

static bool read_stack_pointer(uint64_t pid, const char *thread, uint64_t *pointer)
{
	char path[96], text[256];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task/%.20s/syscall", pid, thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text));
	close(fd);
	return len > 0 && take_stack_pointer((struct allo_text){ text, (size_t)len }, pointer);
}

static uint64_t mark_by_pointers(struct allo_vmas *vmas, uint64_t pid)
{
	char path[64];
	const struct dirent *entry;
	struct allo_vma *vma;
	uint64_t pointer, count = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task", pid);
	folder = opendir(path);
	if (!folder)
		return 0;
	while ((entry = readdir(folder)) != NULL) {
		if (!allo_is_digit(entry->d_name[0]))
			continue;
		count++;
		if (!read_stack_pointer(pid, entry->d_name, &pointer))
			continue;
		vma = allo_vmas_find(vmas, pointer);
		if (vma && may_be_stack(vmas, vma))
			vma->is_stack = true;
	}
	closedir(folder);
	return count;
}

/* At its end lies libc's structure of the thread, which begins with its own address and has it
 * again 16 bytes further on. */
static bool ends_with_thread(const struct allo_other_memory *memory, const struct allo_vma *vma)
{
	enum { ROOM = 8192 };
	uint64_t words[ROOM / sizeof(uint64_t)], size = vma->end - vma->start;
	size_t len = size < ROOM ? (size_t)size : ROOM;
	uint64_t start = vma->end - len;

	if (!allo_other_is_resident(memory, vma->end - 1, 1))
		return false;
	if (!allo_other_is_resident(memory, start, len)) {
		len = (size_t)memory->page_size < len ? (size_t)memory->page_size : len;
		start = vma->end - len;
	}
	if (!allo_other_read(memory, start, words, len))
		return false;
	for (size_t i = 0; i + 2 < len / sizeof(*words); i++) {
		uint64_t address = start + i * sizeof(*words);

		if (words[i] == address && words[i + 2] == address)
			return true;
	}
	return false;
}

uint64_t allo_thread_stacks_mark(struct allo_vmas *vmas, const struct allo_other_memory *memory)
{
	uint64_t count = mark_by_pointers(vmas, memory->pid);

	for (size_t i = 0; i < vmas->all.len; i++) {
		struct allo_vma *vma = &vmas->all.at[i];

		if (!vma->is_stack && may_be_stack(vmas, vma))
			vma->is_stack = ends_with_thread(memory, vma);
	}
	return count;
}
