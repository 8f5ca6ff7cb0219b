/*
 * output.h - bytes to a file, a pipe or memory, packed on the way if asked for.
 *
 * A file appears under its name only when it is finished: until then it has no name at all where
 * the system can do that, and a temporary one elsewhere.  Writers need not look at each write: the
 * first failure is remembered and allo_output_finish() reports it.
 */
#ifndef ALLO_BASE_OUTPUT_H
#define ALLO_BASE_OUTPUT_H

#include "base/error.h"
#include "base/text.h"
#include "base/vec.h"

#include <stdarg.h>

struct allo_packer;

enum allo_packing { ALLO_PLAIN, ALLO_GZIP, ALLO_ZSTD };

struct allo_output_options {
	enum allo_packing packing;
	bool fast;    /* packs less tightly in less time */
	bool replace; /* an existing file may be replaced */
};

/* All zeros: nothing to drop. */
struct allo_output {
	char *buffer;
	size_t used, capacity;
	uint64_t written; /* bytes that have left the buffer, before packing */

	/* Private from here on. */
	const char *name;
	int fd;          /* -1 when writing to memory */
	bool owns_fd;    /* false for standard output */
	char *target;    /* the name to take when finished; NULL where the file has it already */
	char *temporary; /* the name until then; NULL where the file has none */
	bool may_replace;
	bool is_lent;               /* somebody else writes the file */
	struct allo_packer *packer; /* NULL when nothing is packed */
	ALLO_VEC(char) memory;
	uint64_t sent; /* bytes in the file or memory */
	struct allo_error failure;
};

/* A file, or standard output for "-". */
bool allo_output_open(struct allo_output *out, const char *path,
		      const struct allo_output_options *options, struct allo_error *err);

/* The caller's descriptor, which stays open. */
bool allo_output_open_fd(struct allo_output *out, int fd, const char *name,
			 const struct allo_output_options *options, struct allo_error *err);

/* Memory that grows; allo_output_memory() has it after finishing. */
bool allo_output_open_memory(struct allo_output *out, const struct allo_output_options *options,
			     struct allo_error *err);

/* Writes what is left and gives the file its name.  A full disk is noticed here, once. */
bool allo_output_finish(struct allo_output *out, struct allo_error *err);

/* What was written to memory; it belongs to `out`. */
struct allo_text allo_output_memory(const struct allo_output *out);

/* The same, but it is the caller's from now on, to be freed, with a NUL behind its *len bytes; NULL
 * when memory is short. */
char *allo_output_take_memory(struct allo_output *out, size_t *len, struct allo_error *err);

/* Bytes in the file or memory, once finished. */
static inline uint64_t allo_output_size(const struct allo_output *out)
{
	return out->sent;
}

/* The descriptor of a new file of which nothing has been written, for formats that are written, and
 * read again, anywhere in the file; -1 where the output is packed, or anything but a new file. */
int allo_output_lend(struct allo_output *out);

/* Closes; what was not finished leaves no trace. */
void allo_output_drop(struct allo_output *out);

void allo_output_flush(struct allo_output *out);
void allo_output_slow_bytes(struct allo_output *out, const void *data, size_t len);

static inline void allo_output_bytes(struct allo_output *out, const void *data, size_t len)
{
	if (len > out->capacity - out->used) {
		allo_output_slow_bytes(out, data, len);
		return;
	}
	if (len > 0)
		memcpy(out->buffer + out->used, data, len);
	out->used += len;
}

static inline void allo_output_byte(struct allo_output *out, char byte)
{
	allo_output_bytes(out, &byte, 1);
}

static inline void allo_output_text(struct allo_output *out, struct allo_text text)
{
	allo_output_bytes(out, text.data, text.len);
}

static inline void allo_output_string(struct allo_output *out, const char *string)
{
	allo_output_bytes(out, string, strlen(string));
}

void allo_output_u64(struct allo_output *out, uint64_t number);
void allo_output_i64(struct allo_output *out, int64_t number);
void allo_output_printf(struct allo_output *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void allo_output_vprintf(struct allo_output *out, const char *fmt, va_list args);

/* Whoever makes what is written has run out of memory: finishing will say so. */
void allo_output_fail_memory(struct allo_output *out);

/* As allo_output_text(), with what is not UTF-8 replaced by U+FFFD. */
void allo_output_utf8(struct allo_output *out, struct allo_text text);

/* As allo_output_utf8(), with control characters replaced by '?', for terminals: names come from
 * files. */
void allo_output_printable(struct allo_output *out, struct allo_text text);

/* Room for `count` (at most 64 Ki) bytes at once, to be filled up to `allo_output_wrote(end)`. */
static inline char *allo_output_room(struct allo_output *out, size_t count)
{
	if (count > out->capacity - out->used)
		allo_output_flush(out);
	return out->buffer + out->used;
}

static inline void allo_output_wrote(struct allo_output *out, const char *end)
{
	out->used = (size_t)(end - out->buffer);
}

#endif
