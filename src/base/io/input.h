/*
 * input.h - a stream of bytes from a file, a pipe or memory; gzip, zstd and LZ4 are decompressed,
 * and UTF-16 text becomes UTF-8.
 *
 * A reader sees a window of unread bytes, [next, end), and asks for more when an item of its format
 * is incomplete.  Files are read, not mapped: a file that shrinks causes an error instead of a
 * signal, and memory does not grow with the file.  Decompression bombs are refused.
 */
#ifndef ALLO_BASE_INPUT_H
#define ALLO_BASE_INPUT_H

#include "base/io/offset.h"

enum {
	/* Size limit of a single item: a line, a string, a program point. */
	ALLO_PIECE_MAX = 64 << 20,
	/* Size of the head for format probes, unless the input is shorter. */
	ALLO_HEAD_SIZE = 64 << 10,
};

/* Called after each read with the bytes read so far; `total` is 0 when unknown. */
struct allo_progress {
	void (*tell)(void *context, uint64_t done, uint64_t total);
	void *context;
};

/* Hooks around each read of a descriptor. */
struct allo_input_watch {
	/* Waits for data; returns false to end the input here. */
	bool (*wait)(void *context, int fd);
	/* Receives the bytes as they were read. */
	void (*see)(void *context, const void *data, size_t len);
	void *context;
};

struct allo_unpacker;

/* All zeros: nothing to close. */
struct allo_input {
	const char *name; /* for messages; owned by the caller */
	const char *next, *end;
	bool is_stopped; /* the watch ended the input, possibly in the middle of an item */

	/* Private from here on. */
	struct allo_offset counted; /* offset of `counted_to`, which trails `next` */
	const char *counted_to;
	char *buffer; /* holds the window; NULL when the window is in the caller's memory */
	size_t capacity;
	int fd;                  /* -1 when reading memory */
	struct allo_text memory; /* all of the caller's memory; empty when reading a file */
	bool owns_fd, at_end, is_binary;
	struct allo_unpacker *unpacker; /* NULL when the input is not compressed */
	const char *packing;
	struct allo_text packed; /* compressed bytes that are read but not unpacked */
	char *packed_buffer;     /* holds `packed`, unless that is the caller's memory */
	uint64_t unpacked;       /* bytes unpacked so far */
	uint64_t done, total;    /* bytes read, and size of the file or memory (0: unknown) */
	const struct allo_progress *progress;
	const struct allo_input_watch *watch;
};

/* Opens a file, or standard input for "-".  `progress` may be NULL. */
bool allo_input_open(struct allo_input *in, const char *path, const struct allo_progress *progress,
		     struct allo_error *err);

/* The same with a watch, which may be NULL. */
bool allo_input_open_watched(struct allo_input *in, const char *path,
			     const struct allo_progress *progress,
			     const struct allo_input_watch *watch, struct allo_error *err);

/* Reads the caller's descriptor from its current offset; closing the input leaves it open. */
bool allo_input_open_fd(struct allo_input *in, int fd, const char *name,
			const struct allo_progress *progress, struct allo_error *err);

/* Reads the caller's memory, which must stay until the input is closed. */
bool allo_input_open_memory(struct allo_input *in, const char *name, const void *data, size_t len,
			    struct allo_error *err);

void allo_input_close(struct allo_input *in);

/* Positions are byte offsets from now on, without lines. */
static inline void allo_input_set_binary(struct allo_input *in)
{
	in->is_binary = true;
}

/* Position of a byte of the window.  Counts the lines before it, so this is for messages only. */
struct allo_pos allo_input_pos_at(const struct allo_input *in, const char *byte);

static inline struct allo_pos allo_input_pos(const struct allo_input *in)
{
	return allo_input_pos_at(in, in->next);
}

/* Offset of `next`.  Each call counts only the lines since the last one. */
struct allo_offset allo_input_offset(struct allo_input *in);

static inline size_t allo_input_unread(const struct allo_input *in)
{
	return (size_t)(in->end - in->next);
}

/* Adds at least one byte to the window, which may move.  False at the end of the input and on
 * failure; `err` tells them apart. */
bool allo_input_more(struct allo_input *in, struct allo_error *err);

/* Fills the window with at least `count` unread bytes, or fewer if the input ends. */
bool allo_input_want(struct allo_input *in, size_t count, struct allo_error *err);

/* The next line without its "\n" or "\r\n"; false at the end and on failure. */
bool allo_input_line(struct allo_input *in, struct allo_text *line, struct allo_error *err);

/* All complete lines of the window as one text that ends in a newline (or at the end of the input).
 * For readers where a call per line is too slow.  False at the end and on failure. */
bool allo_input_lines(struct allo_input *in, struct allo_text *lines, struct allo_error *err);

/* Sets the number of lines in the last text of allo_input_lines(), which saves counting them. */
void allo_input_lines_counted(struct allo_input *in, uint64_t count);

/* Moves up to `count` bytes to the caller's buffer; 0 at the end and on failure.  The caller keeps
 * track of the offset until it gives the rest back. */
size_t allo_input_take(struct allo_input *in, void *buffer, size_t count, struct allo_error *err);

/* Puts back surplus bytes of allo_input_take(); `at` is the offset of the first one. */
bool allo_input_give_back(struct allo_input *in, struct allo_text text, struct allo_offset at,
			  struct allo_error *err);

/* All unread bytes as one text, valid until the input is closed; at most 2 GiB. */
bool allo_input_all(struct allo_input *in, struct allo_text *all, struct allo_error *err);

/* Opens a second input at the last occurrence of `needle`, when `in` is seekable and not
 * compressed; false, without a failure, when that is impossible.  `in` does not move. */
bool allo_input_open_at_last(const struct allo_input *in, struct allo_text needle,
			     struct allo_input *at, struct allo_error *err);

#endif
