/*
 * output.h - a stream of bytes to a file, a pipe or memory, optionally compressed.
 *
 * A file gets its name only when it is finished: until then it is unnamed (O_TMPFILE), or has a
 * temporary name where the file system needs one.  Failures latch: writers do not check each write,
 * allo_output_finish() reports the first failure.
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
	bool fast;    /* faster, weaker compression */
	bool replace; /* may replace an existing file */
	/* Files that the output is made of, up to NULL: users who cannot read them cannot read a
	 * new output either.  NULL: none. */
	char *const *sources;
};

/* All zeros: nothing to drop. */
struct allo_output {
	char *buffer;
	size_t used, capacity;
	uint64_t written; /* uncompressed bytes that have left the buffer */

	/* Private from here on. */
	const char *name;
	int fd;          /* -1 when writing to memory */
	bool owns_fd;    /* false for standard output */
	char *target;    /* the final name; NULL when the file has it already */
	char *temporary; /* the name until then; NULL for an unnamed file */
	unsigned mode;   /* permissions of a new file, before umask */
	bool may_replace;
	bool is_lent;               /* the borrower of the descriptor writes the file */
	struct allo_packer *packer; /* NULL without compression */
	ALLO_VEC(char) memory;
	uint64_t sent;     /* bytes in the file or memory */
	bool is_cleaned;   /* see allo_output_clean_terminal() */
	char character[4]; /* of cleaned text: the start of a character */
	size_t character_len;
	struct allo_error failure;
};

/* The permissions of a new file, before umask; see allo_output_options.sources. */
unsigned allo_output_mode(char *const *sources);

/* Opens a file, or standard output for "-". */
bool allo_output_open(struct allo_output *out, const char *path,
		      const struct allo_output_options *options, struct allo_error *err);

/* Writes to the caller's descriptor, which stays open. */
bool allo_output_open_fd(struct allo_output *out, int fd, const char *name,
			 const struct allo_output_options *options, struct allo_error *err);

/* Writes to memory that grows; allo_output_memory() returns it after finishing. */
bool allo_output_open_memory(struct allo_output *out, const struct allo_output_options *options,
			     struct allo_error *err);

/* For data formats, which keep all characters of a name: if the output is a terminal, replaces the
 * control characters in them by '?'.  The same in memory, which is for a pager. */
void allo_output_clean_terminal(struct allo_output *out);

/* Writes the rest of the buffer, reports the first failure, and gives the file its name. */
bool allo_output_finish(struct allo_output *out, struct allo_error *err);

/* The bytes written to memory; `out` owns them. */
struct allo_text allo_output_memory(const struct allo_output *out);

/* The same, but the caller owns and frees them.  A NUL follows the *len bytes.  NULL when out of
 * memory. */
char *allo_output_take_memory(struct allo_output *out, size_t *len, struct allo_error *err);

/* Bytes in the file or memory, once finished. */
static inline uint64_t allo_output_size(const struct allo_output *out)
{
	return out->sent;
}

/* Lends the descriptor of a new, empty file, for formats that need random access.  -1 when the
 * output is compressed or not a new file. */
int allo_output_lend(struct allo_output *out);

/* Closes the output; an unfinished file disappears. */
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

/* Latches "out of memory" for allo_output_finish(), for a producer of output that ran out of it. */
void allo_output_fail_memory(struct allo_output *out);

/* Like allo_output_text(), with invalid UTF-8 replaced by U+FFFD. */
void allo_output_utf8(struct allo_output *out, struct allo_text text);

/* Like allo_output_utf8(), with control characters replaced by '?': names come from untrusted files
 * and go to terminals. */
void allo_output_printable(struct allo_output *out, struct allo_text text);

/* Room for `count` (at most 64 Ki) bytes.  Call allo_output_wrote() with the end of the bytes
 * written there. */
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
