/*
 * unpack_lz4.c - LZ4 frames, as the command lz4 and memray write them.
 *
 * A frame is a magic number, a descriptor, blocks with their sizes, and a size of 0 as the end
 * mark. A block refers to the 64 KiB before it, unless the frame says that blocks are independent.
 * Checksums are skipped: a reader checks the data anyway.
 */
#include "base/assert.h"
#include "base/io/unpack_method.h"

#include <stdlib.h>

enum { HISTORY = 64 << 10, BLOCK_MOST = 4 << 20, LEAST_MATCH = 4 };

static const uint32_t magic = 0x184d2204, is_stored = 0x80000000;

/* Bits of the first byte of the descriptor. */
enum {
	VERSION = 0xc0,
	BLOCKS_CHECKED = 0x10,
	HAS_SIZE = 8,
	IS_CHECKED = 4,
	RESERVED = 2,
	HAS_DICTIONARY = 1,
	VERSION_1 = 0x40,
};

/* The next item of the stream. */
enum stage { BETWEEN, FLAGS, DESCRIPTOR, BLOCK_SIZE, BLOCK, CHECKSUM };

struct lz4 {
	enum stage stage;
	unsigned char flags;
	size_t block_most, wanted; /* bytes of the next item */
	uint32_t block;            /* its size as written */
	size_t collected;
	char *item;   /* of `wanted` bytes, if the input has them in pieces */
	char *window; /* history, then the last block */
	size_t history, made, given;
};

static void *open_lz4(void)
{
	struct lz4 *lz4 = calloc(1, sizeof(*lz4));

	if (!lz4)
		return NULL;
	lz4->item = malloc(BLOCK_MOST + sizeof(uint32_t));
	lz4->window = malloc(HISTORY + BLOCK_MOST);
	lz4->wanted = sizeof(magic);
	if (lz4->item && lz4->window)
		return lz4;
	free(lz4->item);
	free(lz4->window);
	free(lz4);
	return NULL;
}

static void close_lz4(void *state)
{
	struct lz4 *lz4 = state;

	free(lz4->item);
	free(lz4->window);
	free(lz4);
}

/* Blocks. */

/* The rest of a length: bytes are added up until one is not 255. */
static bool take_length(struct allo_text *packed, size_t *length)
{
	unsigned char byte;

	do {
		if (packed->len == 0 || *length > BLOCK_MOST)
			return false;
		byte = (unsigned char)packed->data[0];
		*packed = allo_text_from(*packed, 1);
		*length += byte;
	} while (byte == 255);
	return true;
}

