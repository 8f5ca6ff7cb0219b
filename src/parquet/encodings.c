/* encodings.c - see encodings.h. */
#include "parquet/encodings.h"

#include "base/assert.h"

/* Packs a multiple of 8 numbers of `width` bits, lowest bits first.  There must be room for 8 bytes
 * more than they take.  Inlined with a constant `is_wide`: the numbers have 64 bits, or 32. */
static inline unsigned char *pack(unsigned char *to, const void *numbers, size_t count,
				  unsigned width, bool is_wide)
{
	uint64_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t number = is_wide ? ((const uint64_t *)numbers)[i]
					  : ((const uint32_t *)numbers)[i];

		bits |= number << have;
		have += width;
		if (have < 64)
			continue;
		memcpy(to, &bits, sizeof(bits));
		to += sizeof(bits);
		have -= 64;
		bits = have ? number >> (width - have) : 0;
	}
	memcpy(to, &bits, sizeof(bits));
	ALLO_ASSERT(have % 8 == 0);
	return to + have / 8;
}

/* Runs. */

enum { GROUP = 8 }; /* packed numbers come in groups */

static inline bool is_run(const uint32_t *numbers)
{
	uint32_t differences = 0;

	for (int i = 1; i < GROUP; i++)
		differences |= numbers[i] ^ numbers[0];
	return differences == 0;
}

void allo_encode_run(struct allo_bytes *bytes, uint32_t number, size_t count, unsigned width)
{
	allo_bytes_put_varint(bytes, (uint64_t)count << 1);
	allo_bytes_put(bytes, &number, (width + 7) / 8); /* little-endian */
}

static void put_packed(struct allo_bytes *bytes, const uint32_t *numbers, size_t count,
		       unsigned width)
{
	size_t whole = count / GROUP * GROUP, groups = (count + GROUP - 1) / GROUP;
	uint32_t last[GROUP] = { 0 };
	unsigned char *to;

	if (count == 0)
		return;
	allo_bytes_put_varint(bytes, (uint64_t)groups << 1 | 1);
	to = allo_bytes_room(bytes, groups * width + sizeof(uint64_t));
	if (!to)
		return;
	to = pack(to, numbers, whole, width, false);
	if (whole < count) {
		memcpy(last, numbers + whole, (count - whole) * sizeof(*numbers));
		to = pack(to, last, GROUP, width, false);
	}
	bytes->len = (size_t)(to - bytes->at);
}

void allo_encode_runs(struct allo_bytes *bytes, const uint32_t *numbers, size_t count,
		      unsigned width)
{
	size_t packed_from = 0, at = 0;

	while (at < count) {
		size_t end = at + GROUP;

		if (end > count || !is_run(numbers + at)) {
			at = end < count ? end : count;
			continue;
		}
		while (end < count && numbers[end] == numbers[at])
			end++;
		put_packed(bytes, numbers + packed_from, at - packed_from, width);
		allo_encode_run(bytes, numbers[at], end - at, width);
		at = packed_from = end;
	}
	put_packed(bytes, numbers + packed_from, count - packed_from, width);
}

static void put_presence(struct allo_bytes *bytes, const uint8_t *is_there, size_t count)
{
	size_t groups = (count + GROUP - 1) / GROUP;
	unsigned char *to;

	allo_bytes_put_varint(bytes, (uint64_t)groups << 1 | 1);
	to = allo_bytes_room(bytes, groups);
	if (!to)
		return;
	memset(to, 0, groups);
	for (size_t i = 0; i < count; i++)
		to[i / 8] |= (unsigned char)(is_there[i] << i % 8);
	bytes->len += groups;
}

void allo_encode_presence(struct allo_bytes *bytes, const uint8_t *is_there, bool first,
			  size_t count)
{
	size_t start = bytes->len;
	uint32_t len = 0;

	allo_bytes_put(bytes, &len, sizeof(len));
	if (is_there)
		put_presence(bytes, is_there, count);
	else
		allo_encode_run(bytes, first, count, 1);
	if (bytes->is_lost)
		return;
	len = (uint32_t)(bytes->len - start - sizeof(len));
	memcpy(bytes->at + start, &len, sizeof(len));
}

/* Differences. */

enum {
	BLOCK = 128,
	PARTS = 4, /* of a block, each with its own width */
	PART = BLOCK / PARTS,
};

/* The differences wrap around in 64 bits, as those of readers do.  Parts beyond the end are left
 * out; the rest of the last one is zeros. */
static void put_block(struct allo_bytes *bytes, const int64_t *numbers, size_t count)
{
	uint64_t differences[BLOCK] = { 0 };
	int64_t least = INT64_MAX;
	unsigned char widths[PARTS] = { 0 }, *to;

	for (size_t i = 0; i < count; i++) {
		differences[i] = (uint64_t)numbers[i] - (uint64_t)numbers[(ptrdiff_t)i - 1];
		least = (int64_t)differences[i] < least ? (int64_t)differences[i] : least;
	}
	for (size_t i = 0; i < count; i++)
		differences[i] -= (uint64_t)least;
	for (size_t i = 0; i < PARTS; i++) {
		uint64_t any = 0;

		for (size_t k = 0; k < PART; k++)
			any |= differences[i * PART + k];
		widths[i] = (unsigned char)allo_bits_of(any);
	}
	allo_bytes_put_zigzag(bytes, least);
	allo_bytes_put(bytes, widths, sizeof(widths));
	to = allo_bytes_room(bytes, sizeof(differences) + sizeof(uint64_t));
	for (size_t i = 0; to && i * PART < count; i++) {
		if (widths[i] > 0)
			to = pack(to, differences + i * PART, PART, widths[i], true);
	}
	if (to)
		bytes->len = (size_t)(to - bytes->at);
}

void allo_encode_deltas(struct allo_bytes *bytes, const int64_t *numbers, size_t count)
{
	ALLO_ASSERT(count > 0);
	allo_bytes_put_varint(bytes, BLOCK);
	allo_bytes_put_varint(bytes, PARTS);
	allo_bytes_put_varint(bytes, count);
	allo_bytes_put_zigzag(bytes, numbers[0]);
	for (size_t i = 1; i < count; i += BLOCK)
		put_block(bytes, numbers + i, count - i < BLOCK ? count - i : BLOCK);
}
