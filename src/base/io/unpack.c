/* unpack.c - chooses the method of unpacking, and decodes UTF-16. */
#include "base/io/unpack.h"

#include "base/encoding/utf16.h"
#include "base/io/unpack_method.h"

#include <stdlib.h>

/* UTF-16. */

struct utf16 {
	struct allo_utf16 decoder;
	bool has_begun;
};

static void *open_utf16(void)
{
	return calloc(1, sizeof(struct utf16));
}

/* The mark at the start of the text gives the byte order.  A text may end anywhere. */
static struct allo_unpacked unpack_utf16(void *state, struct allo_text *packed, char *out,
					 size_t room)
{
	struct utf16 *utf16 = state;

	if (!utf16->has_begun)
		allo_utf16_has_mark(*packed, &utf16->decoder.is_big_endian);
	utf16->has_begun = true;
	return (struct allo_unpacked){
		.made = allo_utf16_decode(&utf16->decoder, packed, out, room), .finished = true
	};
}

static const struct allo_unpack_method utf16_method = { "UTF-16", open_utf16, free, unpack_utf16 };

/* All methods. */

static const struct allo_unpack_method *const methods[] = { &allo_unpack_gzip, &allo_unpack_lz4,
							    &allo_unpack_zstd, &utf16_method };

struct allo_unpacker {
	const struct allo_unpack_method *method;
	void *state;
};

const char *allo_packing_of(struct allo_text head)
{
	bool is_big_endian;

	if (allo_text_starts(head, ALLO_TEXT("\x1f\x8b")))
		return allo_unpack_gzip.name;
	if (allo_text_starts(head, ALLO_TEXT("\x28\xb5\x2f\xfd")))
		return allo_unpack_zstd.name;
	if (allo_text_starts(head, ALLO_TEXT("\x04\x22\x4d\x18")))
		return allo_unpack_lz4.name;
	return allo_utf16_has_mark(head, &is_big_endian) ? utf16_method.name : NULL;
}

struct allo_unpacker *allo_unpacker_new(const char *packing, struct allo_error *err)
{
	struct allo_unpacker *unpacker = calloc(1, sizeof(*unpacker));
	size_t i = 0;

	while (strcmp(methods[i]->name, packing) != 0)
		i++;
	if (unpacker) {
		unpacker->method = methods[i];
		unpacker->state = methods[i]->open();
		if (unpacker->state)
			return unpacker;
	}
	free(unpacker);
	allo_fail_memory(err);
	return NULL;
}

void allo_unpacker_free(struct allo_unpacker *unpacker)
{
	if (!unpacker)
		return;
	unpacker->method->close(unpacker->state);
	free(unpacker);
}

struct allo_unpacked allo_unpack(struct allo_unpacker *unpacker, struct allo_text *packed,
				 char *out, size_t room)
{
	return unpacker->method->unpack(unpacker->state, packed, out, room);
}
