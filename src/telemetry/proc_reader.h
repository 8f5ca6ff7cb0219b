/*
 * lines.h - the lines of a small file of the kernel's, read without allocating.
 *
 * No call here is one that a thread can be cancelled in.
 */
#ifndef ALLO_TELEMETRY_PROC_READER_H
#define ALLO_TELEMETRY_PROC_READER_H

#include "base/text.h"

/* Room for a whole file of most kinds, so that it is of one moment; a line that is longer is cut,
 * and what was cut is skipped. */
enum { ALLO_PROC_READER_SIZE = 8192 };

struct allo_proc_reader {
	int fd;      /* -1: all that there is is in the buffer */
	int failure; /* why it could not be read to its end */
	bool is_long;
	bool is_read; /* to its end */
	size_t at, end;
	bool is_skipping; /* the rest of a line that is too long */
	_Alignas(
		8) char buffer[ALLO_PROC_READER_SIZE]; /* entries of a folder may be read into it */
};

/* `path` is below the folder `root` ("" for the real one).  Returns 0, or why not, as errno has it.
 */
int allo_proc_reader_open(struct allo_proc_reader *reader, const char *root, const char *path);

/* The same for one that the kernel makes piece by piece, where having read less than there is room
 * for does not mean that this was all. */
int allo_proc_reader_open_long(struct allo_proc_reader *reader, const char *root, const char *path);

/* The same for text in memory, as much as there is room for. */
void allo_proc_reader_open_memory(struct allo_proc_reader *reader, struct allo_text text);

/* The next line, without its end; good until the next call. */
bool allo_proc_reader_next(struct allo_proc_reader *reader, struct allo_text *line);

/* All that is left of it at once, as much as there is room for. */
struct allo_text allo_proc_reader_rest(struct allo_proc_reader *reader);

/* Returns 0, or why the file could not be read to its end. */
int allo_proc_reader_close(struct allo_proc_reader *reader);

/* A file that holds one number, or the word "max", which is UINT64_MAX.  Returns as above; ENODATA
 * where it holds anything else. */
int allo_proc_reader_number(struct allo_proc_reader *reader, const char *root, const char *path,
			    uint64_t *number);

#endif
