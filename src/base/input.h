/*
 * input.h - bytes of a file, a pipe or memory, unpacked on the way (gzip, zstd).
 *
 * A reader sees a window of unread bytes, [next, end), and asks for more when a piece of its format
 * is not whole yet.  Files are read, not mapped: a file that shrinks meanwhile is an error and not
 * a signal, and memory does not grow with the file.  A small file that unpacks to a huge one is
 * refused.
 */
#ifndef ALLO_BASE_INPUT_H
#define ALLO_BASE_INPUT_H

#include "base/offset.h"

enum {
	/* The longest single piece (a line, a string, a program point) that we are willing to hold.
	 */
	ALLO_PIECE_MAX = 64 << 20,
	/* What the head given to format probes holds, unless the input is shorter. */
	ALLO_HEAD_SIZE = 64 << 10,
};

/* Told from time to time how far reading has come; `total` is 0 when that is not known. */
struct allo_progress {
	void (*tell)(void *context, uint64_t done, uint64_t total);
	void *context;
};

/* Stands beside a descriptor that is read. */
struct allo_input_watch {
	/* Waits until there is something to read; false: the input is to end here. */
	bool (*wait)(void *context, int fd);
	/* Is shown what was read, as it was read. */
	void (*see)(void *context, const void *data, size_t len);
	void *context;
};

struct allo_unpacker;

/* All zeros: nothing to close. */
struct allo_input {
	const char *name; /* for messages; the caller's */
	const char *next, *end;
	bool is_stopped; /* who watches has ended it: it may end anywhere */

	/* Private from here on. */
	struct allo_offset place; /* of `placed`, which trails `next` within the window */
	const char *placed;
	char *buffer; /* where the window lies; NULL when it lies in the caller's memory */
	size_t capacity;
	int fd;                  /* -1 when reading memory */
	struct allo_text memory; /* the caller's, all of it; empty when reading a file */
	bool owns_fd, at_end, is_binary;
	struct allo_unpacker *unpacker; /* NULL when the bytes are not packed */
	const char *packing;
	struct allo_text packed; /* not unpacked yet */
	char *packed_buffer;     /* where `packed` lies, unless it is the caller's memory */
	uint64_t unpacked;       /* bytes made of packed ones so far */
	uint64_t done, total;    /* bytes read from outside, and how many there are (0: unknown) */
	const struct allo_progress *progress;
	const struct allo_input_watch *watch;
};

/* Opens a file, or standard input for "-".  `progress` may be NULL; the rest of `in` is set here.
 */
bool allo_input_open(struct allo_input *in, const char *path, const struct allo_progress *progress,
		     struct allo_error *err);

/* The same under the eyes of somebody, who may be NULL. */
bool allo_input_open_watched(struct allo_input *in, const char *path,
			     const struct allo_progress *progress,
			     const struct allo_input_watch *watch, struct allo_error *err);

/* Reads the caller's descriptor from where it stands; it stays open. */
bool allo_input_open_fd(struct allo_input *in, int fd, const char *name,
			const struct allo_progress *progress, struct allo_error *err);

/* Reads the caller's memory, which must stay until the input is closed. */
bool allo_input_open_memory(struct allo_input *in, const char *name, const void *data, size_t len,
			    struct allo_error *err);

void allo_input_close(struct allo_input *in);

/* Positions are bytes from the start from now on, without lines. */
static inline void allo_input_set_binary(struct allo_input *in)
{
	in->is_binary = true;
}

/* Where a byte of the window is.  It costs counting the lines before it, so: for messages. */
struct allo_pos allo_input_pos_at(const struct allo_input *in, const char *byte);

static inline struct allo_pos allo_input_pos(const struct allo_input *in)
{
	return allo_input_pos_at(in, in->next);
}

/* Where `next` is; cheap when called now and then, as it remembers what it has counted. */
struct allo_offset allo_input_offset(struct allo_input *in);

static inline size_t allo_input_unread(const struct allo_input *in)
{
	return (size_t)(in->end - in->next);
}

/* Gets at least one more byte into the window; the window may move.  False at the end of the input
 * and at failure: tell them apart by `err`. */
bool allo_input_more(struct allo_input *in, struct allo_error *err);

/* At least `count` unread bytes, unless the input ends before: then what there is. */
bool allo_input_want(struct allo_input *in, size_t count, struct allo_error *err);

/* The next line without its end ("\n" or "\r\n"); false at the end and at failure. */
bool allo_input_line(struct allo_input *in, struct allo_text *line, struct allo_error *err);

/* All whole lines of the window as one text that ends in a newline (or at the end of the input):
 * for readers that cannot afford a call a line.  False at the end and at failure. */
bool allo_input_lines(struct allo_input *in, struct allo_text *lines, struct allo_error *err);

/* Says how many lines the text just given had, which saves counting them. */
void allo_input_lines_counted(struct allo_input *in, uint64_t count);

/* Takes up to `count` bytes out of the input, past the window, into the caller's buffer; 0 at the
 * end and at failure.  Who takes keeps count of the place until all is given back. */
size_t allo_input_take(struct allo_input *in, void *buffer, size_t count, struct allo_error *err);

/* Puts back what was taken too much; `place` is that of its first byte. */
bool allo_input_give_back(struct allo_input *in, struct allo_text text, struct allo_offset place,
			  struct allo_error *err);

/* Everything unread as one piece, which stays until the input is closed; at most 2 GiB. */
bool allo_input_all(struct allo_input *in, struct allo_text *all, struct allo_error *err);

/* Opens a second input at the last occurrence of `needle` in the rest of an unpacked, seekable
 * input; false, without failure, when it cannot be had.  `in` does not move. */
bool allo_input_open_at_last(const struct allo_input *in, struct allo_text needle,
			     struct allo_input *at, struct allo_error *err);

#endif
