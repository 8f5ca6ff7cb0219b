/*
 * reader.h - the interface that each input format implements, and its options.
 */
#ifndef ALLO_READERS_READER_H
#define ALLO_READERS_READER_H

#include "base/io/input.h"
#include "profile/allocation.h"
#include "profile/stack_builder.h"

struct allo_view;

/* How sure a reader is that it can read a file. */
enum allo_guess { ALLO_NO, ALLO_MAYBE, ALLO_SURE };

/*
 * Takes a profile in portions.  Readers of formats that can be huge call it when enough samples
 * have come together, with everything that they refer to, and drop the samples afterwards; the
 * other tables stay.  The other readers leave all samples in the profile.  In a portion, equal
 * stacks may be stored more than once.
 */
struct allo_drain {
	bool (*take)(void *context, struct allo_profile *portion, struct allo_error *err);
	void *context;
	/* Samples of the next portion, which `take` may change; NULL: ALLO_PORTION_SAMPLES. */
	const size_t *samples;
};

/* Samples in a portion: few enough that their stacks stay in the second-level cache. */
enum { ALLO_PORTION_SAMPLES = 1 << 10 };

/* Demangles linker symbols; the name is valid until the next call. */
struct allo_namer {
	struct allo_text (*name)(void *context, struct allo_text symbol);
	void *context;
};

/* Options for samples of CPU time. */
struct allo_trace_options {
	const char *fields; /* names of the columns before a stack: "-,pid,tid"; NULL: guess them */
	double frequency;   /* samples per second, for files without times; 0: 1000 */
	bool drops_modules; /* leave module names out of function names */
	const struct allo_namer *namer; /* may be NULL: symbols stay as they are */
};

struct allo_read_options {
	const char *from;      /* a reader's name; NULL: by content */
	bool keep_accesses;    /* keep DHAT's access counts, most of its files' size */
	bool leaves_addresses; /* ignore the names that a recording stores */
	bool is_strict;        /* fail at the first bad part of a file instead of skipping it */
	const struct allo_drain *drain; /* may be NULL */
	const struct allo_view *view;   /* part of a recording; may be NULL */
	bool by_thread;                 /* label each sample with its thread */
	bool wants_history;             /* fill in profile->history */
	/* Keep samples of traces separate, with their times, each thread's in time order, instead
	 * of adding them up by stack and labels. */
	bool wants_times;
	struct allo_trace_options trace;
	const struct allo_progress *progress; /* may be NULL */
	const struct allo_input_watch *watch; /* may be NULL */
	/* Called when no reader has the name `from`, or, if that is NULL, when none knows the file
	 * that begins with `head`.  May report a better error than "unknown".  May be NULL. */
	void (*explain_unknown)(const char *file, const char *from, struct allo_text head,
				struct allo_error *err);
};

struct allo_reader {
	const char *name;
	const char *title; /* one line */
	const char *about; /* paragraphs for the manual: what the reader takes from a file */
	/* Judges the first bytes (ALLO_HEAD_SIZE, or the whole file if it is shorter). */
	enum allo_guess (*probe)(struct allo_text head);
	bool (*read)(struct allo_input *in, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err);
	/* For formats whose files come as a directory; NULL for the others. */
	bool (*probe_directory)(const char *path);
	bool (*read_directory)(const char *path, const struct allo_read_options *options,
			       struct allo_profile *profile, struct allo_error *err);
	bool is_binary; /* positions are bytes, not lines */
	/* Properties of the format; code outside the reader tests these, never the name. */
	bool has_rows;      /* individual allocations, not only sums */
	bool has_addresses; /* frames are addresses in modules and want symbols */
	bool has_times;     /* samples with times and threads: options.wants_times */
	bool has_views;     /* a part of the input can be read: options.view */

	/* Individual allocations of formats with has_rows, from a file or from a directory: fills
	 * the profile, hands it to the sink, then the rows.  NULL for our own recordings, which
	 * engine/rows.c replays. */
	bool (*read_rows)(struct allo_input *in, const struct allo_allocation_sink *sink,
			  struct allo_profile *profile, struct allo_error *err);
	bool (*read_directory_rows)(const char *path, const struct allo_progress *progress,
				    const struct allo_allocation_sink *sink,
				    struct allo_profile *profile, struct allo_error *err);
};

/* Bad parts of a file that a reader skips, such as lines.  All zeros: none. */
struct allo_bad_parts {
	uint64_t count;
	struct allo_error first; /* the failure that the first one would have been */
};

/*
 * Skips a bad part: counts and notes it.  The caller has recorded the failure in skipped->first if
 * the count was 0; finding the position of every part would take too long.  Fails with the first
 * part's failure if the options ask for that, or if the file has more than a thousand bad parts and
 * fewer good ones: it is not of this format.
 */
bool allo_reader_skip(const struct allo_read_options *options, struct allo_bad_parts *skipped,
		      uint64_t good, enum allo_note note, struct allo_notes *notes,
		      struct allo_error *err);

/* Fails with the first part's failure if a file has more bad parts than good ones.  Call it at the
 * end. */
bool allo_bad_parts_check(const struct allo_bad_parts *skipped, uint64_t good,
			  struct allo_error *err);

/* Passes the samples to options->drain, if there is one and a portion is full. */
bool allo_reader_drain(const struct allo_read_options *options, struct allo_profile *profile,
		       struct allo_stack_builder *builder, struct allo_error *err);

#endif
