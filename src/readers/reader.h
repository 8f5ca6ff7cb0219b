/*
 * reader.h - what a reader of a format is made of.
 */
#ifndef ALLO_READERS_READER_H
#define ALLO_READERS_READER_H

#include "base/input.h"
#include "profile/stack_builder.h"

struct allo_view;

/* How sure a reader is that a file is its own. */
enum allo_guess { ALLO_NO, ALLO_MAYBE, ALLO_SURE };

/*
 * Takes a profile in portions: called when enough samples have come together, with all that they
 * refer to.  The samples are dropped afterwards, the other tables stay.  Only readers of formats
 * that can be huge do this; the others leave all samples in the profile.  Equal stacks are not
 * looked for.
 */
struct allo_drain {
	bool (*take)(void *context, struct allo_profile *portion, struct allo_error *err);
	void *context;
};

/* Samples of a portion: few enough that their stacks stay in the second-level cache. */
enum { ALLO_PORTION_SAMPLES = 1 << 10 };

/* What people call a function that linkers call `symbol`; the text stays until the next call. */
struct allo_namer {
	struct allo_text (*name)(void *context, struct allo_text symbol);
	void *context;
};

/* How samples of a processor's time are to be understood. */
struct allo_trace_options {
	const char *fields; /* names of the columns before a stack: "-,pid,tid"; NULL finds out */
	double frequency;   /* samples a second, where the file has no times; 0: 1000 */
	bool drops_modules; /* names are without their modules */
	const struct allo_namer *namer; /* may be NULL: symbols stay as they are */
};

struct allo_read_options {
	const char *from;   /* a reader's name; NULL finds it by the content */
	bool keep_accesses; /* DHAT's access counts, which are most of its files, are wanted too */
	bool leaves_addresses;          /* names that are stored in a recording are not wanted */
	const struct allo_drain *drain; /* may be NULL */
	const struct allo_view *view;   /* of a recording; may be NULL */
	bool by_thread; /* its samples are those of a thread each, and labelled so */
	bool wants_history;
	/* Samples of traces are wanted one by one, with their times, each thread's in the order of
	 * time, and not added up by stacks and labels. */
	bool wants_times;
	struct allo_trace_options trace;
	const struct allo_progress *progress; /* may be NULL */
	const struct allo_input_watch *watch; /* may be NULL */
};

struct allo_reader {
	const char *name;
	const char *title; /* one line */
	const char *about; /* paragraphs for the manual: what is read, and how */
	/* Judges by the first bytes (ALLO_HEAD_SIZE, or all there are). */
	enum allo_guess (*probe)(struct allo_text head);
	bool (*read)(struct allo_input *in, const struct allo_read_options *options,
		     struct allo_profile *profile, struct allo_error *err);
	/* For formats whose files come as a directory; NULL for the others. */
	bool (*probe_directory)(const char *path);
	bool (*read_directory)(const char *path, const struct allo_read_options *options,
			       struct allo_profile *profile, struct allo_error *err);
	bool is_binary; /* positions are bytes, not lines */
	/* What the format can provide; code outside the reader tests these, never the name. */
	bool has_rows;      /* individual allocations, not only sums */
	bool has_addresses; /* frames are addresses in modules and want symbols */
	bool has_times;     /* samples with times and threads: options.wants_times */
	bool has_views;     /* a part of the input can be read: options.view */
};

/* Hands the samples on if somebody takes portions and enough have come together. */
bool allo_reader_drain(const struct allo_read_options *options, struct allo_profile *profile,
		       struct allo_stack_builder *builder, struct allo_error *err);

#endif
