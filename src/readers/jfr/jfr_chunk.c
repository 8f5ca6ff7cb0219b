/* jfr_chunk.c - numbers and strings; metadata; the pools of constants. */
#include "readers/jfr/jfr_chunk.h"

#include "base/assert.h"
#include "base/hash.h"

#include <string.h>

/* Kinds of events that describe the chunk. */
enum { METADATA = 0, CONSTANTS = 1 };

/* Objects within objects: more is damage. */
enum { DEPTH_MOST = 32 };

/* Parts of the head. */
enum {
	AT_VERSION = 4,
	AT_SIZE = 8,
	AT_CONSTANTS = 16,
	AT_METADATA = 24,
	AT_START = 32,
	AT_DURATION = 40
};

static uint64_t big_endian(const char *at, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | (unsigned char)at[i];
	return value;
}

uint64_t allo_jfr_chunk_size(struct allo_text head)
{
	uint64_t major, size;

	if (head.len < ALLO_JFR_HEAD || memcmp(head.data, "FLR", 4) != 0)
		return 0;
	major = big_endian(head.data + AT_VERSION, 2);
	size = big_endian(head.data + AT_SIZE, 8);
	return (major == 1 || major == 2) && size >= ALLO_JFR_HEAD ? size : 0;
}

/* Values. */

bool allo_jfr_fail(const struct allo_jfr_reader *reader, const char *problem)
{
	const struct allo_jfr_chunk *chunk = reader->chunk;
	struct allo_pos pos = { chunk->file, 0,
				chunk->start + (uint64_t)(reader->next - chunk->bytes.data) + 1 };

	allo_fail(reader->err, ALLO_FORMAT, pos, "%s", problem);
	return allo_hint(reader->err, "the file is damaged: record it again, or copy it again");
}

struct allo_jfr_reader allo_jfr_read_at(const struct allo_jfr_chunk *chunk, size_t offset,
					struct allo_error *err)
{
	size_t at = offset < chunk->bytes.len ? offset : chunk->bytes.len;

	return (struct allo_jfr_reader){ chunk, chunk->bytes.data + at,
					 chunk->bytes.data + chunk->bytes.len, err };
}

static bool skip_bytes(struct allo_jfr_reader *reader, uint64_t count)
{
	if (count > (uint64_t)(reader->end - reader->next))
		return allo_jfr_fail(reader, "a value does not fit its event");
	reader->next += count;
	return true;
}

/* Seven bits per byte, the lowest first; the ninth byte has eight. */
bool allo_jfr_number(struct allo_jfr_reader *reader, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; reader->next < reader->end; shift += 7) {
		unsigned char byte = (unsigned char)*reader->next++;

		if (shift == 56) {
			*value |= (uint64_t)byte << shift;
			return true;
		}
		*value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
	}
	return allo_jfr_fail(reader, "a number is incomplete");
}

/* Ways in which a string is stored. */
enum { STRING_NULL, STRING_EMPTY, STRING_CONSTANT, STRING_UTF8, STRING_CHARACTERS, STRING_LATIN1 };

/* Names and paths of Java are ASCII nearly always.  Other characters become question marks. Without
 * an arena the text is skipped. */
static bool take_characters(struct allo_jfr_reader *reader, struct allo_arena *arena,
			    uint64_t count, struct allo_text *text)
{
	uint64_t character;
	char *copy;

	if (count > (uint64_t)(reader->end - reader->next))
		return allo_jfr_fail(reader, "a string does not fit its event");
	copy = arena ? allo_arena_alloc(arena, (size_t)count + 1, 1, 1) : NULL;
	if (arena && !copy)
		return allo_fail_memory(reader->err);
	for (uint64_t i = 0; i < count; i++) {
		if (!allo_jfr_number(reader, &character))
			return false;
		if (copy)
			copy[i] = character < 128 ? (char)character : '?';
	}
	*text = (struct allo_text){ copy ? copy : "", copy ? (size_t)count : 0 };
	return true;
}

/* The reader does not pass a text that is longer than `most`. */
static bool take_string(struct allo_jfr_reader *reader, struct allo_arena *arena, uint64_t most,
			struct allo_text *text)
{
	const char *start = reader->next;
	uint64_t length;

