/* open_segment.c - columns of full length while it grows; sealing copies the used part. */
#include "view/log/open_segment.h"

#include "base/hash.h"

#include <string.h>

void allo_open_segment_begin(struct allo_open_segment *open, uint32_t number)
{
	uint64_t bytes = open->bytes, blocks = open->blocks;

	memset(open, 0, offsetof(struct allo_open_segment, refs));
	open->start_bytes = open->bytes = open->max_bytes = bytes;
	open->start_blocks = open->blocks = open->max_blocks = blocks;
	open->number = number;
	open->last_stream = UINT32_MAX;
	memset(open->ended, 0, sizeof(open->ended));
	memset(open->imported, 0, sizeof(open->imported));
	memset(open->resized, 0, sizeof(open->resized));
	memset(open->temporary, 0, sizeof(open->temporary));
	memset(open->class_slots, 0, sizeof(open->class_slots));
}

uint32_t allo_open_segment_class(struct allo_open_segment *open, uint32_t site, uint32_t size)
{
	uint64_t hash = allo_hash_pair(site, size, allo_hash_seed());
	uint32_t slot = (uint32_t)hash % ALLO_CLASS_SLOTS, class;

	for (; (class = open->class_slots[slot]) != 0; slot = (slot + 1) % ALLO_CLASS_SLOTS) {
		if (open->class_sites[class - 1] == site && open->class_sizes[class - 1] == size)
			return class - 1;
	}
	/* Each change adds at most one class, so there is room. */
	class = open->shape.classes++;
	ALLO_ASSERT(class < ALLO_SEGMENT_CHANGES);
	open->class_sites[class] = site;
	open->class_sizes[class] = size;
	open->class_slots[slot] = class + 1;
	return class;
}

static bool has_any(const uint64_t *bits)
{
	uint64_t any = 0;

	for (size_t i = 0; i < ALLO_SEGMENT_CHANGES / 64; i++)
		any |= bits[i];
	return any != 0;
}

static void put_times(const struct allo_open_segment *open, struct allo_log_segment *segment)
{
	for (uint32_t i = 0; i < open->shape.times; i++) {
		if (segment->times)
			segment->times[i] = (uint32_t)open->times[i];
		else
			segment->wide_times[i] = open->times[i];
	}
}

static void put_streams(const struct allo_open_segment *open, struct allo_log_segment *segment)
{
	unsigned width = segment->stream_width;

	memcpy(segment->streams, open->stream_list, open->streams * sizeof(*segment->streams));
	for (uint32_t i = 0; i < open->shape.count && width > 0; i++) {
		size_t bit = (size_t)i * width;

		segment->stream_bits[bit / 8] |= (uint8_t)(open->stream_indexes[i] << bit % 8);
		if (width == 16)
			segment->stream_bits[bit / 8 + 1] = (uint8_t)(open->stream_indexes[i] >> 8);
	}
}

/* Copies a column that may be missing. */
static void put(void *to, const void *from, size_t count, size_t size)
{
	if (to)
		memcpy(to, from, count * size);
}

static void put_columns(const struct allo_open_segment *open, struct allo_log_segment *segment)
{
	const struct allo_log_shape *shape = &segment->shape;
	size_t words = ((size_t)shape->count + 63) / 64;

	put(segment->refs, open->refs, shape->count, sizeof(*open->refs));
	put(segment->ended, open->ended, words, sizeof(*open->ended));
	put(segment->imported, open->imported, words, sizeof(*open->imported));
	put(segment->resized, open->resized, words, sizeof(*open->resized));
	put(segment->temporary, open->temporary, words, sizeof(*open->temporary));
	put(segment->class_sites, open->class_sites, shape->classes, sizeof(*open->class_sites));
	put(segment->class_sizes, open->class_sizes, shape->classes, sizeof(*open->class_sizes));
	put(segment->import_classes, open->import_classes, shape->imports,
	    sizeof(*open->import_classes));
	put(segment->import_makers, open->import_makers, shape->imports,
	    sizeof(*open->import_makers));
	put(segment->import_made, open->import_made, shape->imports, sizeof(*open->import_made));
	put(segment->import_births, open->import_births, shape->import_births,
	    sizeof(*open->import_births));
	put(segment->inherited_at, open->inherited_at, shape->inherited,
	    sizeof(*open->inherited_at));
	put(segment->inherited_from, open->inherited_from, shape->inherited,
	    sizeof(*open->inherited_from));
	put(segment->inherited_births, open->inherited_births, shape->inherited,
	    sizeof(*open->inherited_births));
	put(segment->time_at, open->time_at, shape->times, sizeof(*open->time_at));
	put(segment->pages, open->pages, allo_shape_pages(shape), sizeof(*open->pages));
	put_times(open, segment);
	put_streams(open, segment);
}

bool allo_open_segment_seal(const struct allo_open_segment *open, uint32_t sums,
			    struct allo_log_segment *segment)
{
	struct allo_log_shape shape = open->shape;

	shape.sums = sums;
	shape.streams = open->streams;
	shape.has_wide_times = open->now_ns - open->first_ns > UINT32_MAX;
	shape.has_resized = has_any(open->resized);
	shape.has_temporary = has_any(open->temporary);
	if (!allo_log_segment_init(segment, &shape))
		return false;
	segment->first_ns = open->first_ns;
	segment->last_ns = open->now_ns;
	segment->bytes = open->start_bytes;
	segment->blocks = open->start_blocks;
	segment->end_bytes = open->bytes;
	segment->end_blocks = open->blocks;
	segment->max_bytes = open->max_bytes;
	segment->max_blocks = open->max_blocks;
	segment->max_after = open->max_after;
	segment->resizes = open->resizes;
	segment->ended_by_resize = open->ended_by_resize;
	put_columns(open, segment);
	for (uint32_t i = 0; i < allo_shape_pages(&shape); i++) {
		segment->made += segment->pages[i].made;
		segment->alloc_bytes += segment->pages[i].alloc_bytes;
	}
	return true;
}
