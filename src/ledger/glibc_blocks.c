/* glibc_blocks.c - walks through segments with a window of copied memory. */
#include "ledger/glibc_blocks.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>
#include <string.h>

enum {
	HEAD_SIZE =
		16, /* of a block: size of the previous block, if that is free, and its own size */
	BLOCK_MIN = 32,
	/* Low bits of the size. */
	BEFORE_IS_USED = 1,
	IS_MAPPED = 2,
	FLAGS = 7,
	WINDOW = 1 << 20,
	LOOK = 32, /* bytes of a block that are read: its head and two words of its contents */
	HEAP_GROWTH = 1 << 20, /* what a heap may grow by during the walk */
	MARKS = 8,
	MARK_DISTANCE = 1 << 18,
	TRIES_PER_MARK = 4,
	FAST_MAX = 1 << 20, /* blocks in fastbins, which are followed one by one */
	CACHE_LISTS = 64,
	/* The cache of a thread is a block with 64 counts of two bytes and 64 list heads. */
	CACHE_SIZE = 0x290,
	CACHED_MAX = 0x420, /* the largest block that caches hold */
};

struct walk {
	const struct allo_glibc *glibc;
	const struct allo_other_memory *memory;
	struct allo_glibc_blocks *blocks;
	/* The copied part of the process. */
	uint64_t window_start, window_end;
	char *window;
	/* For each page of the segment, the number of resident pages before it; one entry more than
	 * pages. */
	uint64_t pages_start;
	ALLO_VEC(uint8_t) states;
	ALLO_VEC(uint32_t) resident_before;
	/* Free blocks in fastbins, which are marked as used; sorted by address. */
	ALLO_VEC(uint64_t) fast;
	size_t next_fast;
	uint64_t key;                    /* in the second word of a cached block; 0: unknown */
	ALLO_VEC(uint64_t) maybe_caches; /* blocks that may be the cache of a thread */
};

static void walk_done(struct walk *walk)
{
	free(walk->window);
	allo_vec_done(&walk->states);
	allo_vec_done(&walk->resident_before);
	allo_vec_done(&walk->fast);
	allo_vec_done(&walk->maybe_caches);
}

/* Pages of a segment. */

static bool load_pages(struct walk *walk, const struct allo_glibc_segment *segment,
		       struct allo_error *err)
{
	uint64_t page_size = walk->memory->page_size;
	size_t count;

	walk->pages_start = segment->base / page_size * page_size;
	count = (size_t)((segment->end - walk->pages_start + page_size - 1) / page_size);
	walk->states.len = walk->resident_before.len = 0;
	if (!allo_vec_cover(&walk->states, count) ||
	    !allo_vec_cover(&walk->resident_before, count + 1))
		return allo_fail_memory(err);
	if (!allo_other_pages(walk->memory, walk->pages_start, count, walk->states.at)) {
		walk->blocks->why = "which of its pages are resident may not be seen by us";
		memset(walk->states.at, ALLO_PAGE_NONE, count);
	}
	for (size_t i = 0; i < count; i++)
		walk->resident_before.at[i + 1] = walk->resident_before.at[i] +
						  (walk->states.at[i] == ALLO_PAGE_RESIDENT);
	return true;
}

static size_t page_of(const struct walk *walk, uint64_t address)
{
	return (size_t)((address - walk->pages_start) / walk->memory->page_size);
}

/* Resident bytes from the segment's first page to an address. */
static uint64_t resident_up_to(const struct walk *walk, uint64_t address)
{
	size_t page = page_of(walk, address);
	uint64_t page_size = walk->memory->page_size;
	uint64_t bytes = walk->resident_before.at[page] * page_size;

	if (page < walk->states.len && walk->states.at[page] == ALLO_PAGE_RESIDENT)
		bytes += (address - walk->pages_start) % page_size;
	return bytes;
}

static void count(struct walk *walk, enum allo_block_state state, uint64_t start, uint64_t end)
{
	struct allo_glibc_sum *sum = &walk->blocks->sums[state];

	sum->blocks++;
	sum->bytes += end - start;
	sum->resident += resident_up_to(walk, end) - resident_up_to(walk, start);
}

