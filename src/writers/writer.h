/*
 * writer.h - what a writer of a format is made of.
 */
#ifndef ALLO_WRITERS_WRITER_H
#define ALLO_WRITERS_WRITER_H

#include "base/output.h"
#include "profile/profile.h"

/* What a format has room for, and what a profile has; `allo convert` tells the difference. */
enum {
	ALLO_HOLDS_METRICS = 1 << 0, /* more than one */
	ALLO_HOLDS_MODULES = 1 << 1,
	ALLO_HOLDS_BUILD_IDS = 1 << 2,
	ALLO_HOLDS_ADDRESSES = 1 << 3,
	ALLO_HOLDS_FILES = 1 << 4,
	ALLO_HOLDS_LINES = 1 << 5,
	ALLO_HOLDS_COLUMNS = 1 << 6,
	ALLO_HOLDS_INLINES = 1 << 7,
	ALLO_HOLDS_LABELS = 1 << 8,
	ALLO_HOLDS_TIMES = 1 << 9,
	ALLO_HOLDS_ACCESSES = 1 << 10,
	ALLO_HOLDS_COMMAND = 1 << 11,
	ALLO_HOLDS_COMMENTS = 1 << 12,
	ALLO_HOLDS_PERIOD = 1 << 13,
	ALLO_HOLDS_NEGATIVE = 1 << 14,
	ALLO_HOLDS_HISTORY = 1 << 15, /* readers make it for writers that hold it only */
};

struct allo_write_options {
	const char *title; /* of a drawing; NULL makes one up */
	uint64_t version;  /* of a form that has several; 0: the usual one */
};

/* One writing of one profile. */
struct allo_writing {
	struct allo_output *out;
	const struct allo_write_options *options;
	struct allo_notes notes; /* what happened to the numbers on the way */
	void *state;             /* of a writer that takes portions */
};

/* Texts that stand near the beginning of a format's files. */
struct allo_file_mark {
	const char *text;   /* NULL in an unused mark */
	const char *second; /* must be there, too; may be NULL */
};

enum { ALLO_FILE_MARKS = 2 };

struct allo_writer {
	const char *name;
	const char *title; /* one line */
	const char *about; /* paragraphs for the manual */
	/* Of file names, the usual first; with '*' behind it, a beginning: ".dhat dhat.out.*" */
	const char *endings;
	const char
		*versions; /* that may be asked for, the usual first: "1 3"; NULL: there is one */
	/* How the files begin, for formats that have no reader: allo_writer_find_by_content. */
	struct allo_file_mark marks[ALLO_FILE_MARKS];
	unsigned holds;
	bool is_binary;
	bool is_packed; /* with gzip, unless the file's name says otherwise */
	/* The format stores single allocations (rows) beside the profile.  Rows come from a
	 * recording, so the program writes such files through src/sql; the functions below are
	 * NULL. */
	bool takes_rows;

	/* Either the whole profile at once, */
	bool (*write)(struct allo_writing *w, const struct allo_profile *profile,
		      struct allo_error *err);
	/* or in portions that share all tables but stacks and samples: `add` for each, then `end`
	 * for what they refer to.  `drop` frees the state, finished or not. */
	bool (*begin)(struct allo_writing *w, struct allo_error *err);
	bool (*add)(struct allo_writing *w, const struct allo_profile *portion,
		    struct allo_error *err);
	bool (*end)(struct allo_writing *w, const struct allo_profile *profile,
		    struct allo_error *err);
	void (*drop)(struct allo_writing *w);
};

#endif
