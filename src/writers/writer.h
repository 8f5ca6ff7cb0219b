/*
 * writer.h - the parts of a writer, which turns a profile into one output format.
 */
#ifndef ALLO_WRITERS_WRITER_H
#define ALLO_WRITERS_WRITER_H

#include "analysis/sites/attribution.h"
#include "base/io/output.h"
#include "profile/profile.h"

/* Data that a format can hold and a profile can have; `allo convert` reports the data that a format
 * loses. */
enum {
	ALLO_HOLDS_METRICS = 1 << 0, /* several of them */
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
	/* Built only for writers that hold them. */
	ALLO_HOLDS_HISTORY = 1 << 15,
	ALLO_HOLDS_CHANGES = 1 << 16,
};

struct allo_write_options {
	const char *title; /* of a drawing; NULL: the command and the metric */
	uint64_t version;  /* of a format that has several; 0: the default */
	/* Tells skipped wrappers in a drawing; NULL: with default settings. */
	struct allo_attribution *attribution;
};

/* The state of writing one profile. */
struct allo_write_job {
	struct allo_output *out;
	const struct allo_write_options *options;
	struct allo_notes notes; /* numbers that were changed, cut or left out */
	void *state;             /* private to a writer that takes portions */
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
	/* Ends of file names, the usual one first.  A '*' marks the start of a name instead:
	 * ".dhat dhat.out.*" */
	const char *endings;
	/* Versions of the format that users can choose, the default first: "1 3"; NULL: only one.
	 */
	const char *versions;
	/* How the files begin, for formats without a reader: allo_writer_find_by_content(). */
	struct allo_file_mark marks[ALLO_FILE_MARKS];
	unsigned holds;
	unsigned holds_at_leaf; /* the data that it holds for the innermost call only */
	bool is_binary;
	bool is_packed;       /* with gzip, unless the file's name asks for something else */
	bool spells_stacks;   /* repeats the frames of common callers in every stack */
	bool names_max_inuse; /* max_bytes becomes inuse_space, which does not add up */
	/* Other programs take the numbers for live memory: of a running program, its live heap is
	 * written instead of the recording so far. */
	bool shows_live;
	/* The format stores single allocations (rows) beside the profile.  Rows come from a
	 * recording, so the program writes such files through src/sql and src/parquet; the
	 * functions below are NULL. */
	bool takes_rows;
	bool is_folder; /* of files; one that takes rows */
	bool is_script; /* SQL for a database server; one that takes rows */

	/* A writer has either `write`, which takes the whole profile, */
	bool (*write)(struct allo_write_job *w, const struct allo_profile *profile,
		      struct allo_error *err);
	/* or the next four, which take portions.  Portions share all tables but stacks and samples.
	 * `add` is called for each portion, then `end` for the tables that they refer to.  `drop`
	 * frees the state, finished or not. */
	bool (*begin)(struct allo_write_job *w, struct allo_error *err);
	bool (*add)(struct allo_write_job *w, const struct allo_profile *portion,
		    struct allo_error *err);
	bool (*end)(struct allo_write_job *w, const struct allo_profile *profile,
		    struct allo_error *err);
	void (*drop)(struct allo_write_job *w);
};

/* Viewers in JavaScript read numbers as doubles, which skip whole numbers above this. */
#define ALLO_JS_NUMBER_MAX (UINT64_C(1) << 53)

/* A weight for such a viewer: 0 instead of a negative value, at most ALLO_JS_NUMBER_MAX.  Notes
 * each change. */
uint64_t allo_js_weight(struct allo_write_job *w, const struct allo_metric *metric, uint64_t value);

#endif