	*text = (struct allo_text){ "", 0 };
	if (!skip_bytes(reader, 1))
		return false;
	if (*start == STRING_NULL || *start == STRING_EMPTY)
		return true;
	if (*start > STRING_LATIN1 || *start < 0)
		return allo_jfr_fail(reader, "a string is stored in an unknown way");
	if (!allo_jfr_number(reader, &length))
		return false;
	if (*start == STRING_CONSTANT)
		return true; /* the caller looks it up if it wants it */
	if (*start == STRING_CHARACTERS)
		return take_characters(reader, arena, length < most ? length : most, text);
	start = reader->next;
	*text = (struct allo_text){ start, (size_t)length };
	return skip_bytes(reader, length);
}

bool allo_jfr_string(struct allo_jfr_reader *reader, struct allo_text *text)
{
	struct allo_jfr_chunk *chunk = (struct allo_jfr_chunk *)reader->chunk;

	return take_string(reader, &chunk->arena, ALLO_JFR_TEXT_MOST, text);
}

/* Classes. */

static uint64_t hash_of(const struct allo_jfr_chunk *chunk, uint64_t class, uint64_t key)
{
	return allo_hash_pair(class, key, chunk->seed);
}

const struct allo_jfr_class *allo_jfr_class(const struct allo_jfr_chunk *chunk, uint64_t id)
{
	struct allo_probe probe = allo_map_probe(&chunk->class_map, hash_of(chunk, id, 0));
	uint32_t number;

	while ((number = allo_map_next(&chunk->class_map, &probe)) != 0) {
		if (chunk->classes.at[number - 1].id == id)
			return &chunk->classes.at[number - 1];
	}
	return NULL;
}

/* Bytes of the classes without fields: those of fixed size, and numbers. */
static bool skip_basic(struct allo_jfr_reader *reader, struct allo_text class)
{
	struct allo_text text;
	uint64_t number;

	if (allo_text_equal(class, ALLO_TEXT("boolean")) ||
	    allo_text_equal(class, ALLO_TEXT("byte")))
		return skip_bytes(reader, 1);
	if (allo_text_equal(class, ALLO_TEXT("float")))
		return skip_bytes(reader, 4);
	if (allo_text_equal(class, ALLO_TEXT("double")))
		return skip_bytes(reader, 8);
	if (allo_text_equal(class, ALLO_TEXT("java.lang.String")))
		return take_string(reader, NULL, UINT64_MAX, &text);
	return allo_jfr_number(reader, &number);
}

static bool skip_value(struct allo_jfr_reader *reader, uint64_t id, unsigned depth);

static bool skip_field(struct allo_jfr_reader *reader, const struct allo_jfr_field *field,
		       unsigned depth)
{
	uint64_t count = 1, key;

	if (field->is_array && !allo_jfr_number(reader, &count))
		return false;
	if (count > (uint64_t)(reader->end - reader->next))
		return allo_jfr_fail(reader, "a list does not fit its event");
	for (; count > 0; count--) {
		if (!(field->is_constant ? allo_jfr_number(reader, &key)
					 : skip_value(reader, field->class, depth)))
			return false;
	}
	return true;
}

static bool skip_value(struct allo_jfr_reader *reader, uint64_t id, unsigned depth)
{
	const struct allo_jfr_chunk *chunk = reader->chunk;
	const struct allo_jfr_class *class = allo_jfr_class(chunk, id);

	if (!class || depth == DEPTH_MOST)
		return allo_jfr_fail(reader, "a value is of an unknown class");
	if (class->field_count == 0)
		return skip_basic(reader, class->name);
	for (size_t i = 0; i < class->field_count; i++) {
		if (!skip_field(reader, &chunk->fields.at[class->first_field + i], depth + 1))
			return false;
	}
	return true;
}

bool allo_jfr_skip(struct allo_jfr_reader *reader, const struct allo_jfr_field *field)
{
	return skip_field(reader, field, 0);
}

/* Metadata: a table of strings, then a tree of elements with attributes. */

static struct allo_text string_at(const struct allo_jfr_chunk *chunk, uint64_t index)
{
	return index < chunk->strings.len ? chunk->strings.at[index] : (struct allo_text){ "", 0 };
}

struct element {
	struct allo_text kind, name, class, id, dimension, constant;
};

