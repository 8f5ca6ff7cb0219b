#include "base/encoding/protobuf.h"

bool allo_take_slow_varint(struct allo_text *message, uint64_t *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < message->len && i < ALLO_VARINT_MAX; i++) {
		unsigned char byte = (unsigned char)message->data[i];

		/* The tenth byte holds bit 63 only. */
		if (i == ALLO_VARINT_MAX - 1 && byte > 1)
			return false;
		sum |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80) {
			*message = allo_text_from(*message, i + 1);
			*value = sum;
			return true;
		}
	}
	return false;
}

/* Decodes all varints of a packed list; `values` has room for one per byte. */
static bool unpack(struct allo_text packed, uint64_t *values, size_t *count)
{
	const unsigned char *at = (const unsigned char *)packed.data, *end = at + packed.len;
	uint64_t *value = values;

	while (at < end) {
		/* Most numbers have at most three bytes. */
		if (*at < 0x80) {
			*value++ = *at++;
		} else if (end - at >= 2 && at[1] < 0x80) {
			*value++ = (at[0] & 0x7fu) | (uint32_t)at[1] << 7;
			at += 2;
		} else if (end - at >= 3 && at[2] < 0x80) {
			*value++ = (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (uint32_t)at[2] << 14;
			at += 3;
		} else {
			struct allo_text rest = { (const char *)at, (size_t)(end - at) };

			if (!allo_take_slow_varint(&rest, value++))
				return false;
			at = (const unsigned char *)rest.data;
		}
	}
	*count = (size_t)(value - values);
	return true;
}

static bool take_bytes(struct allo_text *message, uint64_t len, struct allo_text *bytes)
{
	if (len > message->len)
		return false;
	*bytes = (struct allo_text){ message->data, (size_t)len };
	*message = allo_text_from(*message, (size_t)len);
	return true;
}

bool allo_take_field(struct allo_text *message, struct allo_field *field)
{
	uint64_t key, len;

	if (!allo_take_varint(message, &key) || key >> 3 == 0 || key >> 32 != 0)
		return false;
	field->number = (unsigned)(key >> 3);
	field->wire = (enum allo_wire)(key & 7);
	switch (field->wire) {
	case ALLO_WIRE_VARINT:
		return allo_take_varint(message, &field->value);
	case ALLO_WIRE_BYTES:
		return allo_take_varint(message, &len) && take_bytes(message, len, &field->bytes);
	case ALLO_WIRE_8:
		return take_bytes(message, 8, &field->bytes);
	case ALLO_WIRE_4:
		return take_bytes(message, 4, &field->bytes);
	default:
		return false;
	}
}

bool allo_field_numbers(const struct allo_field *field, allo_numbers *to, struct allo_error *err)
{
	size_t count;

	if (field->wire == ALLO_WIRE_VARINT)
		return allo_vec_add(to, field->value, err);
	if (field->wire == ALLO_WIRE_BYTES && field->bytes.len == 0)
		return true;
	if (field->wire == ALLO_WIRE_BYTES && !allo_vec_reserve(to, field->bytes.len))
		return allo_fail_memory(err);
	if (field->wire != ALLO_WIRE_BYTES || !unpack(field->bytes, to->at + to->len, &count))
		return allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE, "damaged list of numbers");
	to->len += count;
	return true;
}
