/* change_log_segment.c - the memory of a segment, and searches in it. */
#include "view/log/change_log_segment.h"

#include <stdlib.h>

/* The columns of a segment, one after the other, those with the widest items first. */
struct layout {
	char *memory; /* NULL while bytes are counted */
	size_t bytes;
};

static void *column(struct layout *layout, size_t count, size_t size)
{
	void *at = layout->memory && count > 0 ? layout->memory + layout->bytes : NULL;

	layout->bytes += count * size;
	return at;
}

static unsigned width_of(uint32_t streams)
{
	unsigned width = 16;

	if (streams <= 1)
		return 0;
	while (width > 1 && streams <= 1u << width / 2)
		width /= 2;
	return width;
}

/* Items of one column have one size, so the order keeps all of them aligned. */
static void lay_out(struct allo_log_segment *segment, struct layout *layout)
{
	const struct allo_log_shape *shape = &segment->shape;
	size_t words = ((size_t)shape->count + 63) / 64;

	segment->stream_width = width_of(shape->streams);
	segment->pages = column(layout, allo_shape_pages(shape), sizeof(*segment->pages));
	segment->ended = column(layout, words, sizeof(*segment->ended));
	segment->imported = column(layout, words, sizeof(*segment->imported));
	segment->resized = column(layout, shape->has_resized ? words : 0, 8);
	segment->temporary = column(layout, shape->has_temporary ? words : 0, 8);
	segment->inherited_births = column(layout, shape->inherited, 8);
	segment->import_births = column(layout, shape->import_births, 8);
	segment->wide_times = column(layout, shape->has_wide_times ? shape->times : 0, 8);
	segment->times = column(layout, shape->has_wide_times ? 0 : shape->times, 4);
	segment->class_sites = column(layout, shape->classes, 4);
	segment->class_sizes = column(layout, shape->classes, 4);
	segment->import_made = column(layout, shape->imports, 4);
	segment->inherited_from = column(layout, shape->inherited, 4);
	segment->streams = column(layout, shape->streams, 4);
	segment->refs = column(layout, shape->count, 2);
	segment->import_classes = column(layout, shape->imports, 2);
	segment->import_makers = column(layout, shape->streams > 1 ? shape->imports : 0, 2);
	segment->inherited_at = column(layout, shape->inherited, 2);
	segment->time_at = column(layout, shape->times, 2);
	segment->stream_bits = column(layout,
				      ((size_t)shape->count * segment->stream_width + 7) / 8, 1);
}

size_t allo_log_shape_bytes(const struct allo_log_shape *shape)
{
	struct allo_log_segment segment = { .shape = *shape };
	struct layout layout = { 0 };

	lay_out(&segment, &layout);
	return layout.bytes;
}

bool allo_log_segment_init(struct allo_log_segment *segment, const struct allo_log_shape *shape)
{
	*segment = (struct allo_log_segment){ .shape = *shape };
	segment->sums = calloc(shape->sums, sizeof(*segment->sums));
	if (segment->sums && allo_log_segment_make_columns(segment))
		return true;
	allo_log_segment_done(segment);
	return false;
}

bool allo_log_segment_make_columns(struct allo_log_segment *segment)
{
	struct layout layout = { 0 };

	segment->memory_bytes = allo_log_shape_bytes(&segment->shape);
	segment->memory = calloc(1, segment->memory_bytes);
	if (!segment->memory)
		return false;
	layout.memory = segment->memory;
	lay_out(segment, &layout);
	ALLO_ASSERT(layout.bytes == segment->memory_bytes);
	return true;
}

void allo_log_segment_done(struct allo_log_segment *segment)
{
	free(segment->memory);
	free(segment->sums);
	*segment = (struct allo_log_segment){ 0 };
}

uint32_t allo_segment_before(const struct allo_log_segment *segment, uint64_t ns)
{
	uint32_t low = 0, high = segment->shape.times;

	if (ns <= segment->first_ns)
		return 0;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (allo_segment_time(segment, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < segment->shape.times ? segment->time_at[low] : segment->shape.count;
}

/* The number of positions in a rising column that are smaller. */
static uint32_t count_below(const uint16_t *positions, uint32_t count, uint32_t at)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (positions[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t allo_segment_ns(const struct allo_log_segment *segment, uint32_t at)
{
	uint32_t times = count_below(segment->time_at, segment->shape.times, at + 1);

	ALLO_ASSERT(at < segment->shape.count);
	return times > 0 ? allo_segment_time(segment, times - 1) : segment->first_ns;
}

uint64_t allo_segment_birth(const struct allo_log_segment *segment, uint32_t at)
{
	uint32_t count = segment->shape.inherited;
	uint32_t row = count_below(segment->inherited_at, count, at);

	return row < count && segment->inherited_at[row] == at ? segment->inherited_births[row]
							       : allo_segment_ns(segment, at);
}

/* The number of import_births of the changes before a position. */
static uint32_t count_births(const struct allo_log_segment *segment, uint32_t at)
{
	uint32_t rows = 0, births = 0;

	if (segment->shape.import_births == 0)
		return 0;
	for (uint32_t i = 0; i < at / 64; i++)
		rows += (uint32_t)__builtin_popcountll(segment->imported[i]);
	if (at % 64 != 0)
		rows += (uint32_t)__builtin_popcountll(segment->imported[at / 64] &
						       (((uint64_t)1 << at % 64) - 1));
	for (uint32_t i = 0; i < rows; i++)
		births += segment->import_made[i] >= ALLO_LOG_INHERITS;
	return births;
}

struct allo_log_reader allo_log_reader_at(const struct allo_log_segment *segment, uint32_t at)
{
	uint32_t times = count_below(segment->time_at, segment->shape.times, at);

	return (struct allo_log_reader){
		.segment = segment,
		.next_time = times,
		.next_inherited = count_below(segment->inherited_at, segment->shape.inherited, at),
		.next_birth = count_births(segment, at),
		.ns = times > 0 ? allo_segment_time(segment, times - 1) : segment->first_ns,
	};
}