static bool take_attributes(struct allo_jfr_reader *reader, struct element *element)
{
	const struct allo_jfr_chunk *chunk = reader->chunk;
	uint64_t name, count, key, value;

	*element = (struct element){ 0 };
	if (!allo_jfr_number(reader, &name) || !allo_jfr_number(reader, &count))
		return false;
	element->kind = string_at(chunk, name);
	for (; count > 0; count--) {
		struct allo_text attribute;

		if (!allo_jfr_number(reader, &key) || !allo_jfr_number(reader, &value))
			return false;
		attribute = string_at(chunk, key);
		if (allo_text_equal(attribute, ALLO_TEXT("name")))
			element->name = string_at(chunk, value);
		else if (allo_text_equal(attribute, ALLO_TEXT("class")))
			element->class = string_at(chunk, value);
		else if (allo_text_equal(attribute, ALLO_TEXT("id")))
			element->id = string_at(chunk, value);
		else if (allo_text_equal(attribute, ALLO_TEXT("dimension")))
			element->dimension = string_at(chunk, value);
		else if (allo_text_equal(attribute, ALLO_TEXT("constantPool")))
			element->constant = string_at(chunk, value);
	}
	return true;
}

static uint64_t number_of(struct allo_text text)
{
	uint64_t value = 0;

	allo_text_take_u64(&text, &value);
	return value;
}

static bool add_class(struct allo_jfr_chunk *chunk, const struct element *element,
		      struct allo_error *err)
{
	struct allo_jfr_class class = { number_of(element->id), element->name, chunk->fields.len,
					0 };

	return allo_vec_add(&chunk->classes, class, err) &&
	       allo_map_add(&chunk->class_map, hash_of(chunk, class.id, 0),
			    (uint32_t)chunk->classes.len, err);
}

static bool add_field(struct allo_jfr_chunk *chunk, const struct element *element,
		      struct allo_error *err)
{
	struct allo_jfr_field field = { element->name, number_of(element->class),
					allo_text_equal(element->constant, ALLO_TEXT("true")),
					number_of(element->dimension) > 0 };

	if (chunk->classes.len == 0)
		return true;
	chunk->classes.at[chunk->classes.len - 1].field_count++;
	return allo_vec_add(&chunk->fields, field, err);
}

/* Fields are children of their class, so the latest class is theirs. */
static bool take_element(struct allo_jfr_reader *reader, unsigned depth)
{
	struct allo_jfr_chunk *chunk = (struct allo_jfr_chunk *)reader->chunk;
	struct element element;
	uint64_t children;

	if (depth == DEPTH_MOST)
		return allo_jfr_fail(reader, "the metadata is nested too deeply");
	if (!take_attributes(reader, &element))
		return false;
	if (allo_text_equal(element.kind, ALLO_TEXT("class")) &&
	    !add_class(chunk, &element, reader->err))
		return false;
	if (allo_text_equal(element.kind, ALLO_TEXT("field")) &&
	    !add_field(chunk, &element, reader->err))
		return false;
	if (!allo_jfr_number(reader, &children))
		return false;
	for (; children > 0; children--) {
		if (!take_element(reader, depth + 1))
			return false;
	}
	return true;
}

static bool take_metadata(struct allo_jfr_chunk *chunk, size_t offset, struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(chunk, offset, err);
	struct allo_text text;
	uint64_t number, count;

	/* size, kind, start, duration, number of the metadata */
	for (int i = 0; i < 5; i++) {
		if (!allo_jfr_number(&reader, &number))
			return false;
	}
	if (!allo_jfr_number(&reader, &count))
		return false;
	for (; count > 0; count--) {
		if (!take_string(&reader, &chunk->arena, UINT64_MAX, &text) ||
		    !allo_vec_add(&chunk->strings, text, err))
			return false;
	}
	return take_element(&reader, 0);
}

/* Constants. */

static bool take_pool(struct allo_jfr_chunk *chunk, struct allo_jfr_reader *reader)
{
	struct allo_jfr_constant constant;
	uint64_t count;

	if (!allo_jfr_number(reader, &constant.class) || !allo_jfr_number(reader, &count))
		return false;
	for (; count > 0; count--) {
		if (!allo_jfr_number(reader, &constant.key))
			return false;
		constant.offset = (size_t)(reader->next - chunk->bytes.data);
		if (!allo_vec_add(&chunk->constants, constant, reader->err) ||
		    !allo_map_add(&chunk->constant_map,
				  hash_of(chunk, constant.class, constant.key),
				  (uint32_t)chunk->constants.len, reader->err) ||
		    !skip_value(reader, constant.class, 0))
			return false;
	}
	return true;
}

