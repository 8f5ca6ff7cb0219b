/* ledger.c - see ledger.h. */
#include "ledger/ledger.h"

#include "base/defer.h"
#include "ledger/glibc_blocks.h"
#include "ledger/thread_stacks.h"
#include "telemetry/monotonic_clock.h"

#include <stdlib.h>
#include <string.h>

const struct allo_ledger_name allo_ledger_parts[ALLO_PARTS] = {
	[ALLO_PART_LIVE] = { "live", "live blocks", "blocks", "what the program has asked for" },
	[ALLO_PART_ROUNDING] = { "rounding", "rounding", "",
				 "what live blocks are larger than asked for, their heads included" },
	[ALLO_PART_BLOCKS] = { "blocks", "blocks in use", "blocks",
			       "with what they are rounded up by" },
	[ALLO_PART_FREE_BLOCKS] = { "free_blocks", "free blocks", "blocks",
				    "in the allocator's lists, between blocks in use" },
	[ALLO_PART_CACHES] = { "caches", "thread caches", "blocks",
			       "free blocks that threads keep for themselves" },
	[ALLO_PART_FREE_PAGES] = { "free_pages", "free pages", "",
				   "whole pages that the allocator keeps, or has not used yet" },
	[ALLO_PART_ALLOCATOR] = { "allocator", "allocator", "", "its own structures" },
	[ALLO_PART_HEAP] = { "heap", "heap", "mappings",
			     "the allocator's, of which no more is known" },
	[ALLO_PART_UNTOUCHED] = { "untouched", "never touched", "",
				  "counted above by the allocator, but not resident" },
	[ALLO_PART_STACKS] = { "stacks", "stacks", "stacks", "of all threads" },
	[ALLO_PART_CODE] = { "code", "code", "mappings", "of programs and libraries" },
	[ALLO_PART_FILES] = { "files", "files", "mappings", "pages of other mapped files" },
	[ALLO_PART_DATA] = { "data", "data", "mappings",
			     "variables of programs and libraries, and other pages of files that "
			     "were written to" },
	[ALLO_PART_SHARED] = { "shared", "shared memory", "mappings", "shm, memfd, tmpfs" },
	[ALLO_PART_PROFILER] = { "profiler", "profiler", "mappings", "Allotrope's runtime" },
	[ALLO_PART_KERNEL] = { "kernel", "kernel", "mappings", "code that the kernel lends" },
	[ALLO_PART_UNEXPLAINED] = { "unexplained", "unexplained", "mappings",
				    "memory that no one of these accounts for" },
};

/* The process. */

static bool is_recording(const struct allo_vma *vma)
{
	struct allo_text name = vma->name;

	if (allo_text_ends(name, ALLO_TEXT(" (deleted)")))
		name.len -= strlen(" (deleted)");
	return vma->kind == ALLO_VMA_FILE && vma->is_shared && vma->is_writable &&
	       allo_text_ends(name, ALLO_TEXT(".allo"));
}

