/* ledger.c - assigns mappings to parts, then splits the heap by its blocks. */
#include "ledger/ledger.h"

#include "base/assert.h"
#include "base/defer.h"
#include "ledger/glibc_blocks.h"
#include "telemetry/monotonic_clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct allo_ledger_name allo_ledger_parts[ALLO_PARTS] = {
	[ALLO_PART_LIVE] = { "live", "live blocks", "blocks", "requested by the program" },
	[ALLO_PART_ROUNDING] = { "rounding", "rounding", "", "headers and padding of live blocks" },
	[ALLO_PART_BLOCKS] = { "blocks", "blocks in use", "blocks", "with headers and padding" },
	[ALLO_PART_FREE_BLOCKS] = { "free_blocks", "free blocks", "blocks",
				    "in the allocator's lists, between blocks in use" },
	[ALLO_PART_CACHES] = { "caches", "thread caches", "blocks",
			       "free blocks in caches of threads" },
	[ALLO_PART_FREE_PAGES] = { "free_pages", "free pages", "",
				   "whole pages that the allocator keeps or has not used yet" },
	[ALLO_PART_ALLOCATOR] = { "allocator", "allocator", "", "metadata of the allocator" },
	[ALLO_PART_HEAP] = { "heap", "heap", "mappings",
			     "memory of the allocator, without details" },
	[ALLO_PART_UNTOUCHED] = { "untouched", "never touched", "",
				  "counted above by the allocator, but not resident" },
	[ALLO_PART_STACKS] = { "stacks", "stacks", "stacks", "of all threads" },
	[ALLO_PART_CODE] = { "code", "code", "mappings", "of programs and libraries" },
	[ALLO_PART_FILES] = { "files", "files", "mappings", "pages of other mapped files" },
	[ALLO_PART_DATA] = { "data", "data", "mappings",
			     "variables of programs and libraries, and other modified pages of "
			     "files" },
	[ALLO_PART_SHARED] = { "shared", "shared memory", "mappings", "shm, memfd, tmpfs" },
	[ALLO_PART_PROFILER] = { "profiler", "profiler", "mappings", "Allotrope's runtime" },
	[ALLO_PART_KERNEL] = { "kernel", "kernel", "mappings", "vdso and similar" },
	[ALLO_PART_UNEXPLAINED] = { "unexplained", "unexplained", "mappings",
				    "anonymous memory of unknown origin" },
};

/* The process. */

static bool is_recording(const struct allo_vma *vma)
{
	struct allo_text name = vma->name;

	if (allo_text_ends(name, ALLO_TEXT(" (deleted)")))
		name.len -= strlen(" (deleted)");
	return (vma->kind == ALLO_VMA_FILE || vma->kind == ALLO_VMA_SHMEM) && vma->is_shared &&
	       vma->is_writable && allo_text_ends(name, ALLO_TEXT(".allo"));
}

/* The library; `vma` is in the sorted list, so its .bss has the file's mapping before it. */
static bool is_runtime(const struct allo_vma *vma)
{
	const struct allo_vma *file = vma->is_data ? vma - 1 : vma;

	return file->kind == ALLO_VMA_FILE && (allo_vma_has_prefix(file, "liballo.so") ||
					       allo_vma_has_prefix(file, "liballo-musl.so"));
}

bool allo_ledger_has_profiler(const struct allo_vmas *vmas)
{
	for (size_t i = 0; i < vmas->all.len; i++) {
		if (is_recording(&vmas->all.at[i]) || is_runtime(&vmas->all.at[i]))
			return true;
	}
	return false;
}

struct allo_text allo_ledger_recording(const struct allo_vmas *vmas)
{
	for (size_t i = 0; i < vmas->all.len; i++) {
		if (is_recording(&vmas->all.at[i]))
			return vmas->all.at[i].name;
	}
	return (struct allo_text){ 0 };
}

/* Stacks. */

/* Larger than any guard, smaller than the free ranges that allocators keep. */
enum { GUARD_MAX = 1 << 20 };

static bool has_guard(const struct allo_vmas *vmas, const struct allo_vma *vma)
{
	const struct allo_vma *below = vma - 1;

	return vma > vmas->all.at && below->end == vma->start && below->kind == ALLO_VMA_ANON &&
	       !below->is_readable && !below->is_writable && !below->is_executable &&
	       below->end - below->start <= GUARD_MAX;
}

