/*
 * protobuf.h - the part of protobuf's wire format that pprof's eight messages use.
 */
#ifndef ALLO_BASE_PROTOBUF_H
#define ALLO_BASE_PROTOBUF_H

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

enum { ALLO_VARINT_MAX = 10 }; /* bytes */

enum allo_wire { ALLO_WIRE_VARINT = 0, ALLO_WIRE_8 = 1, ALLO_WIRE_BYTES = 2, ALLO_WIRE_4 = 5 };

static inline char *allo_put_varint(char *out, uint64_t value)
{
	while (value >= 0x80) {
		*out++ = (char)(value | 0x80);
		value >>= 7;
	}
	*out++ = (char)value;
	return out;
}

static inline size_t allo_varint_size(uint64_t value)
{
	return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

/* The key before a field. */
static inline char *allo_put_key(char *out, unsigned field, enum allo_wire wire)
{
	return allo_put_varint(out, field << 3 | wire);
}

/* A number field, omitted when 0: at most ALLO_VARINT_MAX + 5 bytes. */
static inline char *allo_put_number(char *out, unsigned field, uint64_t value)
{
	if (value == 0)
		return out;
	return allo_put_varint(allo_put_key(out, field, ALLO_WIRE_VARINT), value);
}

/* A field of a message. */
struct allo_field {
	unsigned number;
	enum allo_wire wire;
	uint64_t value; /* of a varint or fixed field */
	struct allo_text bytes;
};

/* Removes a varint from the front; false when it is truncated or longer than 64 bits. */
bool allo_take_slow_varint(struct allo_text *message, uint64_t *value);

static inline bool allo_take_varint(struct allo_text *message, uint64_t *value)
{
	if (message->len > 0 && (unsigned char)message->data[0] < 0x80) {
		*value = (unsigned char)message->data[0];
		*message = allo_text_from(*message, 1);
		return true;
	}
	return allo_take_slow_varint(message, value);
}

/* Removes the next field from the front of a non-empty message; false when the message is damaged.
 */
bool allo_take_field(struct allo_text *message, struct allo_field *field);

typedef ALLO_VEC(uint64_t) allo_numbers;

/* Appends a field's numbers: one, or several in packed encoding.  Errors carry no position. */
bool allo_field_numbers(const struct allo_field *field, allo_numbers *to, struct allo_error *err);

#endif