/* A list of pools, which ends before `end`, and the distance to the one before; 0: none. */
static bool take_pools(struct allo_jfr_chunk *chunk, size_t offset, size_t end, int64_t *distance,
		       struct allo_error *err)
{
	struct allo_jfr_reader reader = allo_jfr_read_at(chunk, offset, err);
	uint64_t number, size, kind, pools;

	if (!allo_jfr_number(&reader, &size) || !allo_jfr_number(&reader, &kind))
		return false;
	if (kind != CONSTANTS || size > end - offset)
		return allo_jfr_fail(&reader, "expected a pool of constants");
	reader.end = chunk->bytes.data + offset + size;
	if (!allo_jfr_number(&reader, &number) || !allo_jfr_number(&reader, &number) ||
	    !allo_jfr_number(&reader, &number))
		return false;
	*distance = (int64_t)number;
	if (!skip_bytes(&reader, 1) || !allo_jfr_number(&reader, &pools))
		return false;
	for (; pools > 0; pools--) {
		if (!take_pool(chunk, &reader))
			return false;
	}
	return true;
}

/* Each list ends before the one that was read last, so no byte is read twice. */
static bool take_all_pools(struct allo_jfr_chunk *chunk, uint64_t offset, struct allo_error *err)
{
	size_t end = chunk->bytes.len;
	int64_t distance = 0;

	for (;;) {
		struct allo_jfr_reader reader = allo_jfr_read_at(chunk, (size_t)offset, err);

		if (offset >= end)
			return allo_jfr_fail(&reader, "pools of constants are out of order");
		if (!take_pools(chunk, (size_t)offset, end, &distance, err))
			return false;
		if (distance == 0)
			return true;
		end = (size_t)offset;
		offset += (uint64_t)distance;
	}
}

bool allo_jfr_constant(struct allo_jfr_reader *reader, uint64_t class, uint64_t key)
{
	const struct allo_jfr_chunk *chunk = reader->chunk;
	struct allo_probe probe = allo_map_probe(&chunk->constant_map, hash_of(chunk, class, key));
	uint32_t number;

	while ((number = allo_map_next(&chunk->constant_map, &probe)) != 0) {
		const struct allo_jfr_constant *constant = &chunk->constants.at[number - 1];

		if (constant->class == class && constant->key == key) {
			*reader = allo_jfr_read_at(chunk, constant->offset, reader->err);
			return true;
		}
	}
	return false;
}

/* The chunk. */

bool allo_jfr_chunk_open(struct allo_jfr_chunk *chunk, struct allo_text bytes, uint64_t seed,
			 struct allo_error *err)
{
	const char *head = bytes.data;

	ALLO_ASSERT(bytes.len >= ALLO_JFR_HEAD);
	chunk->bytes = bytes;
	chunk->seed = seed;
	chunk->start_ns = big_endian(head + AT_START, 8);
	chunk->duration_ns = big_endian(head + AT_DURATION, 8);
	return take_metadata(chunk, (size_t)big_endian(head + AT_METADATA, 8), err) &&
	       take_all_pools(chunk, big_endian(head + AT_CONSTANTS, 8), err);
}

void allo_jfr_chunk_close(struct allo_jfr_chunk *chunk)
{
	allo_vec_done(&chunk->classes);
	allo_vec_done(&chunk->fields);
	allo_vec_done(&chunk->strings);
	allo_vec_done(&chunk->constants);
	allo_map_done(&chunk->class_map);
	allo_map_done(&chunk->constant_map);
	allo_arena_done(&chunk->arena);
}

bool allo_jfr_next(struct allo_jfr_reader *reader, struct allo_jfr_event *event)
{
	while (reader->next < reader->end) {
		const char *start = reader->next;
		uint64_t size;

		if (!allo_jfr_number(reader, &size))
			return false;
		if (size == 0 || size > (uint64_t)(reader->end - start))
			return allo_jfr_fail(reader, "an event does not fit the chunk");
		event->reader = *reader;
		event->reader.end = reader->next = start + size;
		if (!allo_jfr_number(&event->reader, &event->class))
			return false;
		if (event->class != METADATA && event->class != CONSTANTS)
			return true;
	}
	return false;
}
