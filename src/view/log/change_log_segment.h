/*
 * change_log_segment.h - up to 65,536 changes in a row, readable without any other segment.
 *
 * Each change has a 16-bit reference and a few bits:
 *
 *     made               its class: (site, size), in the segment's own table
 *     ended, made here   how many changes ago the block was made
 *     ended, imported    a row of `imports`: the class, and the number of the change that made it
 *
 * A block that realloc has resized keeps its first birth.  Such births are in `inherited`, in the
 * order of positions.  To find all ends of such blocks without reading every change, they count as
 * imported even if the block was made here.
 *
 * Times are noted only where they change.  Sites are numbered by first appearance in the log.
 */
#ifndef ALLO_VIEW_CHANGE_LOG_SEGMENT_H
#define ALLO_VIEW_CHANGE_LOG_SEGMENT_H

#include "base/assert.h"
#include "view/log/change_log.h"

enum {
	ALLO_SEGMENT_CHANGES = 1 << 16,
	ALLO_PAGE_CHANGES = 1 << 10,
	ALLO_SEGMENT_PAGES = ALLO_SEGMENT_CHANGES / ALLO_PAGE_CHANGES,
};

/* Sizes from here on are an index in allo_change_log.large_sizes, plus this. */
#define ALLO_LOG_LARGE ((uint32_t)1 << 31)

/* Marks the number of a change that made a block with an inherited birth. */
#define ALLO_LOG_INHERITS ((uint32_t)1 << 31)

#define ALLO_LOG_NOWHERE UINT32_MAX

/* The sums of a site over a segment.  Values are relative to those before the segment. */
struct allo_log_sum {
	uint32_t site;
	uint32_t made;
	int32_t blocks; /* live after the segment */
	uint32_t temporary;
	uint64_t alloc_bytes;
	int64_t bytes;
	/* With times since the start of the segment: the sum of the ends of blocks that realloc
	 * does not continue, minus the sum of the births of new blocks.  A birth that moves from
	 * one site to another by realloc is added to the first and subtracted from the second. */
	int64_t life;
	/* The largest of the values after each made block, by bytes and then by blocks; if made >
	 * 0.
	 */
	int64_t max_bytes;
	int32_t max_blocks;
	uint32_t unused;
};

/* The heap over ALLO_PAGE_CHANGES changes. */
struct allo_log_page {
	uint64_t bytes, blocks; /* live before */
	uint64_t max_bytes, max_blocks, min_bytes;
	uint64_t alloc_bytes;
	uint32_t made, temporary;
};

/* The numbers of columns, and their widths. */
struct allo_log_shape {
	uint32_t count; /* of changes; 0 in no segment */
	uint32_t classes, imports, import_births, inherited, times, sums, streams;
	uint32_t has_wide_times;             /* 64 bits instead of 32 */
	uint32_t has_resized, has_temporary; /* the columns exist */
};

struct allo_log_segment {
	struct allo_log_shape shape;
	uint64_t first_ns, last_ns;
	uint64_t bytes, blocks;         /* live before the first change */
	uint64_t end_bytes, end_blocks; /* live after the last one */
	uint64_t max_bytes, max_blocks; /* live when the total was first at its largest */
	uint32_t max_after; /* number of changes up to then; 0: the total was never above `bytes` */
	uint32_t made, resizes, ended_by_resize; /* numbers of changes */
	uint64_t alloc_bytes;

	/* The columns as a zstd frame, owned by the caller, of a log that was stored; they are
	 * unpacked when they are needed. */
	struct allo_text packed;
	void *memory; /* of all columns; NULL: they are still packed */
	size_t memory_bytes;
	/* By position. */
	uint16_t *refs;
	uint64_t *ended, *imported;    /* bits */
	uint64_t *resized, *temporary; /* bits; NULL: none is */
	uint8_t *stream_bits; /* indexes in `streams`, of stream_width bits each; NULL: all 0 */
	unsigned stream_width;

