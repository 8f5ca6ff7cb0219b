/* glibc_arenas.c - searches the variables of libc for the main arena, and follows the list of
 * arenas. */
#include "ledger/glibc_arenas.h"

#include "base/defer.h"

#include <stdlib.h>

enum {
	LISTS = 127,
	LIST_WORDS = 2 * LISTS,
	EMPTY_MIN =
		16, /* empty lists that identify an arena: lists of large blocks mostly are empty */
	/* Words after the lists: binmap, next arena, next free arena, number of threads,
	   system_mem, max_system_mem. */
	NEXT = LIST_WORDS + 2,
	SYSTEM = NEXT + 3,
	SYSTEM_PEAK = NEXT + 4,
	WORDS_BEHIND = SYSTEM_PEAK + 1,
	/* Words before the lists: top, last_remainder; before these, the fastbins. */
	TOP_BEFORE = 2,
	FAST_BEFORE = TOP_BEFORE + ALLO_GLIBC_FASTBINS,
	WORDS_BEFORE_MAX = 32, /* from the start of an arena to its lists */
	ARENAS_MAX = 4096,
	DATA_MAX = 16 << 20, /* bytes of variables of libc or a program */
};

/* The same of all libraries: a hostile process may have many large ones. */
static const uint64_t all_data_max = (uint64_t)1 << 30;

void allo_glibc_done(struct allo_glibc *glibc)
{
	allo_vec_done(&glibc->arenas);
	allo_vec_done(&glibc->segments);
}

/* The lists. */

static bool is_empty_list(const uint64_t *words, size_t list, uint64_t address)
{
	uint64_t own = address + 16 * list - 16;

	return words[2 * list] == own && words[2 * list + 1] == own;
}

static bool are_lists(const uint64_t *words, uint64_t address)
{
	unsigned empty = 0;

	/* The last list is never used: this check rules out nearly all other places. */
	if (!is_empty_list(words, LISTS - 1, address))
		return false;
	for (size_t i = 0; i < LISTS; i++) {
		if (is_empty_list(words, i, address))
			empty++;
		else if (words[2 * i] == 0 || words[2 * i] % 16 || words[2 * i + 1] % 16)
			return false;
	}
	return empty >= EMPTY_MIN;
}

size_t allo_glibc_find_lists(const uint64_t *words, size_t count, uint64_t address)
{
	size_t found = SIZE_MAX;

	/* The words before the lists may look like one more list: the last match is right. */
	for (size_t i = TOP_BEFORE; i + WORDS_BEHIND <= count; i++) {
		if (are_lists(words + i, address + 8 * i))
			found = i;
		else if (found != SIZE_MAX && i > found + 2)
			break;
	}
	return found;
}

/* struct malloc_par ends with mmapped_mem, max_mmapped_mem and sbrk_base, the start of [heap].
 * Numbers of 32 bits come before; one is n_mmaps_max. */
uint64_t allo_glibc_find_mapped(const uint64_t *words, size_t count, uint64_t heap)
{
	enum { BEFORE = 5, MAPPINGS_MOST = 65536 };

	for (size_t i = BEFORE; i < count && heap; i++) {
		uint64_t mapped = words[i - 2], most = words[i - 1];
		bool has_most = false;

		if (words[i] != heap || mapped > most || mapped % 4096 || most % 4096)
			continue;
		for (size_t k = i - BEFORE; k < i - 2; k++)
			has_most |= (uint32_t)words[k] == MAPPINGS_MOST ||
				    words[k] >> 32 == MAPPINGS_MOST;
		if (has_most)
			return mapped;
	}
	return UINT64_MAX;
}

/* The places to search: variables of libc, or of a statically linked program. */

static bool has_variables(const struct allo_vma *vma)
{
	return vma->kind == ALLO_VMA_FILE && vma->is_writable && !vma->is_shared;
}

static bool is_libc(const struct allo_vma *vma)
{
	return allo_vma_has_prefix(vma, "libc.so") || allo_vma_has_prefix(vma, "libc-2.");
}

/* Reads resident pages only: untouched ones hold zeros. */
static void read_resident(const struct allo_other_memory *memory, uint64_t start, char *out,
			  uint64_t size)
{
	enum { AT_ONCE = 512 };
	uint64_t page_size = memory->page_size, pages = size / page_size;
	uint8_t states[AT_ONCE];

	for (uint64_t done = 0; done < pages; done += AT_ONCE) {
		size_t now = pages - done < AT_ONCE ? (size_t)(pages - done) : AT_ONCE;

		if (!allo_other_pages(memory, start + done * page_size, now, states))
			return;
		for (size_t i = 0; i < now; i++) {
			if (states[i] == ALLO_PAGE_RESIDENT)
				allo_other_read(memory, start + (done + i) * page_size,
						out + (done + i) * page_size, page_size);
		}
	}
}