static bool may_be_stack(const struct allo_vmas *vmas, const struct allo_vma *vma)
{
	return vma->kind == ALLO_VMA_ANON && vma->is_writable && !vma->is_shared &&
	       has_guard(vmas, vma);
}

/* /proc/PID/task/TID/syscall: "0 0x3 0x7f.. ... SP PC", "-1 SP PC", or "running". */
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

/* libc keeps its structure of a thread at the end of the stack.  It begins with its own address,
 * and repeats it 16 bytes later.  This finds stacks of threads that have ended. */
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

/* Marks stacks of threads: mappings above a guard that hold a stack pointer or libc's structure of
 * a thread.  Returns the number of threads; 0: unknown. */
static uint64_t mark_stacks(struct allo_vmas *vmas, const struct allo_other_memory *memory)
{
	uint64_t count = mark_by_pointers(vmas, memory->pid);

	for (size_t i = 0; i < vmas->all.len; i++) {
		struct allo_vma *vma = &vmas->all.at[i];

		if (!vma->is_stack && may_be_stack(vmas, vma))
			vma->is_stack = ends_with_thread(memory, vma);
	}
	return count;
}

/* Mappings. */

/* The runtime maps its memory with MADV_WIPEONFORK and MAP_NORESERVE, a combination that hardly any
 * other code uses. */
static bool is_of_profiler(const struct allo_vma *vma)
{
	return is_recording(vma) || is_runtime(vma) ||
	       (vma->kind == ALLO_VMA_ANON && vma->is_wiped && vma->is_unreserved);
}

enum allo_ledger_part allo_ledger_part_of(const struct allo_vma *vma, bool has_profiler)
{
	if (has_profiler && is_of_profiler(vma))
		return ALLO_PART_PROFILER;
	switch (vma->kind) {
	case ALLO_VMA_BREAK:
		return ALLO_PART_HEAP;
	case ALLO_VMA_STACK:
		return ALLO_PART_STACKS;
	case ALLO_VMA_FILE:
		return vma->is_executable ? ALLO_PART_CODE : ALLO_PART_FILES;
	case ALLO_VMA_SHMEM:
		return ALLO_PART_SHARED;
	case ALLO_VMA_KERNEL:
		return ALLO_PART_KERNEL;
	case ALLO_VMA_ANON:
		break;
	}
	if (vma->is_data)
		return ALLO_PART_DATA;
	if (vma->is_heap)
		return ALLO_PART_HEAP;
	return vma->is_stack ? ALLO_PART_STACKS : ALLO_PART_UNEXPLAINED;
}

static void add(struct allo_ledger *ledger, enum allo_ledger_part part, int64_t rss, uint64_t bytes,
		uint64_t blocks)
{
	struct allo_ledger_row *row = &ledger->rows[part];

	row->is_there |= rss != 0 || bytes != 0;
	row->rss += rss;
	row->bytes += bytes;
	row->blocks += blocks;
}

/* Moves memory from a part to one that is more precise. */
static void move(struct allo_ledger *ledger, enum allo_ledger_part from, enum allo_ledger_part to,
		 const struct allo_glibc_sum *sum)
{
	struct allo_ledger_row *row = &ledger->rows[from];

	row->rss -= (int64_t)sum->resident;
	row->bytes -= sum->bytes < row->bytes ? sum->bytes : row->bytes;
	add(ledger, to, (int64_t)sum->resident, sum->bytes, sum->blocks);
}

static void note(struct allo_ledger *ledger, const char *text)
{
	size_t count = 0;

	while (count + 1 < ALLO_LEDGER_NOTES && ledger->notes[count])
		count++;
	if (count + 1 < ALLO_LEDGER_NOTES)
		ledger->notes[count] = text;
}

static void add_mapping(struct allo_ledger *ledger, const struct allo_vma *vma, bool has_profiler)
{
	enum allo_ledger_part part = allo_ledger_part_of(vma, has_profiler);
	uint64_t size = vma->is_readable || vma->is_writable || vma->is_executable
				? vma->end - vma->start
				: 0;
	uint64_t copied = vma->anonymous < vma->rss ? vma->anonymous : vma->rss;

	ALLO_ASSERT(vma->start < vma->end);
	ledger->rss += vma->rss;
	ledger->swap += vma->swap;
	if (vma->kind == ALLO_VMA_FILE && part != ALLO_PART_PROFILER && copied > 0) {
		add(ledger, ALLO_PART_DATA, (int64_t)copied, copied, 1);
		add(ledger, part, (int64_t)(vma->rss - copied), size - copied, 1);
	} else {
		add(ledger, part, (int64_t)vma->rss, size, size > 0);
	}
}