/* The window. */

/* Reads the resident pages; the rest is zeros. */
static void fill_window(struct walk *walk, uint64_t start, uint64_t segment_end)
{
	uint64_t page_size = walk->memory->page_size, end = start + WINDOW;

	walk->window_start = start;
	walk->window_end = end < segment_end ? end : segment_end;
	memset(walk->window, 0, WINDOW);
	for (uint64_t at = start; at < walk->window_end;) {
		uint64_t run = at;

		while (run < walk->window_end &&
		       walk->states.at[page_of(walk, run)] == ALLO_PAGE_RESIDENT)
			run = (run / page_size + 1) * page_size;
		if (run > walk->window_end)
			run = walk->window_end;
		if (run > at)
			allo_other_read(walk->memory, at, walk->window + (at - start),
					(size_t)(run - at));
		at = run > at ? run : (at / page_size + 1) * page_size;
	}
}

/* The head of a block and the two words after it. */
static const uint64_t *look(struct walk *walk, uint64_t address, uint64_t segment_end)
{
	if (address < walk->window_start || address + LOOK > walk->window_end)
		fill_window(walk, address, segment_end);
	return (const void *)(walk->window + (address - walk->window_start));
}

/* Fastbins: linked lists of small blocks that were freed recently. */

static bool is_in_segments(const struct walk *walk, uint64_t address)
{
	const struct allo_glibc_segment *segments = walk->glibc->segments.at;
	size_t low = 0, high = walk->glibc->segments.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (segments[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < walk->glibc->segments.len && address >= segments[low].first;
}

/* Since glibc 2.32 links are XORed with their address (safe-linking). */
static uint64_t next_in_list(const struct walk *walk, uint64_t link_address, uint64_t link)
{
	uint64_t shown = link ^ link_address >> 12;

	if (shown == 0 || (shown % 16 == 0 && is_in_segments(walk, shown)))
		return shown;
	return link % 16 == 0 && is_in_segments(walk, link) ? link : 0;
}

static bool gather_fast_list(struct walk *walk, uint64_t block, struct allo_error *err)
{
	while (block && walk->fast.len < FAST_MAX) {
		uint64_t link, link_address = block + HEAD_SIZE;

		if (!is_in_segments(walk, block))
			return true;
		if (!allo_vec_append(&walk->fast, &block, 1))
			return allo_fail_memory(err);
		if (!allo_other_is_resident(walk->memory, link_address, 8) ||
		    !allo_other_read(walk->memory, link_address, &link, 8))
			return true;
		block = next_in_list(walk, link_address, link);
	}
	return true;
}

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static bool gather_fast(struct walk *walk, struct allo_error *err)
{
	for (size_t i = 0; i < walk->glibc->arenas.len; i++) {
		for (size_t k = 0; k < ALLO_GLIBC_FASTBINS; k++) {
			if (!gather_fast_list(walk, walk->glibc->arenas.at[i].fastbins[k], err))
				return false;
		}
	}
	if (walk->fast.len > 0)
		qsort(walk->fast.at, walk->fast.len, sizeof(*walk->fast.at), compare_addresses);
	return true;
}

/* Called with growing addresses. */
static bool is_fast(struct walk *walk, uint64_t block)
{
	while (walk->next_fast < walk->fast.len && walk->fast.at[walk->next_fast] < block)
		walk->next_fast++;
	return walk->next_fast < walk->fast.len && walk->fast.at[walk->next_fast] == block;
}

/* Blocks. */

static enum allo_block_state state_of(struct walk *walk, uint64_t block, uint64_t size,
				      uint64_t second_word)
{
	if (size <= CACHED_MAX && walk->key && second_word == walk->key)
		return ALLO_BLOCK_CACHED;
	return is_fast(walk, block) ? ALLO_BLOCK_FREE : ALLO_BLOCK_USED;
}

static bool is_size(uint64_t size, uint64_t left)
{
	return size >= BLOCK_MIN && size % 16 == 0 && size <= left;
}

/* A block as it was read.  The next block tells whether it is in use. */
struct seen {
	uint64_t address, size, second_word;
};

static void count_seen(struct walk *walk, const struct seen *seen, bool is_used)
{
	enum allo_block_state state = ALLO_BLOCK_FREE;

	if (seen->size == 0)
		return;
	if (is_used)
		state = state_of(walk, seen->address, seen->size, seen->second_word);
	count(walk, state, seen->address, seen->address + seen->size);
}

/* A block to which the walk can return, and what was counted before it. */
struct mark {
	uint64_t at;
	struct allo_glibc_sum sums[ALLO_BLOCK_STATES];
	size_t next_fast, maybe_caches;
};

/* The position in a segment. */
struct position {
	const struct allo_glibc_segment *segment;
	uint64_t at, end; /* the current block, and the end to arrive at */
	struct seen before;
	struct mark marks[MARKS]; /* the last ones; a ring */
	unsigned next_mark, marks_set;
	uint64_t furthest;
	unsigned tries; /* at the furthest block */
};

/* Called when all blocks before the current one are counted. */
static void set_mark(const struct walk *walk, struct position *position)
{
	const struct mark *last = &position->marks[(position->next_mark + MARKS - 1) % MARKS];
	struct mark *mark = &position->marks[position->next_mark];

	if (position->marks_set > 0 && position->at - last->at < MARK_DISTANCE)
		return;
	mark->at = position->at;
	memcpy(mark->sums, walk->blocks->sums, sizeof(mark->sums));
	mark->next_fast = walk->next_fast;
	mark->maybe_caches = walk->maybe_caches.len;
	position->next_mark = (position->next_mark + 1) % MARKS;
	if (position->marks_set < MARKS)
		position->marks_set++;
}

/* Returns to the last mark, which is removed. */
static void return_to_mark(struct walk *walk, struct position *position)
{
	const struct mark *mark;

	position->next_mark = (position->next_mark + MARKS - 1) % MARKS;
	position->marks_set--;
	mark = &position->marks[position->next_mark];
	position->at = mark->at;
	memcpy(walk->blocks->sums, mark->sums, sizeof(mark->sums));
	walk->next_fast = mark->next_fast;
	walk->maybe_caches.len = mark->maybe_caches;
}

/* There is no valid block here.  This block or those before it may have changed: reads again from
 * the previous block, and now and then from a mark further back.  False after too many tries. */
static bool step_back(struct walk *walk, struct position *position)
{
	if (position->at > position->furthest)
		position->tries = 0;
	position->furthest = position->at > position->furthest ? position->at : position->furthest;
	if (++position->tries % TRIES_PER_MARK == 0) {
		if (position->marks_set == 0 || position->tries > MARKS * TRIES_PER_MARK)
			return false;
		return_to_mark(walk, position);
	} else if (position->before.size > 0) {
		position->at = position->before.address;
	}
	position->before.size = 0;
	walk->window_start = walk->window_end = 0;
	return true;
}

/* The unused end of a heap, which ends with a page.  It or the heap may have grown since the arena
 * was read. */
static bool is_top(const struct walk *walk, const struct position *position, uint64_t size)
{
	uint64_t left = position->segment->end - position->at;

	if (position->at == position->end)
		return true;
	return position->segment->top && size >= left && size - left <= HEAP_GROWTH &&
	       (position->at + size) % walk->memory->page_size == 0;
}

/* A heap that no longer grows ends with two fencepost blocks. */
static bool is_last(const struct position *position, uint64_t size)
{
	return size == HEAD_SIZE && !position->segment->top &&
	       position->segment->end - position->at <= 4 * HEAD_SIZE;
}

/* Goes to the next block; false at the end, or at an invalid block. */
static bool step(struct walk *walk, struct position *position, struct allo_error *err)
{
	const uint64_t *words = look(walk, position->at, position->segment->end);
	uint64_t size = words[1] & ~(uint64_t)FLAGS;
	bool is_end = is_top(walk, position, size) || is_last(position, size);

	ALLO_ASSERT(position->at + LOOK <= position->segment->end);
	if (!is_end && (!is_size(size, position->end - position->at) || words[1] & IS_MAPPED))
		return step_back(walk, position);
	count_seen(walk, &position->before, words[1] & BEFORE_IS_USED);
	position->before = (struct seen){ 0 };
	if (is_end) {
		count(walk, is_top(walk, position, size) ? ALLO_BLOCK_TOP : ALLO_BLOCK_OWN,
		      position->at, position->segment->end);
		position->at = position->segment->end;
		return false;
	}
	set_mark(walk, position);
	position->before = (struct seen){ position->at, size, words[3] };
	if (size == CACHE_SIZE && !allo_vec_append(&walk->maybe_caches, &position->at, 1))
		return allo_fail_memory(err);
	position->at += size;
	return true;
}

static bool walk_segment(struct walk *walk, const struct allo_glibc_segment *segment,
			 struct allo_error *err)
{
	struct position position = { .segment = segment,
				     .at = segment->first,
				     .end = segment->top ? segment->top : segment->end };

	if (!load_pages(walk, segment, err))
		return false;
	walk->window_start = walk->window_end = 0;
	if (segment->first > segment->base)
		count(walk, ALLO_BLOCK_OWN, segment->base, segment->first);
	while (position.at + LOOK <= segment->end && step(walk, &position, err)) {
	}
	/* The rest of the segment is unknown. */
	if (position.at < segment->end) {
		uint64_t start = position.before.size > 0 ? position.before.address : position.at;

		count(walk, ALLO_BLOCK_UNKNOWN, start, segment->end);
		walk->blocks->why = "it changes faster than it can be read, or is swapped out";
	}
	return !allo_failed(err);
}

/* Caches of threads. */

/* struct tcache_perthread_struct: the number and the first block of each size. */
struct cache {
	uint16_t counts[CACHE_LISTS];
	uint64_t firsts[CACHE_LISTS];
};

/* The key of the blocks in a list, if it is a valid list of a cache; else 0. */
static uint64_t key_in_list(const struct walk *walk, uint64_t first, size_t list)
{
	uint64_t words[3]; /* the block's size, its link, and its key */

	if (first % 16 || !is_in_segments(walk, first) ||
	    !allo_other_is_resident(walk->memory, first - 8, sizeof(words)) ||
	    !allo_other_read(walk->memory, first - 8, words, sizeof(words)) ||
	    (words[0] & ~(uint64_t)FLAGS) != BLOCK_MIN + 16 * list)
		return 0;
	return words[2];
}

/* The same for a block that may be a cache; 0 if it is not, or is empty. */
static uint64_t key_in_cache(const struct walk *walk, uint64_t block)
{
	struct cache cache;
	uint64_t head[2];

	if (!allo_other_is_resident(walk->memory, block, HEAD_SIZE + sizeof(cache)) ||
	    !allo_other_read(walk->memory, block, head, sizeof(head)) ||
	    (head[1] & ~(uint64_t)FLAGS) != CACHE_SIZE ||
	    !allo_other_read(walk->memory, block + HEAD_SIZE, &cache, sizeof(cache)))
		return 0;
	for (size_t i = 0; i < CACHE_LISTS; i++) {
		uint64_t key = cache.counts[i] > 0 ? key_in_list(walk, cache.firsts[i], i) : 0;

		if (key)
			return key;
	}
	return 0;
}

/* The first block of a heap nearly always is the cache of its thread. */
static void find_key_early(struct walk *walk)
{
	for (size_t i = 0; i < walk->glibc->segments.len && !walk->key; i++)
		walk->key = key_in_cache(walk, walk->glibc->segments.at[i].first);
}

static void find_key_late(struct walk *walk)
{
	for (size_t i = 0; i < walk->maybe_caches.len && !walk->key; i++)
		walk->key = key_in_cache(walk, walk->maybe_caches.at[i]);
}

/* The walk. */

static bool walk_all(struct walk *walk, struct allo_error *err)
{
	memset(walk->blocks, 0, sizeof(*walk->blocks));
	walk->next_fast = 0;
	for (size_t i = 0; i < walk->glibc->segments.len; i++) {
		if (!walk_segment(walk, &walk->glibc->segments.at[i], err))
			return false;
	}
	return true;
}

bool allo_glibc_walk(const struct allo_glibc *glibc, const struct allo_other_memory *memory,
		     struct allo_glibc_blocks *blocks, struct allo_error *err)
{
	ALLO_DEFER(walk_done)
	struct walk walk = { .glibc = glibc, .memory = memory, .blocks = blocks };
	bool was_known;

	walk.window = malloc(WINDOW);
	if (!walk.window)
		return allo_fail_memory(err);
	find_key_early(&walk);
	was_known = walk.key != 0;
	if (!gather_fast(&walk, err) || !walk_all(&walk, err))
		return false;
	if (!was_known) {
		find_key_late(&walk);
		if (walk.key && !walk_all(&walk, err))
			return false;
	}
	/* Before glibc 2.34 each thread has its own key, the address of its cache. */
	blocks->knows_caches = walk.key && !is_in_segments(&walk, walk.key);
	return true;
}

/* Blocks that have their own mapping. */

enum { PAGES_AT_ONCE = 512 };

/* The first words of some pages of a mapping. */
struct heads {
	uint64_t start, end;
	uint8_t states[PAGES_AT_ONCE];
	uint64_t words[PAGES_AT_ONCE][2]; /* zeros for pages that are not resident */
};

static void read_heads(const struct allo_other_memory *memory, uint64_t start, uint64_t end,
		       struct heads *heads)
{
	uint64_t page_size = memory->page_size;
	size_t count = (size_t)((end - start) / page_size);

	if (count > PAGES_AT_ONCE)
		count = PAGES_AT_ONCE;
	heads->start = start;
	heads->end = start + count * page_size;
	memset(heads->words, 0, sizeof(heads->words));
	if (!allo_other_pages(memory, start, count, heads->states))
		return;
	allo_other_read_heads(memory, start, count, heads->states, heads->words);
}

/* The size of the block with this head; 0: not a block. */
static uint64_t mapped_size(const uint64_t words[2], uint64_t page_size, uint64_t left)
{
	uint64_t size = words[1] & ~(uint64_t)FLAGS;

	if (words[0] != 0 || (words[1] & FLAGS) != IS_MAPPED || size % page_size || size > left)
		return 0;
	return size;
}

/* Pages whose state may be read: a mapping of terabytes with little resident memory (of a
 * sanitizer, of a hostile process) is searched in part. */
static uint64_t pages_to_search(const struct allo_other_memory *memory, const struct allo_vma *vma)
{
	enum { ALWAYS = 1 << 20, PER_RESIDENT = 512 };

	return vma->rss == 0 ? 0 : ALWAYS + vma->rss / memory->page_size * PER_RESIDENT;
}

static bool spend(uint64_t *pages_left, uint64_t pages)
{
	if (pages > *pages_left)
		return false;
	*pages_left -= pages;
	return true;
}

struct allo_glibc_sum allo_glibc_find_blocks(const struct allo_other_memory *memory,
					     const struct allo_vma *vma, uint64_t most)
{
	uint64_t at = vma->start, pages_left = pages_to_search(memory, vma);
	struct allo_glibc_sum sum = { 0 };
	struct heads heads = { 0 };

	while (at < vma->end && sum.bytes < most) {
		uint64_t size;

		if (at >= heads.end && !spend(&pages_left, PAGES_AT_ONCE))
			break;
		if (at >= heads.end)
			read_heads(memory, at, vma->end, &heads);
		size = mapped_size(heads.words[(at - heads.start) / memory->page_size],
				   memory->page_size, vma->end - at);
		if (size == vma->end - vma->start) {
			sum = (struct allo_glibc_sum){ 1, size, vma->rss };
		} else if (size > 0) {
			if (!spend(&pages_left, size / memory->page_size))
				break;
			sum.blocks++;
			sum.bytes += size;
			sum.resident += allo_other_resident(memory, at, size);
		} else if (most == UINT64_MAX) {
			break;
		}
		at += size > 0 ? size : memory->page_size;
	}
	return sum;
}
