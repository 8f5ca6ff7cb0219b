/*
 * rheaper_files.h - the files of a rheaper recording, in its directory or in a tar archive of it.
 *
 *     rip-1700000000/events/events-ThreadId(1)      49 bytes per event
 *     rip-1700000000/backtraces/bt-0                one JSON object per line
 *
 * No file stays open: there may be more files than a process may open.
 */
#ifndef ALLO_READERS_RHEAPER_FILES_H
#define ALLO_READERS_RHEAPER_FILES_H

#include "base/arena.h"
#include "base/io/random_access.h"
#include "base/vec.h"

struct allo_rheaper_file {
	const char *name; /* "events/events-ThreadId(1)" */
	uint64_t size;
	uint64_t offset; /* in the archive */
	bool is_cut;     /* the archive ends within it */
};

/* In an order that depends on their names alone. */
struct allo_rheaper_list {
	ALLO_VEC(struct allo_rheaper_file) files;
};

/* All zeros: nothing to close. */
struct allo_rheaper_files {
	const char *name; /* of the directory or archive; owned by the caller */
	struct allo_rheaper_list events, backtraces;
	int64_t start_s; /* start of the recording, since 1970, from its name; 0: unknown */

	/* Private from here on. */
	const char *outer; /* the recording's name within the directory or archive; NULL: none */
	int directory;     /* -1: an archive */
	struct allo_random_access archive;
	bool is_open;
	struct allo_arena arena;
	const struct allo_progress *progress;
	uint64_t done, total;
};

/* Whether a directory is a recording or holds one. */
bool allo_rheaper_is_directory(const char *path);

/* Finds the files of a directory, or of the only recording in it. */
bool allo_rheaper_open_directory(struct allo_rheaper_files *files, const char *path,
				 const struct allo_progress *progress, struct allo_error *err);

/* Finds the files of an archive, whose first byte is unread; the input must stay open. */
bool allo_rheaper_open_archive(struct allo_rheaper_files *files, struct allo_input *in,
			       struct allo_error *err);

void allo_rheaper_close(struct allo_rheaper_files *files);

/* Reads `count` bytes of a file; fails if it has fewer. */
bool allo_rheaper_read(struct allo_rheaper_files *files, const struct allo_rheaper_file *file,
		       uint64_t offset, void *buffer, size_t count, struct allo_error *err);

/* Resets the progress to the start of the events, for another pass. */
void allo_rheaper_start_over(struct allo_rheaper_files *files);

/* A position in a file: a line and a byte of it, both from 1, or line 0 and a byte of the file. */
struct allo_pos allo_rheaper_pos(const struct allo_rheaper_files *files,
				 const struct allo_rheaper_file *file, uint64_t line,
				 uint64_t byte);

#endif