static bool is_runtime(const struct allo_vma *vma)
{
	return vma->kind == ALLO_VMA_FILE && allo_vma_is_called(vma, "liballo.so");
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

/* Mappings. */

/* What the runtime has for itself is memory that children find empty and that nothing is set aside
 * for: hardly anybody else has such. */
static bool is_profilers(const struct allo_vma *vma)
{
	return is_recording(vma) || is_runtime(vma) ||
	       (vma->kind == ALLO_VMA_ANON && vma->is_wiped && vma->is_unreserved);
}

enum allo_ledger_part allo_ledger_part_of(const struct allo_vma *vma, bool has_profiler)
{
	if (has_profiler && is_profilers(vma))
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

/* More is known of a part than it was. */
static void move(struct allo_ledger *ledger, enum allo_ledger_part from, enum allo_ledger_part to,
		 const struct allo_block_sum *sum)
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

	ledger->rss += vma->rss;
	ledger->swap += vma->swap;
	if (vma->kind == ALLO_VMA_FILE && part != ALLO_PART_PROFILER && copied > 0) {
		add(ledger, ALLO_PART_DATA, (int64_t)copied, copied, 1);
		add(ledger, part, (int64_t)(vma->rss - copied), size - copied, 1);
	} else {
		add(ledger, part, (int64_t)vma->rss, size, size > 0);
	}
}

/* glibc's heap, which can be looked into from outside. */

/* All that a block may be, and where it belongs. */
static const enum allo_ledger_part part_of_state[ALLO_BLOCK_STATES] = {
	[ALLO_BLOCK_USED] = ALLO_PART_BLOCKS,   [ALLO_BLOCK_FREE] = ALLO_PART_FREE_BLOCKS,
	[ALLO_BLOCK_CACHED] = ALLO_PART_CACHES, [ALLO_BLOCK_TOP] = ALLO_PART_FREE_PAGES,
	[ALLO_BLOCK_OWN] = ALLO_PART_ALLOCATOR, [ALLO_BLOCK_UNKNOWN] = ALLO_PART_HEAP,
};

static void add_sum(struct allo_block_sum *sum, const struct allo_block_sum *more)
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

/* Blocks with a mapping of their own: mappings that are nothing else, and others of which they are
 * a part. */
struct mapped {
	struct allo_block_sum whole, part;
};

/* Small ones first: where large ones are somebody else's, they need not be looked through. */
static int compare_sizes(const void *left, const void *right)
{
	const struct allo_vma *a = *(const struct allo_vma *const *)left;
	const struct allo_vma *b = *(const struct allo_vma *const *)right;
	uint64_t size_a = a->end - a->start, size_b = b->end - b->start;

	return (size_a > size_b) - (size_a < size_b);
}

static void look_for_mapped(struct mapped *mapped, const struct allo_other_memory *memory,
			    struct allo_vma *vma, uint64_t most)
{
	struct allo_block_sum sum = allo_glibc_find_blocks(memory, vma, most);

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
			look_for_mapped(mapped, memory, sorted.at[i],
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
	/* Some of it may have come or gone while it was walked through. */
	if (ledger->rows[ALLO_PART_HEAP].rss < 0) {
		ledger->rows[ALLO_PART_BLOCKS].rss += ledger->rows[ALLO_PART_HEAP].rss;
		ledger->rows[ALLO_PART_HEAP].rss = 0;
	}
	ledger->rows[ALLO_PART_HEAP].bytes = blocks->sums[ALLO_BLOCK_UNKNOWN].bytes;
	ledger->rows[ALLO_PART_HEAP].blocks = 0;
	if (blocks->why)
		note(ledger, blocks->why);
	if (!blocks->knows_caches)
		note(ledger, "what threads keep in their caches counts as in use");
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

/* Other allocators, which say themselves what they have. */

static void claim(struct allo_ledger *ledger, enum allo_ledger_part part, uint64_t bytes)
{
	if (bytes != ALLO_UNKNOWN && bytes > 0)
		move(ledger, ALLO_PART_HEAP, part,
		     &(struct allo_block_sum){ .bytes = bytes, .resident = bytes });
}

static uint64_t known_or_0(uint64_t figure)
{
	return figure == ALLO_UNKNOWN ? 0 : figure;
}

static uint64_t least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static uint64_t less(uint64_t figure, uint64_t part)
{
	return figure > part ? figure - part : 0;
}

/* Returns whether it says enough. */
static bool claim_heap(struct allo_ledger *ledger, const struct allo_allocator_memory *allocator)
{
	uint64_t caches = known_or_0(allocator->thread_cache_bytes);
	uint64_t allocated = allocator->allocated_bytes, active = allocator->active_bytes;

	if (allocated == ALLO_UNKNOWN)
		return false;
	/* jemalloc counts what threads keep as allocated. */
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

/* Its memory has no mark: all that is nobody else's may be it. */
static void take_claims(struct allo_ledger *ledger, const struct allo_ledger_facts *facts)
{
	struct allo_ledger_row *heap = &ledger->rows[ALLO_PART_HEAP];
	struct allo_ledger_row *rest = &ledger->rows[ALLO_PART_UNEXPLAINED];
	struct allo_ledger_row all = *rest;

	*rest = (struct allo_ledger_row){ 0 };
	add(ledger, ALLO_PART_HEAP, all.rss, all.bytes, all.blocks);
	if (!facts->told || !claim_heap(ledger, facts->told)) {
		if (facts->live_bytes != ALLO_UNKNOWN)
			claim(ledger, ALLO_PART_BLOCKS,
			      least(facts->live_bytes, (uint64_t)heap->rss));
		note(ledger, "only the process itself knows what of its heap is free, and which "
			     "mappings are its allocator's");
		if (facts->told_why)
			note(ledger, facts->told_why);
		return;
	}
	if (heap->rss < 0)
		add(ledger, ALLO_PART_UNTOUCHED, heap->rss, 0, 0);
	else
		add(ledger, ALLO_PART_UNEXPLAINED, heap->rss, 0, 0);
	*heap = (struct allo_ledger_row){ 0 };
}

/* What blocks were asked for, and what they are larger by.  What is not resident of large ones is
 * as likely to be the one as the other. */
static void split_blocks(struct allo_ledger *ledger, const struct allo_ledger_facts *facts)
{
	struct allo_ledger_row *blocks = &ledger->rows[ALLO_PART_BLOCKS];
	uint64_t live = facts->live_bytes < blocks->bytes ? facts->live_bytes : blocks->bytes;
	int64_t rss;

	if (facts->live_bytes == ALLO_UNKNOWN || !blocks->is_there || blocks->bytes == 0)
		return;
	rss = (int64_t)((double)blocks->rss * ((double)live / (double)blocks->bytes));
	add(ledger, ALLO_PART_LIVE, rss, facts->live_bytes, facts->live_blocks);
	add(ledger, ALLO_PART_ROUNDING, blocks->rss - rss, blocks->bytes - live, 0);
	*blocks = (struct allo_ledger_row){ 0 };
	if (facts->has_earlier)
		note(ledger, "blocks from before the recording count as rounding");
}

/* All of it. */

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
		note(ledger, "blocks in use are not told from free ones: that was not asked for");
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
	threads = allo_thread_stacks_mark(vmas, memory);
	if (strcmp(allocator, "glibc") == 0) {
		if (!make_glibc(ledger, vmas, memory, facts, has_profiler, err))
			return false;
	} else {
		add_mappings(ledger, vmas, has_profiler);
		if (allocator[0])
			take_claims(ledger, facts);
		else
			note(ledger, "its allocator is not known here");
	}
	if (threads > 0)
		ledger->rows[ALLO_PART_STACKS].blocks = threads;
	split_blocks(ledger, facts);
	return true;
}
