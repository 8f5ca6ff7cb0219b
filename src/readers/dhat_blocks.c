/*
 * dhat_blocks.c - see dhat_blocks.h.
 *
 * Every block but the last ends at a border that was guessed.  A block that was parsed up to its
 * very end proves the guess, since it began at a proven one; when a guess turns out wrong, the rest
 * of the file is parsed piece by piece without guessing.
 */
#include "readers/dhat_blocks.h"

#include "base/defer.h"
#include "base/jobs.h"

#include <stdlib.h>

enum {
	BLOCK_SIZE = 1 << 20,
	BLOCKS_MAX = 4, /* being parsed at once */
};

typedef ALLO_VEC(char) bytes;

struct blocks {
	const struct allo_dhat_blocks *asked;
	struct allo_jobs jobs;
	struct allo_dhat_block
		block[BLOCKS_MAX]; /* number n of the file is block[n % BLOCKS_MAX] */
	size_t filled, taken;
	bytes rest;              /* bytes that no block has got yet */
	struct allo_place place; /* of the oldest block */
	bool at_end;             /* of the input */
	bool is_serial;          /* borders cannot be guessed in this file */
	bool is_stuck;           /* the last block was shorter than a point */
	bool has_started;        /* a point has been read */
};

static void blocks_done(struct blocks *blocks)
{
	while (allo_jobs_take(&blocks->jobs))
		;
	allo_jobs_close(&blocks->jobs);
	for (size_t i = 0; i < BLOCKS_MAX; i++)
		allo_dhat_block_done(&blocks->block[i]);
	allo_vec_done(&blocks->rest);
}

/* Makes the block's text able to hold `room` bytes and a NUL. */
static bool make_room(struct allo_dhat_block *block, size_t room, struct allo_error *err)
{
	char *text;

	if (room <= block->room)
		return true;
	text = realloc(block->text, room + 1);
	if (!text)
		return allo_fail_memory(err);
	block->text = text;
	block->room = room;
	return true;
}

static bool fill_text(struct blocks *blocks, struct allo_dhat_block *block, struct allo_error *err)
{
	while (block->len < block->room && !blocks->at_end) {
		size_t got = allo_input_take(blocks->asked->in, block->text + block->len,
					     block->room - block->len, err);

		block->len += got;
		blocks->at_end = got == 0;
	}
	return !allo_failed(err);
}

static bool fail_too_long(const struct blocks *blocks, struct allo_error *err)
{
	return allo_fail(err, ALLO_LIMIT, allo_place_pos(blocks->place, blocks->asked->in->name),
			 "a program point is larger than %d MiB", ALLO_PIECE_MAX >> 20);
}

/* Fills the next block up to where a point seems to end; what is behind stays in `rest`. */
static bool fill_block(struct blocks *blocks, struct allo_dhat_block *block, struct allo_error *err)
{
	size_t rest = blocks->rest.len;
	size_t more = blocks->is_stuck && rest > BLOCK_SIZE ? rest : BLOCK_SIZE;
	size_t border = 0;

	if (!make_room(block, blocks->is_serial ? rest + more : BLOCK_SIZE, err) ||
	    !make_room(block, rest, err))
		return false;
	if (rest > 0)
		memcpy(block->text, blocks->rest.at, rest);
	block->len = rest;
	blocks->rest.len = 0;
	for (;;) {
		if (!fill_text(blocks, block, err))
			return false;
		if (blocks->at_end || blocks->is_serial)
			break;
		border = allo_dhat_guess_border((struct allo_text){ block->text, block->len });
		if (border > 0)
			break;
		if (block->room >= ALLO_PIECE_MAX) {
			/* One huge point, or what follows the array already: parsing will tell. */
			blocks->is_serial = true;
			break;
		}
		if (!make_room(block, block->room * 2, err))
			return false;
	}
	if (border > 0) {
		if (!allo_vec_append(&blocks->rest, block->text + border, block->len - border))
			return allo_fail_memory(err);
		block->len = border;
	}
	block->text[block->len] = '\0';
	return true;
}

static bool give_block(struct blocks *blocks, struct allo_error *err)
{
	struct allo_dhat_block *block = &blocks->block[blocks->filled % BLOCKS_MAX];

	if (!fill_block(blocks, block, err))
		return false;
	block->is_first = blocks->filled == 0 || (blocks->is_serial && !blocks->has_started);
	block->keep_accesses = blocks->asked->keep_accesses;
	block->required = blocks->asked->required;
	blocks->filled++;
	allo_jobs_give(&blocks->jobs, block);
	return true;
}