/* glibc: its blocks are visible from outside. */

static const enum allo_ledger_part part_of_state[ALLO_BLOCK_STATES] = {
	[ALLO_BLOCK_USED] = ALLO_PART_BLOCKS,   [ALLO_BLOCK_FREE] = ALLO_PART_FREE_BLOCKS,
	[ALLO_BLOCK_CACHED] = ALLO_PART_CACHES, [ALLO_BLOCK_TOP] = ALLO_PART_FREE_PAGES,
	[ALLO_BLOCK_OWN] = ALLO_PART_ALLOCATOR, [ALLO_BLOCK_UNKNOWN] = ALLO_PART_HEAP,
};

static void add_sum(struct allo_glibc_sum *sum, const struct allo_glibc_sum *more)
{
	sum->blocks += more->blocks;
	sum->bytes += more->bytes;
	sum->resident += more->resident;
}

static void mark_heaps(struct allo_vmas *vmas, const struct allo_glibc *glibc)
{
	for (size_t i = 0; i < glibc->segments.len; i++) {
		struct allo_vma *vma = allo_vmas_find(vmas, glibc->segments.at[i].first);

		if (vma && vma->kind == ALLO_VMA_ANON)
			vma->is_heap = true;
	}
}

/* Blocks that have their own mapping.  The kernel joins adjacent mappings, so a block may be a
 * whole mapping or a part of one. */
struct mapped {
	struct allo_glibc_sum whole, part;
};

/* Small mappings first: once all bytes are found, the large ones need no search. */
static int compare_sizes(const void *left, const void *right)
{
	const struct allo_vma *a = *(const struct allo_vma *const *)left;
	const struct allo_vma *b = *(const struct allo_vma *const *)right;
	uint64_t size_a = a->end - a->start, size_b = b->end - b->start;

	return (size_a > size_b) - (size_a < size_b);
}

static void search_mapping(struct mapped *mapped, const struct allo_other_memory *memory,
			   struct allo_vma *vma, uint64_t most)
{
	struct allo_glibc_sum sum = allo_glibc_find_blocks(memory, vma, most);

	vma->is_heap = sum.bytes == vma->end - vma->start;
	if (vma->is_heap)
		sum.resident = vma->rss;
	add_sum(vma->is_heap ? &mapped->whole : &mapped->part, &sum);
}

static bool find_mapped(struct mapped *mapped, struct allo_vmas *vmas,
			const struct allo_other_memory *memory, bool has_profiler, uint64_t most,
			struct allo_error *err)
{
	ALLO_VEC(struct allo_vma *) sorted = { 0 };
	bool ok = true;

	for (size_t i = 0; i < vmas->all.len && ok; i++) {
		struct allo_vma *vma = &vmas->all.at[i];

		if (vma->kind == ALLO_VMA_ANON && vma->is_writable &&
		    allo_ledger_part_of(vma, has_profiler) == ALLO_PART_UNEXPLAINED)
			ok = allo_vec_append(&sorted, &vma, 1) || allo_fail_memory(err);
	}
	if (sorted.len > 0)
		qsort(sorted.at, sorted.len, sizeof(*sorted.at), compare_sizes);
	for (size_t i = 0; i < sorted.len && ok; i++) {
		uint64_t found = mapped->whole.bytes + mapped->part.bytes;

		if (found < most)
			search_mapping(mapped, memory, sorted.at[i],
				       most == UINT64_MAX ? most : most - found);
	}
	allo_vec_done(&sorted);
	return ok;
}