/* Copies what may overlap itself: then it repeats. */
static void copy_match(char *to, size_t distance, size_t length)
{
	const char *from = to - distance;

	if (distance >= length) {
		memcpy(to, from, length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		to[i] = from[i];
}

static bool unpack_block(struct lz4 *lz4, struct allo_text packed)
{
	char *start = lz4->window + lz4->history, *to = start, *end = start + lz4->block_most;

	while (packed.len > 0) {
		unsigned token = (unsigned char)packed.data[0];
		size_t literals = token >> 4, match = token & 15, distance;

		packed = allo_text_from(packed, 1);
		if ((literals == 15 && !take_length(&packed, &literals)) || literals > packed.len ||
		    literals > (size_t)(end - to))
			return false;
		memcpy(to, packed.data, literals);
		to += literals;
		packed = allo_text_from(packed, literals);
		if (packed.len == 0)
			break; /* the last sequence has literals only */
		if (packed.len < 2)
			return false;
		distance = (unsigned char)packed.data[0] | (size_t)(unsigned char)packed.data[1]
								   << 8;
		packed = allo_text_from(packed, 2);
		if (match == 15 && !take_length(&packed, &match))
			return false;
		match += LEAST_MATCH;
		if (distance == 0 || distance > (size_t)(to - lz4->window) ||
		    match > (size_t)(end - to))
			return false;
		copy_match(to, distance, match);
		to += match;
	}
	lz4->made = (size_t)(to - start);
	return true;
}

/* Keeps the end of the window as the history of the next block. */
static void keep_history(struct lz4 *lz4)
{
	size_t size = lz4->history + lz4->made, kept = size < HISTORY ? size : HISTORY;

	memmove(lz4->window, lz4->window + size - kept, kept);
	lz4->history = kept;
	lz4->made = lz4->given = 0;
}

/* Items of the frame. */

static uint32_t number(struct allo_text item)
{
	uint32_t value = 0;

	for (size_t i = 4; i-- > 0;)
		value = value << 8 | (unsigned char)item.data[i];
	return value;
}

static void go_on(struct lz4 *lz4, enum stage stage, size_t wanted)
{
	lz4->stage = stage;
	lz4->wanted = wanted;
	lz4->collected = 0;
}

/* The flags tell the length of the rest: sizes of blocks, of the content, a check byte. */
static bool take_flags(struct lz4 *lz4, unsigned char flags)
{
	if ((flags & VERSION) != VERSION_1 || flags & (RESERVED | HAS_DICTIONARY))
		return false;
	lz4->flags = flags;
	go_on(lz4, DESCRIPTOR, flags & HAS_SIZE ? 10 : 2);
	return true;
}

static bool take_descriptor(struct lz4 *lz4, unsigned char sizes)
{
	unsigned code = sizes >> 4 & 7;

	if (code < 4)
		return false;
	lz4->block_most = (size_t)1 << (8 + 2 * code);
	lz4->history = lz4->made = lz4->given = 0;
	go_on(lz4, BLOCK_SIZE, sizeof(uint32_t));
	return true;
}

static bool take_block_size(struct lz4 *lz4, uint32_t size)
{
	size_t len = size & ~is_stored;

	if (size == 0) {
		go_on(lz4, lz4->flags & IS_CHECKED ? CHECKSUM : BETWEEN, sizeof(uint32_t));
		return true;
	}
	lz4->block = size;
	go_on(lz4, BLOCK, len + (lz4->flags & BLOCKS_CHECKED ? sizeof(uint32_t) : 0));
	return len <= lz4->block_most;
}

static bool take_block(struct lz4 *lz4, struct allo_text item)
{
	struct allo_text packed = { item.data, lz4->block & ~is_stored };

	keep_history(lz4);
	go_on(lz4, BLOCK_SIZE, sizeof(uint32_t));
	if (!(lz4->block & is_stored))
		return unpack_block(lz4, packed);
	memcpy(lz4->window + lz4->history, packed.data, packed.len);
	lz4->made = packed.len;
	return true;
}

static bool take_item(struct lz4 *lz4, struct allo_text item)
{
	ALLO_ASSERT(item.len == lz4->wanted);
	switch (lz4->stage) {
	case BETWEEN:
		go_on(lz4, FLAGS, 1);
		return number(item) == magic;
	case FLAGS:
		return take_flags(lz4, (unsigned char)item.data[0]);
	case DESCRIPTOR:
		return take_descriptor(lz4, (unsigned char)item.data[0]);
	case BLOCK_SIZE:
		return take_block_size(lz4, number(item));
	case BLOCK:
		return take_block(lz4, item);
	default:
		go_on(lz4, BETWEEN, sizeof(magic));
		return true;
	}
}

/* The next item as one text, once the input has all of it. */
static bool next_item(struct lz4 *lz4, struct allo_text *packed, struct allo_text *item)
{
	size_t missing = lz4->wanted - lz4->collected;
	size_t more = packed->len < missing ? packed->len : missing;

	if (lz4->collected == 0 && more == lz4->wanted) {
		*item = (struct allo_text){ packed->data, more };
	} else {
		memcpy(lz4->item + lz4->collected, packed->data, more);
		*item = (struct allo_text){ lz4->item, lz4->wanted };
	}
	lz4->collected += more;
	*packed = allo_text_from(*packed, more);
	return lz4->collected == lz4->wanted;
}

static struct allo_unpacked unpack_lz4(void *state, struct allo_text *packed, char *out,
				       size_t room)
{
	struct lz4 *lz4 = state;
	struct allo_unpacked step = { 0 };
	struct allo_text item;

	while (lz4->given == lz4->made && packed->len > 0 && next_item(lz4, packed, &item)) {
		if (!take_item(lz4, item)) {
			step.problem = ALLO_UNPACK_DAMAGED;
			return step;
		}
	}
	step.made = lz4->made - lz4->given < room ? lz4->made - lz4->given : room;
	memcpy(out, lz4->window + lz4->history + lz4->given, step.made);
	lz4->given += step.made;
	step.finished = lz4->stage == BETWEEN && lz4->collected == 0 && lz4->given == lz4->made;
	return step;
}

const struct allo_unpack_method allo_unpack_lz4 = { "lz4", open_lz4, close_lz4, unpack_lz4 };
