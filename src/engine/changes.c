/*
 * changes.c - the blocks of a recording as changes over time, for a profile.
 *
 * Programs that show them hold all of them in memory, so there are at most BLOCKS_MOST.  Of more,
 * a sample stands for all: a block is kept with a probability of its size to the sample's step, and
 * then weighs as much as the step; larger blocks are all kept.  So sums of bytes are unbiased for
 * any time and any function.  The step doubles whenever there are too many.
 */
#include "engine/rows.h"

#include "base/defer.h"
#include "replay/weights.h"

#include <stdlib.h>

enum { BLOCKS_MOST = 1 << 19 };

struct block {
	uint64_t alloc_ns, free_ns, number;
	uint64_t bytes; /* of all blocks that a sampled recording takes it for */
	allo_stack_id stack;
	uint64_t alloc_tid, free_tid;
};

struct collector {
	const struct allo_recording *recording;
	const struct allo_window *window;
	const allo_stack_id *stacks; /* by node */
	struct allo_weighing weighing;
	ALLO_VEC(struct block) blocks;
	uint64_t step; /* 0: all blocks are kept */
	uint64_t left_out;
};

static void collector_done(struct collector *c)
{
	allo_vec_done(&c->blocks);
}

/* The same for a block at each step, so a larger step only drops more. */
static bool is_kept(const struct collector *c, uint64_t number, uint64_t bytes)
{
	uint64_t hash = allo_hash_pair(number, ~number, 0);

	return bytes >= c->step || (uint64_t)(((unsigned __int128)hash * c->step) >> 64) < bytes;
}

static void enlarge_step(struct collector *c)
{
	size_t kept = 0;

	c->step = c->step ? 2 * c->step : 16;
	for (size_t i = 0; i < c->blocks.len; i++) {
		if (is_kept(c, c->blocks.at[i].number, c->blocks.at[i].bytes))
			c->blocks.at[kept++] = c->blocks.at[i];
	}
	c->left_out += c->blocks.len - kept;
	c->blocks.len = kept;
}

static uint64_t tid_of(const struct collector *c, uint32_t stream)
{
	return stream == ALLO_NO_STREAM ? 0 : c->recording->streams.at[stream].thread;
}

static bool take_blocks(void *context, const struct allo_block_row *rows, size_t count,
			struct allo_error *err)
{
	struct collector *c = context;

	for (size_t i = 0; i < count; i++) {
		const struct allo_block_row *row = &rows[i];
		uint64_t bytes = allo_parts_round(
			allo_weigh(&c->weighing, row->size, row->alloc_ns).bytes);

		if (bytes == 0)
			continue;
		if (!is_kept(c, row->number, bytes)) {
			c->left_out++;
			continue;
		}
		if (c->blocks.len == BLOCKS_MOST)
			enlarge_step(c);
		allo_vec_add(&c->blocks,
			     ((struct block){ row->alloc_ns, row->free_ns, row->number, bytes,
					      c->stacks[row->stack], tid_of(c, row->alloc_stream),
					      tid_of(c, row->free_stream) }),
			     err);
	}
	return !allo_failed(err);
}

/* In time order, a block's beginning before its end. */
static int compare(const void *left, const void *right)
{
	const struct allo_block_change *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static bool add_changes(const struct collector *c, struct allo_profile *profile,
			struct allo_error *err)
{
	uint64_t end_ns = c->window->to_ns ? c->window->to_ns : ALLO_NEVER;

	for (size_t i = 0; i < c->blocks.len; i++) {
		const struct block *block = &c->blocks.at[i];
		uint64_t bytes = block->bytes > c->step ? block->bytes : c->step;
		struct allo_block_change change = { .time = block->alloc_ns,
						    .bytes = bytes > INT64_MAX ? INT64_MAX
									       : (int64_t)bytes,
						    .block = block->number,
						    .tid = block->alloc_tid,
						    .stack = block->stack };

		/* Blocks from before the window are there when it begins. */
		if (change.time < c->window->from_ns)
			change.time = c->window->from_ns;
		allo_vec_add(&profile->changes, change, err);
		if (block->free_ns >= end_ns)
			continue;
		change.time = block->free_ns;
		change.bytes = -change.bytes;
		change.tid = block->free_tid;
		allo_vec_add(&profile->changes, change, err);
	}
	if (allo_failed(err))
		return false;
	if (profile->changes.len > 0)
		qsort(profile->changes.at, profile->changes.len, sizeof(*profile->changes.at),
		      compare);
	allo_note_many(&profile->notes, ALLO_NOTE_THINNED, c->left_out, ALLO_NOWHERE);
	return true;
}

bool allo_source_add_changes(struct allo_source *source, const allo_stack_id *stacks,
			     struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(collector_done)
	struct collector c = { .recording = &source->recording,
			       .window = &source->replay.window,
			       .stacks = stacks,
			       .weighing = allo_weighing_of(&source->recording) };
	struct allo_gaps gaps = source->recording.gaps;
	bool ok = allo_source_block_rows(source, take_blocks, &c, err);

	source->recording.gaps = gaps; /* they counted when the profile was made */
	return ok && add_changes(&c, profile, err);
}