	uint32_t *class_sites, *class_sizes;
	uint16_t *import_classes;
	uint16_t *import_makers; /* index of the thread in `streams`; NULL: all 0 */
	uint32_t *import_made;   /* number of the change, perhaps with ALLO_LOG_INHERITS */
	uint64_t *import_births; /* of the rows with that mark, in their order */
	uint16_t *inherited_at;
	uint32_t *inherited_from; /* the site that the block leaves; or ALLO_LOG_NOWHERE */
	uint64_t *inherited_births;
	/* The position of the first change at a time; since first_ns.  Rising. */
	uint16_t *time_at;
	uint32_t *times;      /* or: */
	uint64_t *wide_times; /* the other one is NULL */
	uint32_t *streams;
	struct allo_log_sum *sums;   /* of sites with any change */
	struct allo_log_page *pages; /* shape.count / ALLO_PAGE_CHANGES, rounded up */
};

/* The live memory of each site before a segment. */
struct allo_log_state {
	uint32_t segment, site_count; /* later sites have none */
	uint64_t *bytes;
	uint32_t *blocks; /* in the same memory */
};

/* Allocates the sums and the columns of a segment with this shape.  False when memory is short. */
bool allo_log_segment_init(struct allo_log_segment *segment, const struct allo_log_shape *shape);

/* The same for the columns only, of a segment that has its sums. */
bool allo_log_segment_make_columns(struct allo_log_segment *segment);

void allo_log_segment_done(struct allo_log_segment *segment);

/* Bytes of all columns of a shape, without the sums. */
size_t allo_log_shape_bytes(const struct allo_log_shape *shape);

static inline uint32_t allo_shape_pages(const struct allo_log_shape *shape)
{
	return (shape->count + ALLO_PAGE_CHANGES - 1) / ALLO_PAGE_CHANGES;
}

static inline bool allo_log_bit(const uint64_t *bits, uint32_t at)
{
	return bits && (bits[at / 64] >> at % 64 & 1) != 0;
}

static inline uint64_t allo_segment_time(const struct allo_log_segment *segment, uint32_t index)
{
	return segment->first_ns +
	       (segment->times ? segment->times[index] : segment->wide_times[index]);
}

/* The number of changes before a time. */
uint32_t allo_segment_before(const struct allo_log_segment *segment, uint64_t ns);

/* The time of a change. */
uint64_t allo_segment_ns(const struct allo_log_segment *segment, uint32_t at);

/* The birth of the block that the change at a position makes. */
uint64_t allo_segment_birth(const struct allo_log_segment *segment, uint32_t at);

/* The class of the block that a change makes or ends. */
static inline uint32_t allo_segment_class(const struct allo_log_segment *segment, uint32_t at)
{
	uint32_t ref = segment->refs[at];

	if (!allo_log_bit(segment->ended, at))
		return ref;
	return allo_log_bit(segment->imported, at) ? segment->import_classes[ref]
						   : segment->refs[at - ref];
}

static inline uint64_t allo_log_size(const struct allo_change_log *log, uint32_t size)
{
	return __builtin_expect(size < ALLO_LOG_LARGE, 1)
		       ? size
		       : log->large_sizes.at[size - ALLO_LOG_LARGE];
}

/* The thread of a change. */
static inline uint32_t allo_segment_stream_index(const struct allo_log_segment *segment,
						 uint32_t at)
{
	unsigned width = segment->stream_width;
	size_t bit = (size_t)at * width;

	if (width == 0)
		return 0;
	if (width == 16)
		return (uint32_t)segment->stream_bits[bit / 8] |
		       (uint32_t)segment->stream_bits[bit / 8 + 1] << 8;
	return segment->stream_bits[bit / 8] >> bit % 8 & ((1u << width) - 1);
}

static inline uint32_t allo_segment_stream(const struct allo_log_segment *segment, uint32_t at)
{
	return segment->streams[allo_segment_stream_index(segment, at)];
}

/* The thread that made the block of a change. */
static inline uint32_t allo_segment_maker(const struct allo_log_segment *segment, uint32_t at)
{
	uint32_t ref = segment->refs[at];

	if (!allo_log_bit(segment->ended, at))
		return allo_segment_stream(segment, at);
	if (!allo_log_bit(segment->imported, at))
		return allo_segment_stream(segment, at - ref);
	return segment->streams[segment->import_makers ? segment->import_makers[ref] : 0];
}

