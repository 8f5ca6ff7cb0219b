/*
 * open_segment.h - the segment of a change log that is being written.
 *
 * It has columns of full length, and the tallies of all sites.  Sealing it copies the used parts
 * into a segment of the log and starts the next one.
 */
#ifndef ALLO_VIEW_OPEN_SEGMENT_H
#define ALLO_VIEW_OPEN_SEGMENT_H

#include "view/log/change_log_segment.h"

/* Adds to a sum of times, which may wrap: windows of segments that are too long for it are answered
 * by reading their changes. */
static inline void allo_tally_add_life(int64_t *life, uint64_t ns)
{
	*life = (int64_t)((uint64_t)*life + ns);
}

/* The sums of a site in the open segment, as in struct allo_log_sum.  One cache line, since each
 * change touches it. */
struct allo_site_tally {
	int64_t bytes, max_bytes, life;
	uint64_t alloc_bytes;
	int32_t blocks, max_blocks;
	uint32_t made, temporary;
	uint32_t segment; /* number of the segment that the sums are of, from 1; 0: none */
	uint32_t site;    /* number in the log, from 1; 0: it has none yet */
	uint32_t last_size, last_class; /* of the last class of this site */
};

enum {
	ALLO_CLASS_SLOTS = 2 * ALLO_SEGMENT_CHANGES,
	ALLO_NO_CLASS = ALLO_SEGMENT_CHANGES, /* more than any class */
};

/* Columns as in struct allo_log_segment. */
struct allo_open_segment {
	struct allo_log_shape shape;
	uint64_t first_ns, now_ns;
	uint64_t start_bytes, start_blocks;
	uint64_t bytes, blocks; /* live now */
	uint64_t max_bytes, max_blocks;
	uint32_t max_after;
	uint32_t resizes, ended_by_resize;
	uint32_t number;  /* of this segment, from 1 */
	uint32_t streams; /* in stream_list */
	uint32_t last_stream, last_index;

	uint16_t refs[ALLO_SEGMENT_CHANGES];
	uint64_t ended[ALLO_SEGMENT_CHANGES / 64], imported[ALLO_SEGMENT_CHANGES / 64];
	uint64_t resized[ALLO_SEGMENT_CHANGES / 64], temporary[ALLO_SEGMENT_CHANGES / 64];
	uint16_t stream_indexes[ALLO_SEGMENT_CHANGES];
	uint32_t class_sites[ALLO_SEGMENT_CHANGES], class_sizes[ALLO_SEGMENT_CHANGES];
	uint16_t import_classes[ALLO_SEGMENT_CHANGES], import_makers[ALLO_SEGMENT_CHANGES];
	uint32_t import_made[ALLO_SEGMENT_CHANGES];
	uint16_t inherited_at[ALLO_SEGMENT_CHANGES];
	uint32_t inherited_from[ALLO_SEGMENT_CHANGES];
	uint64_t inherited_births[ALLO_SEGMENT_CHANGES], import_births[ALLO_SEGMENT_CHANGES];
	uint16_t time_at[ALLO_SEGMENT_CHANGES];
	uint64_t times[ALLO_SEGMENT_CHANGES];
	uint32_t stream_list[ALLO_SEGMENT_CHANGES];
	struct allo_log_page pages[ALLO_SEGMENT_PAGES];
	uint32_t class_slots[ALLO_CLASS_SLOTS]; /* hash table of classes, plus 1 */
};

/* Starts the segment with this number, from 1, after the one before it. */
void allo_open_segment_begin(struct allo_open_segment *open, uint32_t number);

/* The class of a site, by its number in the log, and a size. */
uint32_t allo_open_segment_class(struct allo_open_segment *open, uint32_t site, uint32_t size);

/* Copies the columns, without sums. */
bool allo_open_segment_seal(const struct allo_open_segment *open, uint32_t sums,
			    struct allo_log_segment *segment);

#endif
