/*
 * thrift.h - Thrift's compact protocol, in which Parquet writes its metadata.
 *
 *     struct allo_thrift page = allo_thrift_begin(bytes);
 *
 *     allo_thrift_i32(&page, 1, type);                  field 1
 *     inner = allo_thrift_struct(&page, 5);             field 5 is a struct
 *     allo_thrift_i32(&inner, 1, count);
 *     allo_thrift_end(&inner);
 *     allo_thrift_end(&page);
 *
 * A field begins with the difference of its id to the one before, so ids ascend.
 */
#ifndef ALLO_PARQUET_THRIFT_H
#define ALLO_PARQUET_THRIFT_H

#include "base/text.h"
#include "parquet/bytes.h"

enum allo_thrift_type {
	ALLO_THRIFT_I32 = 5,
	ALLO_THRIFT_I64 = 6,
	ALLO_THRIFT_BINARY = 8,
	ALLO_THRIFT_LIST = 9,
	ALLO_THRIFT_STRUCT = 12,
};

/* A struct that is being written. */
struct allo_thrift {
	struct allo_bytes *bytes;
	unsigned last; /* id of the last field */
};

/* Begins the outermost struct, or an item of a list of structs. */
static inline struct allo_thrift allo_thrift_begin(struct allo_bytes *bytes)
{
	return (struct allo_thrift){ .bytes = bytes };
}

static inline void allo_thrift_end(struct allo_thrift *thrift)
{
	allo_bytes_put_byte(thrift->bytes, 0);
}

/* Ids of a struct's fields are close together in all of Parquet's structs. */
static inline void allo_thrift_field(struct allo_thrift *thrift, unsigned id,
				     enum allo_thrift_type type)
{
	allo_bytes_put_byte(thrift->bytes, (unsigned char)((id - thrift->last) << 4 | type));
	thrift->last = id;
}

static inline void allo_thrift_i32(struct allo_thrift *thrift, unsigned id, int32_t number)
{
	allo_thrift_field(thrift, id, ALLO_THRIFT_I32);
	allo_bytes_put_zigzag(thrift->bytes, number);
}

static inline void allo_thrift_i64(struct allo_thrift *thrift, unsigned id, int64_t number)
{
	allo_thrift_field(thrift, id, ALLO_THRIFT_I64);
	allo_bytes_put_zigzag(thrift->bytes, number);
}

/* A text that is an item of a list. */
static inline void allo_thrift_item(struct allo_thrift *thrift, struct allo_text text)
{
	allo_bytes_put_varint(thrift->bytes, text.len);
	allo_bytes_put(thrift->bytes, text.data, text.len);
}

static inline void allo_thrift_text(struct allo_thrift *thrift, unsigned id, struct allo_text text)
{
	allo_thrift_field(thrift, id, ALLO_THRIFT_BINARY);
	allo_thrift_item(thrift, text);
}

/* Begins a list; its items follow. */
static inline void allo_thrift_list(struct allo_thrift *thrift, unsigned id,
				    enum allo_thrift_type items, size_t count)
{
	allo_thrift_field(thrift, id, ALLO_THRIFT_LIST);
	if (count < 15) {
		allo_bytes_put_byte(thrift->bytes, (unsigned char)(count << 4 | items));
		return;
	}
	allo_bytes_put_byte(thrift->bytes, (unsigned char)(0xf0 | items));
	allo_bytes_put_varint(thrift->bytes, count);
}

/* Begins a struct in a field; end it, too. */
static inline struct allo_thrift allo_thrift_struct(struct allo_thrift *thrift, unsigned id)
{
	allo_thrift_field(thrift, id, ALLO_THRIFT_STRUCT);
	return allo_thrift_begin(thrift->bytes);
}

#endif