/* The address of the lists in a range; 0: not found. */
static uint64_t find_in_range(const struct allo_other_memory *memory, uint64_t start, uint64_t end,
			      uint64_t heap, uint64_t *mapped)
{
	ALLO_DEFER(allo_free_pointer) void *words = NULL;
	uint64_t size = end - start;
	size_t found;

	if (size > DATA_MAX || !(words = calloc(1, size)))
		return 0;
	read_resident(memory, start, words, size);
	found = allo_glibc_find_lists(words, size / 8, start);
	if (found == SIZE_MAX)
		return 0;
	*mapped = allo_glibc_find_mapped(words, size / 8, heap);
	return start + 8 * found;
}

static uint64_t start_of_heap(const struct allo_vmas *vmas)
{
	for (size_t i = 0; i < vmas->all.len; i++) {
		if (vmas->all.at[i].kind == ALLO_VMA_BREAK)
			return vmas->all.at[i].start;
	}
	return 0;
}

static uint64_t find_lists(const struct allo_vmas *vmas, const struct allo_other_memory *memory,
			   bool in_libc, uint64_t *mapped)
{
	uint64_t searched = 0;

	for (size_t i = 0; i < vmas->all.len && searched < all_data_max; i++) {
		const struct allo_vma *vma = &vmas->all.at[i];
		bool has_more = i + 1 < vmas->all.len && vma[1].is_data;
		uint64_t end = has_more ? vma[1].end : vma->end, found;

		if (!has_variables(vma) || is_libc(vma) != in_libc ||
		    vma->rss + (has_more ? vma[1].rss : 0) == 0)
			continue;
		found = find_in_range(memory, vma->start, end, start_of_heap(vmas), mapped);
		searched += end - vma->start < DATA_MAX ? end - vma->start : 0;
		if (found)
			return found;
	}
	return 0;
}

/* Arenas. */

/* Reads an arena whose lists are `before` words after its start. */
static bool read_arena(const struct allo_other_memory *memory, uint64_t address, uint64_t before,
		       uint64_t words[WORDS_BEFORE_MAX + WORDS_BEHIND])
{
	size_t size = 8 * (size_t)(before + WORDS_BEHIND);

	return address % 8 == 0 && allo_other_is_resident(memory, address, size) &&
	       allo_other_read(memory, address, words, size) &&
	       are_lists(words + before, address + 8 * before);
}

static bool take_arena(const uint64_t *words, uint64_t before, struct allo_glibc_arena *arena)
{
	const uint64_t *lists = words + before;

	arena->top = lists[-TOP_BEFORE];
	arena->system_bytes = lists[SYSTEM];
	arena->system_peak_bytes = lists[SYSTEM_PEAK];
	for (uint64_t i = 0; i < ALLO_GLIBC_FASTBINS && before > FAST_BEFORE; i++)
		arena->fastbins[i] = words[before - FAST_BEFORE + i];
	return arena->system_bytes <= arena->system_peak_bytes && arena->top % 16 == 0;
}

/* Follows the circular list of arenas. */
static bool follow(const struct allo_other_memory *memory, uint64_t first, uint64_t before,
		   struct allo_glibc *glibc, struct allo_error *err)
{
	uint64_t words[WORDS_BEFORE_MAX + WORDS_BEHIND], address = first;

	glibc->arenas.len = 0;
	do {
		struct allo_glibc_arena arena = { .address = address };

		if (glibc->arenas.len == ARENAS_MAX ||
		    !read_arena(memory, address, before, words) ||
		    !take_arena(words, before, &arena))
			return false;
		if (!allo_vec_append(&glibc->arenas, &arena, 1))
			return allo_fail_memory(err);
		address = words[before + NEXT];
	} while (address != first);
	return true;
}

/* The distance from the start to the lists depends on the version of glibc: tries all until the
 * arenas are consistent. */
static bool find_arenas(const struct allo_other_memory *memory, uint64_t lists,
			struct allo_glibc *glibc, struct allo_error *err)
{
	for (uint64_t before = TOP_BEFORE + 1; before < WORDS_BEFORE_MAX; before++) {
		if (follow(memory, lists - 8 * before, before, glibc, err) || allo_failed(err))
			return !allo_failed(err);
	}
	glibc->arenas.len = 0;
	return true;
}

/* Segments. */

static bool add_segment(struct allo_glibc *glibc, const struct allo_glibc_segment *segment,
			struct allo_error *err)
{
	return allo_vec_append(&glibc->segments, segment, 1) || allo_fail_memory(err);
}

/* The main arena grows with brk(). */
static bool add_break(struct allo_glibc *glibc, const struct allo_vmas *vmas,
		      struct allo_error *err)
{
	struct allo_glibc_segment segment = { 0 };

	for (size_t i = 0; i < vmas->all.len; i++) {
		const struct allo_vma *vma = &vmas->all.at[i];

		if (vma->kind != ALLO_VMA_BREAK)
			continue;
		if (segment.end == 0)
			segment.base = segment.first = vma->start;
		segment.end = vma->end;
	}
	if (segment.end == 0)
		return true;
	if (glibc->arenas.at[0].top >= segment.first && glibc->arenas.at[0].top < segment.end)
		segment.top = glibc->arenas.at[0].top;
	return add_segment(glibc, &segment, err);
}