/* All bytes behind what `block` has consumed go to `rest`, those of later blocks included. */
static bool gather_rest(struct blocks *blocks, const struct allo_dhat_block *block,
			struct allo_error *err)
{
	const struct allo_dhat_block *later;
	bytes all = { 0 };
	bool ok = allo_vec_append(&all, block->text + block->consumed,
				  block->len - block->consumed);

	while ((later = allo_jobs_take(&blocks->jobs)) != NULL) {
		ok = ok && allo_vec_append(&all, later->text, later->len);
		blocks->taken++;
	}
	ok = ok && allo_vec_append(&all, blocks->rest.at, blocks->rest.len);
	allo_vec_done(&blocks->rest);
	blocks->rest = all;
	return ok || allo_fail_memory(err);
}

static struct allo_pos pos_in(const struct blocks *blocks, const struct allo_dhat_block *block,
			      size_t offset)
{
	return allo_dhat_block_pos(block, blocks->place, offset, blocks->asked->in->name);
}

static bool fail_block(const struct blocks *blocks, const struct allo_dhat_block *block,
		       struct allo_error *err)
{
	if (!allo_failed(err)) {
		*err = block->failure;
		err->pos = pos_in(blocks, block, block->failure.pos.byte);
	}
	return false;
}

static bool fail_cut_off(const struct blocks *blocks, const struct allo_dhat_block *block,
			 struct allo_error *err)
{
	allo_fail(err, ALLO_FORMAT, pos_in(blocks, block, block->len),
		  "the file ends within the program points");
	return allo_hint(err, "the file was cut off, or its program is still writing it");
}

/* What follows the array goes back to the input. */
static bool finish_blocks(struct blocks *blocks, const struct allo_dhat_block *block,
			  struct allo_error *err)
{
	if (!gather_rest(blocks, block, err))
		return false;
	allo_place_add(&blocks->place, block->covered);
	return allo_input_give_back(blocks->asked->in,
				    (struct allo_text){ blocks->rest.at, blocks->rest.len },
				    blocks->place, err);
}

/* Takes the oldest block; `is_over` when it was the array's last. */
static bool take_block(struct blocks *blocks, bool *is_over, struct allo_error *err)
{
	struct allo_dhat_block *block = allo_jobs_take(&blocks->jobs);

	blocks->taken++;
	if (block->status == ALLO_DHAT_FAILED)
		return fail_block(blocks, block, err);
	if (!blocks->asked->take(blocks->asked->context, block, blocks->place, err))
		return false;
	blocks->has_started |= block->points.len > 0;
	*is_over = block->status == ALLO_DHAT_ENDED;
	if (*is_over)
		return finish_blocks(blocks, block, err);
	if (block->status == ALLO_DHAT_INSIDE || (blocks->at_end && block->consumed == 0)) {
		/* The guessed border lay within a point: from here on there is no more guessing. */
		if (!gather_rest(blocks, block, err))
			return false;
		if (block->consumed == 0 && block->len > ALLO_PIECE_MAX)
			return fail_too_long(blocks, err);
		if (blocks->at_end && blocks->is_serial && block->consumed == 0)
			return fail_cut_off(blocks, block, err);
		blocks->is_serial = true;
		blocks->is_stuck = block->consumed == 0;
	}
	allo_place_add(&blocks->place, block->covered);
	return true;
}

bool allo_dhat_read_blocks(const struct allo_dhat_blocks *asked, struct allo_error *err)
{
	ALLO_DEFER(blocks_done)
	struct blocks blocks = { .asked = asked, .place = allo_input_place(asked->in) };
	bool is_over = false;

	allo_jobs_open(&blocks.jobs, allo_dhat_block_parse, allo_cpu_count() - 1);
	while (!is_over) {
		size_t most = blocks.is_serial ? 1 : BLOCKS_MAX;

		while (blocks.filled - blocks.taken < most &&
		       (blocks.filled == blocks.taken || !blocks.at_end)) {
			if (!give_block(&blocks, err))
				return false;
		}
		if (!take_block(&blocks, &is_over, err))
			return false;
	}
	return true;
}
