/*
 * proc_reader.h - reads small files of /proc and /sys line by line, without allocating.
 *
 * It uses raw system calls, so no call is a cancellation point: the runtime reads files in threads
 * of other programs.
 */
#ifndef ALLO_TELEMETRY_PROC_READER_H
#define ALLO_TELEMETRY_PROC_READER_H

#include "base/text.h"

/* Most files fit, so that one read() gives a consistent text.  A longer line is cut. */
enum { ALLO_PROC_READER_SIZE = 8192 };

struct allo_proc_reader {
	int fd;       /* -1: the buffer holds the whole text */
	int failure;  /* errno of the first read that failed; 0: none */
	bool is_long; /* a short read is not the end of the file */
	bool is_read; /* the end of the file is reached */
	size_t at, end;
	bool is_skipping;                               /* the rest of a cut line */
	_Alignas(8) char buffer[ALLO_PROC_READER_SIZE]; /* aligned for struct dirent64 */
};

/* Opens `path` below the folder `root` ("" for the real one).  Returns 0 or an errno. */
int allo_proc_reader_open(struct allo_proc_reader *reader, const char *root, const char *path);

/* The same for a file that the kernel generates in pieces: a short read is not its end. */
int allo_proc_reader_open_long(struct allo_proc_reader *reader, const char *root, const char *path);

/* The same for a text in memory, cut to the size of the buffer. */
void allo_proc_reader_open_memory(struct allo_proc_reader *reader, struct allo_text text);

/* The next line without its newline, valid until the next call. */
bool allo_proc_reader_next(struct allo_proc_reader *reader, struct allo_text *line);

/* The rest of the file, cut to the size of the buffer. */
struct allo_text allo_proc_reader_rest(struct allo_proc_reader *reader);

/* Returns 0, or the errno of the first read that failed. */
int allo_proc_reader_close(struct allo_proc_reader *reader);

/* Reads a file that holds one number, or the word "max", which is UINT64_MAX.  Returns 0 or an
 * errno; ENODATA for other contents. */
int allo_proc_reader_number(struct allo_proc_reader *reader, const char *root, const char *path,
			    uint64_t *number);

#endif