/* Reads the changes of a segment in order: their times and inherited births. */
struct allo_log_reader {
	const struct allo_log_segment *segment;
	uint32_t next_time, next_inherited, next_birth;
	uint64_t ns; /* of the current change */
};

/* Starts before the change at a position. */
struct allo_log_reader allo_log_reader_at(const struct allo_log_segment *segment, uint32_t at);

/* Goes on to the change at a position, which is the next one. */
static inline void allo_log_reader_advance(struct allo_log_reader *reader, uint32_t at)
{
	const struct allo_log_segment *segment = reader->segment;

	if (reader->next_time < segment->shape.times && segment->time_at[reader->next_time] == at)
		reader->ns = allo_segment_time(segment, reader->next_time++);
}

/* Whether the block that the change makes has an inherited birth, and which. */
static inline bool allo_log_reader_inherits(struct allo_log_reader *reader, uint32_t at,
					    uint32_t *row)
{
	*row = reader->next_inherited;
	if (*row >= reader->segment->shape.inherited || reader->segment->inherited_at[*row] != at)
		return false;
	reader->next_inherited++;
	return true;
}

/* The birth of the imported block that the change ends, if it is inherited. */
static inline uint64_t allo_log_reader_birth(struct allo_log_reader *reader)
{
	ALLO_ASSERT(reader->next_birth < reader->segment->shape.import_births);
	return reader->segment->import_births[reader->next_birth++];
}

/* A place in the log, before a change. */
struct allo_log_place {
	size_t segment;
	uint32_t at; /* up to its count */
};

/* Adds a state with room for the live memory of sites; NULL when memory is short. */
struct allo_log_state *allo_log_add_state(struct allo_change_log *log, uint32_t segment,
					  size_t site_count, struct allo_error *err);

/* The last segment that begins before a time, or the first one. */
size_t allo_log_segment_at(const struct allo_change_log *log, uint64_t ns);

/* The place of the first change at or after a time.  The log is not empty, and has the columns of
 * that segment (change_log_stored.h). */
struct allo_log_place allo_log_find(const struct allo_change_log *log, uint64_t ns);

/* The same for the end of a window, where 0 stands for the end of the log. */
struct allo_log_place allo_log_end(const struct allo_change_log *log, uint64_t ns);

/* The number of a change.  Numbers rise, but some are unused: the changes of one event are in one
 * segment, which may therefore not be full. */
static inline uint32_t allo_log_number(struct allo_log_place place)
{
	return (uint32_t)(place.segment * ALLO_SEGMENT_CHANGES + place.at);
}

/* The birth of the block that a change, given by its number, makes. */
uint64_t allo_log_birth(const struct allo_change_log *log, uint32_t made);

/* The asides among a range of changes and of times. */
enum allo_log_aside_kind {
	ALLO_ASIDE_UNKNOWN_FREE, /* of a block that is not live */
	ALLO_ASIDE_UNKNOWN_OLD,  /* a fact: the next change is a realloc of such a block */
	ALLO_ASIDE_LATE_FREE,    /* of a block that was retired before */
	ALLO_ASIDE_LATE_OLD,     /* a fact: the next change is a realloc of such a block */
	ALLO_ASIDE_RETIRED,      /* a fact: the next change is an end without a free */
	ALLO_ASIDE_FAILED_RESIZE,
	ALLO_ASIDE_MISSING_STACK, /* a fact: the stack of the next new block is not known */
	ALLO_ASIDE_NOTHING,       /* an event without any effect */
	ALLO_ASIDE_MARK,
	ALLO_ASIDE_OWN,
	ALLO_ASIDE_KINDS,
};

/* The time of the last event before the end of a window, where 0 stands for the end of the log. */
uint64_t allo_log_last_before(const struct allo_change_log *log, uint64_t to_ns);

/* The first aside at or after a time. */
size_t allo_log_find_aside(const struct allo_change_log *log, uint64_t ns);

#endif