static void take_blocks(struct allo_ledger *ledger, const struct allo_glibc_blocks *blocks)
{
	for (int i = 0; i < ALLO_BLOCK_STATES; i++) {
		if (part_of_state[i] != ALLO_PART_HEAP)
			move(ledger, ALLO_PART_HEAP, part_of_state[i], &blocks->sums[i]);
	}
	/* The process may have allocated or freed during the walk. */
	if (ledger->rows[ALLO_PART_HEAP].rss < 0) {
		ledger->rows[ALLO_PART_BLOCKS].rss += ledger->rows[ALLO_PART_HEAP].rss;
		ledger->rows[ALLO_PART_HEAP].rss = 0;
	}
	ledger->rows[ALLO_PART_HEAP].bytes = blocks->sums[ALLO_BLOCK_UNKNOWN].bytes;
	ledger->rows[ALLO_PART_HEAP].blocks = 0;
	if (blocks->why)
		note(ledger, blocks->why);
	if (!blocks->knows_caches)
		note(ledger, "blocks in caches of threads count as in use");
}

static bool walk_glibc(struct allo_ledger *ledger, const struct allo_glibc *glibc,
		       const struct allo_other_memory *memory, struct allo_error *err)
{
	uint64_t begin_ns = allo_clock_ns();
	struct allo_glibc_blocks blocks;

	if (!allo_glibc_walk(glibc, memory, &blocks, err))
		return false;
	take_blocks(ledger, &blocks);
	ledger->walk_ns = allo_clock_ns() - begin_ns;
	return true;
}

/* Other allocators: they report statistics. */

static void claim(struct allo_ledger *ledger, enum allo_ledger_part part, uint64_t bytes)
{
	if (bytes != ALLO_UNKNOWN && bytes > 0)
		move(ledger, ALLO_PART_HEAP, part,
		     &(struct allo_glibc_sum){ .bytes = bytes, .resident = bytes });
}

