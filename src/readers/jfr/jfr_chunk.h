/*
 * jfr_chunk.h - one chunk of a Flight Recorder file: its classes, its constants, its events.
 *
 * A chunk describes itself.  Its metadata lists classes with their fields; each event, and each
 * constant that events share, is a value of such a class.
 */
#ifndef ALLO_READERS_JFR_CHUNK_H
#define ALLO_READERS_JFR_CHUNK_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

struct allo_jfr_field {
	struct allo_text name;
	uint64_t class;
	bool is_constant; /* the value is the key of a constant */
	bool is_array;
};

struct allo_jfr_class {
	uint64_t id;
	struct allo_text name;
	size_t first_field, field_count;
};

struct allo_jfr_constant {
	uint64_t class, key;
	size_t offset; /* of the value in the chunk */
};

/* All zeros is an empty chunk. */
struct allo_jfr_chunk {
	const char *file;       /* for messages */
	uint64_t start;         /* of the chunk in the file */
	struct allo_text bytes; /* all of the chunk */
	uint64_t start_ns, duration_ns;
	ALLO_VEC(struct allo_jfr_class) classes;
	ALLO_VEC(struct allo_jfr_field) fields;

	/* Private from here on. */
	uint64_t seed;
	struct allo_arena arena;
	ALLO_VEC(struct allo_text) strings;
	ALLO_VEC(struct allo_jfr_constant) constants;
	struct allo_map class_map, constant_map; /* index + 1 */
};

enum { ALLO_JFR_HEAD = 68 };

/* The size of a chunk by its head; 0 if it is not a complete head of a version that can be read. */
uint64_t allo_jfr_chunk_size(struct allo_text head);

/* Reads the metadata and finds the constants.  `bytes` stay the caller's. */
bool allo_jfr_chunk_open(struct allo_jfr_chunk *chunk, struct allo_text bytes, uint64_t seed,
			 struct allo_error *err);
void allo_jfr_chunk_close(struct allo_jfr_chunk *chunk);

/* A class by its number, or NULL. */
const struct allo_jfr_class *allo_jfr_class(const struct allo_jfr_chunk *chunk, uint64_t id);

/* Where values are read.  A failure latches in `err`. */
struct allo_jfr_reader {
	const struct allo_jfr_chunk *chunk;
	const char *next, *end;
	struct allo_error *err;
};

struct allo_jfr_reader allo_jfr_read_at(const struct allo_jfr_chunk *chunk, size_t offset,
					struct allo_error *err);

bool allo_jfr_number(struct allo_jfr_reader *reader, uint64_t *value);

/* Bytes of names that count; a file may refer to one long name from everywhere. */
enum { ALLO_JFR_TEXT_MOST = 512 };

/* The beginning of a string that is no constant.  The reader stays in it. */
bool allo_jfr_string(struct allo_jfr_reader *reader, struct allo_text *text);

/* Skips a value of a field. */
bool allo_jfr_skip(struct allo_jfr_reader *reader, const struct allo_jfr_field *field);

/* Moves the reader to the constant of a class; false if there is none. */
bool allo_jfr_constant(struct allo_jfr_reader *reader, uint64_t class, uint64_t key);

/* The next event; false at the end, and on failure. */
struct allo_jfr_event {
	uint64_t class;
	struct allo_jfr_reader reader; /* at its first field */
};
bool allo_jfr_next(struct allo_jfr_reader *reader, struct allo_jfr_event *event);

bool allo_jfr_fail(const struct allo_jfr_reader *reader, const char *problem);

#endif