/* The start of a heap (struct heap_info): its arena, the previous heap, its size. */
struct heap_head {
	uint64_t arena, before, size;
};

/* The heaps that the mappings of a process have room for. */
static uint64_t most_heaps(const struct allo_vmas *vmas)
{
	uint64_t most = 0;

	for (size_t i = 0; i < vmas->all.len; i++)
		most += (vmas->all.at[i].end - vmas->all.at[i].start) / ALLO_GLIBC_HEAP_MAX + 1;
	return most;
}

/* The end of a heap, or of its mapping: a heap may have grown after the mappings were read.  0 if
 * it is not mapped. */
static uint64_t mapped_end(const struct allo_vmas *vmas, uint64_t start, uint64_t end)
{
	const struct allo_vma *vma = allo_vmas_find(vmas, start);

	if (!vma)
		return 0;
	return end < vma->end ? end : vma->end;
}

/* All other arenas have their own heaps.  The first heap begins with the arena itself.  The process
 * may lie, so `heaps_left` ends a chain that loops. */
static bool add_heaps(struct allo_glibc *glibc, size_t number, const struct allo_vmas *vmas,
		      const struct allo_other_memory *memory, uint64_t arena_size,
		      uint64_t *heaps_left, struct allo_error *err)
{
	const struct allo_glibc_arena *arena = &glibc->arenas.at[number];
	uint64_t first_heap = arena->address / ALLO_GLIBC_HEAP_MAX * ALLO_GLIBC_HEAP_MAX;
	uint64_t heap = arena->top / ALLO_GLIBC_HEAP_MAX * ALLO_GLIBC_HEAP_MAX;
	uint64_t head_size = arena->address - first_heap;

	for (uint64_t total = 0; heap && total<arena->system_bytes && * heaps_left> 0;
	     --*heaps_left) {
		struct allo_glibc_segment segment = { .base = heap, .arena = number };
		struct heap_head head;

		if (!allo_other_is_resident(memory, heap, sizeof(head)) ||
		    !allo_other_read(memory, heap, &head, sizeof(head)) ||
		    head.arena != arena->address || head.size == 0 ||
		    head.size > ALLO_GLIBC_HEAP_MAX || head.before % ALLO_GLIBC_HEAP_MAX)
			break;
		total += head.size;
		segment.first = heap == first_heap ? (arena->address + arena_size + 15) / 16 * 16
						   : heap + head_size;
		segment.end = mapped_end(vmas, heap, heap + head.size);
		if (arena->top >= segment.first && arena->top < segment.end)
			segment.top = arena->top;
		if (segment.first < segment.end && !add_segment(glibc, &segment, err))
			return false;
		heap = head.before;
	}
	return true;
}

static int compare_segments(const void *left, const void *right)
{
	const struct allo_glibc_segment *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

/* Sorts the segments and drops those that overlap another one: heaps of a chain that loops. */
static void settle_segments(struct allo_glibc *glibc)
{
	struct allo_glibc_segment *segments = glibc->segments.at;
	size_t kept = 0;

	if (glibc->segments.len > 0)
		qsort(segments, glibc->segments.len, sizeof(*segments), compare_segments);
	for (size_t i = 0; i < glibc->segments.len; i++) {
		if (kept == 0 || segments[i].base >= segments[kept - 1].end)
			segments[kept++] = segments[i];
	}
	glibc->segments.len = kept;
}

static bool add_segments(struct allo_glibc *glibc, const struct allo_vmas *vmas,
			 const struct allo_other_memory *memory, uint64_t lists,
			 struct allo_error *err)
{
	uint64_t arena_size = lists - glibc->arenas.at[0].address + 8 * WORDS_BEHIND;
	uint64_t heaps_left = most_heaps(vmas);

	if (!add_break(glibc, vmas, err))
		return false;
	for (size_t i = 1; i < glibc->arenas.len; i++) {
		if (!add_heaps(glibc, i, vmas, memory, arena_size, &heaps_left, err))
			return false;
	}
	settle_segments(glibc);
	return true;
}

bool allo_glibc_find(struct allo_glibc *glibc, const struct allo_vmas *vmas,
		     const struct allo_other_memory *memory, struct allo_error *err)
{
	uint64_t lists, word;

	glibc->mapped_bytes = UINT64_MAX;
	lists = find_lists(vmas, memory, true, &glibc->mapped_bytes);
	if (!lists)
		lists = find_lists(vmas, memory, false, &glibc->mapped_bytes);
	if (lists && !find_arenas(memory, lists, glibc, err))
		return false;
	if (glibc->arenas.len > 0)
		return add_segments(glibc, vmas, memory, lists, err);
	if (vmas->all.len > 0 && !allo_other_read(memory, vmas->all.at[0].start, &word, 8))
		glibc->why = "its memory may not be read by us";
	else
		glibc->why = "no arenas of glibc were found in it";
	return true;
}