static uint64_t known_or_0(uint64_t bytes)
{
	return bytes == ALLO_UNKNOWN ? 0 : bytes;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static uint64_t less(uint64_t bytes, uint64_t part)
{
	return bytes > part ? bytes - part : 0;
}

/* Returns whether the statistics suffice. */
static bool claim_heap(struct allo_ledger *ledger, const struct allo_allocator_memory *allocator)
{
	uint64_t caches = known_or_0(allocator->thread_cache_bytes);
	uint64_t allocated = allocator->allocated_bytes, active = allocator->active_bytes;

	if (allocated == ALLO_UNKNOWN)
		return false;
	/* jemalloc counts caches of threads as allocated. */
	if (active != ALLO_UNKNOWN) {
		claim(ledger, ALLO_PART_FREE_BLOCKS, less(active, allocated));
		allocated = less(allocated, caches);
	}
	claim(ledger, ALLO_PART_BLOCKS, allocated);
	claim(ledger, ALLO_PART_CACHES, caches);
	claim(ledger, ALLO_PART_FREE_BLOCKS, allocator->free_list_bytes);
	claim(ledger, ALLO_PART_FREE_PAGES, allocator->free_page_bytes);
	claim(ledger, ALLO_PART_ALLOCATOR, allocator->metadata_bytes);
	return true;
}

/* Memory of these allocators is not recognizable: all unexplained memory may belong to them. */
static void take_claims(struct allo_ledger *ledger, const struct allo_ledger_facts *facts)
{
	struct allo_ledger_row *heap = &ledger->rows[ALLO_PART_HEAP];
	struct allo_ledger_row *rest = &ledger->rows[ALLO_PART_UNEXPLAINED];
	struct allo_ledger_row all = *rest;

	*rest = (struct allo_ledger_row){ 0 };
	add(ledger, ALLO_PART_HEAP, all.rss, all.bytes, all.blocks);
	if (!facts->reported || !claim_heap(ledger, facts->reported)) {
		if (facts->live_bytes != ALLO_UNKNOWN)
			claim(ledger, ALLO_PART_BLOCKS,
			      smaller(facts->live_bytes, (uint64_t)heap->rss));
		note(ledger, "only the process itself knows which parts of its heap are free, and "
			     "which mappings belong to its allocator");
		if (facts->reported_why)
			note(ledger, facts->reported_why);
		return;
	}
	if (heap->rss < 0)
		add(ledger, ALLO_PART_UNTOUCHED, heap->rss, 0, 0);
	else
		add(ledger, ALLO_PART_UNEXPLAINED, heap->rss, 0, 0);
	*heap = (struct allo_ledger_row){ 0 };
}

/* Recorded blocks that the heap has no room for are in memory that the program mapped: Python's
 * arenas, an allocator of the program, recorded mappings.  They are assumed to be resident. */
static void take_spill(struct allo_ledger *ledger, const struct allo_ledger_facts *facts,
		       uint64_t room)
{
	int64_t rest = ledger->rows[ALLO_PART_UNEXPLAINED].rss;
	uint64_t spill = less(less(facts->live_bytes, room), ledger->rows[ALLO_PART_HEAP].bytes);
	struct allo_glibc_sum sum = { .bytes = smaller(spill, rest > 0 ? (uint64_t)rest : 0) };

	if (sum.bytes == 0)
		return;
	sum.resident = sum.bytes;
	move(ledger, ALLO_PART_UNEXPLAINED, ALLO_PART_LIVE, &sum);
	note(ledger, "live blocks outside of malloc's memory count as resident");
}

/* Splits blocks in use into requested bytes and padding.  Both are assumed to be resident to the
 * same degree. */
static void split_blocks(struct allo_ledger *ledger, const struct allo_ledger_facts *facts)
{
	struct allo_ledger_row *blocks = &ledger->rows[ALLO_PART_BLOCKS];
	struct allo_ledger_row *live = &ledger->rows[ALLO_PART_LIVE];
	uint64_t requested = smaller(facts->live_bytes, blocks->bytes);
	int64_t rss;

	if (facts->live_bytes == ALLO_UNKNOWN)
		return;
	take_spill(ledger, facts, blocks->bytes);
	if (blocks->bytes > 0) {
		rss = (int64_t)((double)blocks->rss * ((double)requested / (double)blocks->bytes));
		add(ledger, ALLO_PART_LIVE, rss, requested, 0);
		add(ledger, ALLO_PART_ROUNDING, blocks->rss - rss, blocks->bytes - requested, 0);
		if (facts->has_earlier && blocks->bytes > requested)
			note(ledger, "blocks from before the recording count as rounding");
		*blocks = (struct allo_ledger_row){ 0 };
	}
	if (live->is_there) {
		live->bytes = facts->live_bytes;
		live->blocks = facts->live_blocks;
	}
}

/* The whole ledger. */

static void add_mappings(struct allo_ledger *ledger, const struct allo_vmas *vmas,
			 bool has_profiler)
{
	for (size_t i = 0; i < vmas->all.len; i++)
		add_mapping(ledger, &vmas->all.at[i], has_profiler);
}

static bool make_glibc(struct allo_ledger *ledger, struct allo_vmas *vmas,
		       const struct allo_other_memory *memory,
		       const struct allo_ledger_facts *facts, bool has_profiler,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_glibc_done) struct allo_glibc glibc = { 0 };
	struct mapped mapped = { 0 };

	if (!allo_glibc_find(&glibc, vmas, memory, err))
		return false;
	mark_heaps(vmas, &glibc);
	if (!find_mapped(&mapped, vmas, memory, has_profiler, glibc.mapped_bytes, err))
		return false;
	add_mappings(ledger, vmas, has_profiler);
	move(ledger, ALLO_PART_HEAP, ALLO_PART_BLOCKS, &mapped.whole);
	move(ledger, ALLO_PART_UNEXPLAINED, ALLO_PART_BLOCKS, &mapped.part);
	if (glibc.why)
		note(ledger, glibc.why);
	else if (!facts->walks)
		note(ledger,
		     "blocks in use and free blocks are not separated, because walking was turned off");
	else
		return walk_glibc(ledger, &glibc, memory, err);
	return true;
}

bool allo_ledger_make(struct allo_ledger *ledger, struct allo_vmas *vmas,
		      const struct allo_other_memory *memory, const struct allo_ledger_facts *facts,
		      struct allo_error *err)
{
	const char *allocator = facts->allocator;
	bool has_profiler = allo_ledger_has_profiler(vmas);
	uint64_t threads;

	*ledger = (struct allo_ledger){ 0 };
	ledger->allocator = allocator;
	threads = mark_stacks(vmas, memory);
	if (strcmp(allocator, "glibc") == 0) {
		if (!make_glibc(ledger, vmas, memory, facts, has_profiler, err))
			return false;
	} else {
		add_mappings(ledger, vmas, has_profiler);
		if (allocator[0])
			take_claims(ledger, facts);
		else
			note(ledger, "the allocator of the process is unknown");
	}
	if (threads > 0)
		ledger->rows[ALLO_PART_STACKS].blocks = threads;
	split_blocks(ledger, facts);
	return true;
}
