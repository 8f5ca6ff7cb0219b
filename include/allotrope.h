/*
 * allotrope.h - allocation profiles: read, walk, change, build and write them.
 *
 *     cc program.c $(pkg-config --cflags --libs allotrope)
 *
 * A profile is stacks with numbers: each sample has a stack, labels and one value a metric.
 * Whatever format it came from, it looks the same here, and it can be written in any other.
 * doc/library.md is a tour; examples/ has small programs.
 *
 * Failures.  Whatever can fail takes a `struct allotrope_error` of the caller's last; NULL is
 * allowed for those who only want to know whether it worked.  The first failure stays: a call that
 * is given an error object with a failure in it does nothing and fails, so several calls can be
 * made and looked at once.  After a failure a profile is still valid; it may hold a part of what
 * was to be done to it.  Nothing here prints, exits or raises signals, but for the SIGPIPE that
 * write(2) to a closed pipe raises.
 *
 * Structs.  Set them to zero first ("= { 0 }"): in all of them zero means the default, unknown or
 * none, and `reserved` must stay zero, so that fields can be added without breaking programs.  A
 * struct that a function fills is overwritten whole.  Sizes and offsets never change within a major
 * version.
 *
 * Strings end in NUL and are UTF-8 where the input was.  Those given are copied.  Those got belong
 * to the profile and stay until it is freed, whatever else is done to it; they are never NULL: ""
 * is unknown.
 *
 * Ids are numbers from 1 to the respective count; 0 is none.  They mean nothing in another profile
 * and stay when something is added to their own.  Metrics, samples and comments are counted from 0
 * instead.  What is left after dropping samples or metrics is counted anew; a filter does that to
 * stacks, too.
 *
 * Threads.  There is no global state: different profiles may be used at the same time.  So may one,
 * by functions that take it as const.  Reading and packing may use further threads, which are gone
 * when the call returns.
 */
#ifndef ALLOTROPE_H
#define ALLOTROPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct allotrope_profile;

typedef uint32_t allotrope_module_id;
typedef uint32_t allotrope_function_id;
typedef uint32_t allotrope_frame_id;
typedef uint32_t allotrope_stack_id;
typedef uint32_t allotrope_labels_id;
typedef uint32_t allotrope_thread_id;

/* "0.1.0": of the library that is linked, which may be newer than this header. */
const char *allotrope_version(void);

/* Gives back what a function of this library says is to be freed; NULL is fine. */
void allotrope_free(void *memory);

/* Failures. */

enum allotrope_code {
	ALLOTROPE_OK = 0,
	ALLOTROPE_USAGE = 1,  /* the caller asked for something that makes no sense */
	ALLOTROPE_IO = 2,     /* the operating system said no */
	ALLOTROPE_FORMAT = 3, /* the input is not what it claims to be */
	ALLOTROPE_LIMIT = 4,  /* more than can be held */
	ALLOTROPE_NOMEM = 5,
};

/* 1024 bytes on the caller's stack, which need no freeing.  All zeros: nothing has failed. */
struct allotrope_error {
	int code; /* enum allotrope_code */
	/* Where in the input: both count from 1, `line` is 0 in a binary format and `byte` is that
	 * of the line, or of the file where there are no lines.  0: nowhere in particular. */
	uint64_t line, byte;
	char file[256]; /* may be empty; the front of a longer name is left out */
	char message[256];
	char hint[192]; /* what to do next; may be empty */
	unsigned char reserved[296];
};

/* "heap.json:3:14: message (hint)", cut to `room` bytes with its NUL.  Returns its whole length. */
size_t allotrope_error_text(const struct allotrope_error *err, char *out, size_t room);

/* Formats. */

struct allotrope_format {
	const char *name;    /* "pprof": for `from` and `to` below */
	const char *title;   /* one line */
	const char *endings; /* of file names, by which writing chooses it: ".pb.gz .pprof .pb" */
	bool can_read, can_write;
	uint64_t reserved[4];
};

size_t allotrope_format_count(void);

/* By index, in alphabetical order.  False when there is none. */
bool allotrope_get_format(size_t index, struct allotrope_format *format);

/* Reading. */

struct allotrope_read_options {
	const char *from; /* a format's name; NULL: detected from the content */
	/* Called from time to time with the bytes read so far; `total` is 0 if it is unknown. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	bool keep_accesses; /* DHAT's counts of accesses, large and kept by DHAT files only */
	bool keep_history;  /* the heap over time, kept by massif and firefox files only */

	/* Recordings only: a part of one.  Times are given as text: "2s", "300ms". */
	const char *range;  /* "2s..5s", "300ms..", or between two marks: "load..serve" */
	const char *at;     /* live memory at one instant: "peak", "end", a time or a mark */
	const char *thread; /* allocations of one thread, by its number or name */

	/* Recordings only: names for frames. */
	bool no_symbols;               /* leave frames as addresses */
	bool no_cache;                 /* do not use or fill the user's cache */
	const char *const *debug_dirs; /* more directories with debug files; NULL ends */
	const char *sysroot;           /* the root directory of the recorded machine */
	uint64_t reserved[8];
};

/*
 * A new profile, to be freed; NULL at failure.  Input that is packed (gzip, zstd) is unpacked.
 * `options` may be NULL.  `name` stands for a file in messages and may be NULL.  A descriptor is
 * read from where it stands to its end and stays open.
 */
struct allotrope_profile *allotrope_read_file(const char *path,
					      const struct allotrope_read_options *options,
					      struct allotrope_error *err);
struct allotrope_profile *allotrope_read_fd(int fd, const char *name,
					    const struct allotrope_read_options *options,
					    struct allotrope_error *err);
struct allotrope_profile *allotrope_read_memory(const void *data, size_t len, const char *name,
						const struct allotrope_read_options *options,
						struct allotrope_error *err);

/* What was odd about the input without keeping it from being read. */
struct allotrope_note {
	const char *name; /* "repeated-stack" */
	const char *what; /* completes "<count> ..." */
	const char *consequence;
	uint64_t count;
	uint64_t line, byte; /* of the first one, as in an error */
	bool is_problem;     /* other programs may refuse the file or show it wrongly */
	uint64_t reserved[4];
};

size_t allotrope_note_count(const struct allotrope_profile *profile);
bool allotrope_get_note(const struct allotrope_profile *profile, size_t index,
			struct allotrope_note *note);

/* Writing. */

struct allotrope_write_options {
	const char *to;      /* a format's name; NULL: by the ending of the file's name */
	const char *packing; /* "none", "gzip", "zstd"; NULL: by the ending, else what is usual */
	const char *title;   /* of a drawing; NULL: one is made up */
	bool replace;        /* an existing file may be replaced */
	bool fast;           /* packs less tightly in less time */
	bool strict;         /* fails rather than leaving out what the format cannot hold */
	uint64_t reserved[4];
};

/* The file appears under its name when it is finished, whole, or not at all. */
bool allotrope_write_file(const struct allotrope_profile *profile, const char *path,
			  const struct allotrope_write_options *options,
			  struct allotrope_error *err);

/* `to` must be given.  The descriptor stays open; `name` is for messages and may be NULL. */
bool allotrope_write_fd(const struct allotrope_profile *profile, int fd, const char *name,
			const struct allotrope_write_options *options, struct allotrope_error *err);

/* `to` must be given.  Returns what was written, to be freed with allotrope_free(), with a NUL
 * behind its *len bytes; NULL at failure. */
char *allotrope_write_memory(const struct allotrope_profile *profile,
			     const struct allotrope_write_options *options, size_t *len,
			     struct allotrope_error *err);

/* Reads one file and writes another.  Both options may be NULL.  Formats that allow it are
 * streamed: memory does not grow with the input. */
bool allotrope_convert(const char *input, const char *output,
		       const struct allotrope_read_options *reading,
		       const struct allotrope_write_options *writing, struct allotrope_error *err);

/* Individual allocations and events, of files that have them: recordings, and rheaper's. */

/* The free time of a block that was never freed. */
#define ALLOTROPE_NEVER INT64_MAX

/* Times are nanoseconds since the start.  Ids refer to the profile; 0 is unknown. */
struct allotrope_allocation {
	uint64_t alloc_ns;
	uint64_t free_ns; /* or ALLOTROPE_NEVER */
	uint64_t size;
	uint64_t address;  /* 0: unknown, as in packed recordings */
	uint64_t first_ns; /* when the first block of a chain of reallocs was allocated */
	double weight;     /* blocks that this one represents; 1 unless the recording is sampled */
	allotrope_stack_id stack;
	allotrope_stack_id first_stack; /* of the first block of a chain of reallocs */
	allotrope_thread_id alloc_thread, free_thread;
	allotrope_labels_id labels;
	bool is_resized;   /* a realloc of another block made it */
	bool ends_resized; /* a realloc ended it */
	bool is_temporary; /* its thread freed it before allocating again */
	uint64_t reserved[2];
};

/* Takes rows in batches, in the order in which blocks end; live blocks come last.  Returns false to
 * stop.  The profile belongs to the call and has the stacks, threads, labels and sums. */
typedef bool allotrope_take_allocations(void *context, const struct allotrope_profile *profile,
					const struct allotrope_allocation *rows, size_t count);

/* Hands each allocation of a file to `take`.  Memory grows with the blocks that are live at once.
 * Stopping is not a failure. */
bool allotrope_read_allocations(const char *path, const struct allotrope_read_options *options,
				allotrope_take_allocations *take, void *context,
				struct allotrope_error *err);

enum allotrope_event_kind {
	ALLOTROPE_EVENT_ALLOC = 0,
	ALLOTROPE_EVENT_FREE = 1,
	ALLOTROPE_EVENT_REALLOC = 2,        /* `old_block` became `block` */
	ALLOTROPE_EVENT_REALLOC_FAILED = 3, /* `block` stays as it is */
	ALLOTROPE_EVENT_MARK = 4,           /* `name` is set by the program */
	ALLOTROPE_EVENT_OWN = 5,            /* the program's: `size` units, perhaps with a name */
};

struct allotrope_event {
	uint64_t ns; /* since the start */
	enum allotrope_event_kind kind;
	uint32_t tid;
	/* Identify blocks: addresses in raw recordings, numbers without a meaning in packed ones; 0
	 * is unknown. */
	uint64_t block, old_block;
	uint64_t size;
	allotrope_stack_id stack; /* of the profile; 0: unknown */
	const char *name;         /* valid during the call; "" if there is none */
	uint64_t reserved[2];
};

/* Takes events in the order of time.  Returns false to stop. */
typedef bool allotrope_take_events(void *context, const struct allotrope_profile *profile,
				   const struct allotrope_event *events, size_t count);

/* Hands each event of a recording to `take`.  The profile has stacks and no samples. */
bool allotrope_read_events(const char *path, const struct allotrope_read_options *options,
			   allotrope_take_events *take, void *context, struct allotrope_error *err);

/* A profile and what is said about it as a whole. */

/* An empty profile, to be freed. */
struct allotrope_profile *allotrope_profile_new(struct allotrope_error *err);
void allotrope_profile_free(struct allotrope_profile *profile);

enum allotrope_clock {
	ALLOTROPE_CLOCK_NS = 0,
	ALLOTROPE_CLOCK_INSTRUCTIONS = 1,
	ALLOTROPE_CLOCK_OTHER = 2,
};

struct allotrope_meta {
	const char *format; /* that it was read from; cannot be set */
	const char *command, *producer;
	const char *period_type, *period_unit;           /* "space", "bytes" */
	const char *drop_frames, *keep_frames, *doc_url; /* pprof's */
	uint64_t pid;
	int64_t start_ns;             /* since 1970, UTC */
	uint64_t duration, peak_time; /* by the clock; peak_time from the start */
	int64_t period;               /* units that a sample stands for; 1: nothing was left out */
	enum allotrope_clock clock;
	uint32_t default_metric; /* index + 1; 0: no preference */
	uint64_t reserved[8];
};

/* To change a part: get it, change that, set it. */
bool allotrope_get_meta(const struct allotrope_profile *profile, struct allotrope_meta *meta);
bool allotrope_set_meta(struct allotrope_profile *profile, const struct allotrope_meta *meta,
			struct allotrope_error *err);

size_t allotrope_comment_count(const struct allotrope_profile *profile);
/* NULL when there is none. */
const char *allotrope_get_comment(const struct allotrope_profile *profile, size_t index);
bool allotrope_add_comment(struct allotrope_profile *profile, const char *text,
			   struct allotrope_error *err);
void allotrope_clear_comments(struct allotrope_profile *profile);

/* Metrics. */

struct allotrope_metric {
	const char *name, *unit;
	const char *meaning; /* its name in doc/library.md's vocabulary; "": the producer's own */
	const char *about;   /* completes "what was ..." */
	bool is_additive;    /* whether values of several stacks add up to something true */
	bool is_signed;      /* values may be negative: use signed_values */
	bool is_before;      /* the next metric's value in the base of a comparison */
	uint64_t reserved[4];
};

size_t allotrope_metric_count(const struct allotrope_profile *profile);
bool allotrope_get_metric(const struct allotrope_profile *profile, size_t index,
			  struct allotrope_metric *metric);

/* The index of the metric that goes by this name: our own, pprof's, DHAT's or a short one.  NULL
 * asks for the one to show when none is named.  -1 at failure. */
int allotrope_find_metric(const struct allotrope_profile *profile, const char *name,
			  struct allotrope_error *err);

/* The index of a new or equal old metric, -1 at failure.  Names that we or pprof have for something
 * ("alloc_bytes", "alloc_space") get its meaning and our name, if the unit fits.  Samples that are
 * there get the value 0. */
int allotrope_add_metric(struct allotrope_profile *profile, const char *name, const char *unit,
			 struct allotrope_error *err);

/* The sum over all samples; what does not fit is cut to the largest number. */
int64_t allotrope_sum(const struct allotrope_profile *profile, size_t metric);

/* Modules: files mapped into the process. */

struct allotrope_module {
	const char *path;
	const char *build_id;  /* in lower-case hex */
	uint64_t start, limit; /* addresses of the process, limit excluded; both 0: unknown */
	uint64_t offset;       /* of `start` in the file */
	/* To add one: the build id as bytes instead, as the ELF note has it. */
	const void *build_id_bytes;
	size_t build_id_size;
	uint64_t reserved[4];
};

size_t allotrope_module_count(const struct allotrope_profile *profile);
bool allotrope_get_module(const struct allotrope_profile *profile, allotrope_module_id id,
			  struct allotrope_module *module);

/*
 * The id of a new or equal old module; 0 at failure.  Add the program itself first: pprof takes the
 * first one for it.  From now on addresses in the range belong to this module, even if an earlier
 * one had been there (dlclose(3), then dlopen(3)).
 */
allotrope_module_id allotrope_add_module(struct allotrope_profile *profile,
					 const struct allotrope_module *module,
					 struct allotrope_error *err);

/* Functions, told apart by all of these. */

struct allotrope_function {
	const char *name;        /* for people */
	const char *system_name; /* as linkers know it */
	const char *file;
	uint32_t start_line;
	uint64_t reserved[2];
};

size_t allotrope_function_count(const struct allotrope_profile *profile);
bool allotrope_get_function(const struct allotrope_profile *profile, allotrope_function_id id,
			    struct allotrope_function *function);
allotrope_function_id allotrope_add_function(struct allotrope_profile *profile,
					     const struct allotrope_function *function,
					     struct allotrope_error *err);

/* Frames: places in the program's code.  Several lines mean inlining, the innermost function first,
 * the one that was really called last. */

struct allotrope_frame {
	/* In the process, not in the file; of the call: a return address less 1.  0: unknown. */
	uint64_t address;
	allotrope_module_id module; /* to add one: 0 finds it by the address */
	uint32_t line_count;        /* 0: no name is known; not used to add one */
	bool is_folded;             /* other functions have the same code, too */
	uint64_t reserved[2];
};

struct allotrope_line {
	allotrope_function_id function;
	uint32_t line, column;
	uint32_t reserved;
};

size_t allotrope_frame_count(const struct allotrope_profile *profile);
bool allotrope_get_frame(const struct allotrope_profile *profile, allotrope_frame_id id,
			 struct allotrope_frame *frame);
bool allotrope_get_line(const struct allotrope_profile *profile, allotrope_frame_id id,
			size_t index, struct allotrope_line *line);
allotrope_frame_id allotrope_add_frame(struct allotrope_profile *profile,
				       const struct allotrope_frame *frame,
				       const struct allotrope_line *lines, size_t line_count,
				       struct allotrope_error *err);

/* Stacks: the innermost frame and the stack of the caller. */

size_t allotrope_stack_count(const struct allotrope_profile *profile);
allotrope_frame_id allotrope_stack_frame(const struct allotrope_profile *profile,
					 allotrope_stack_id id);
/* 0 beyond the outermost caller. */
allotrope_stack_id allotrope_stack_parent(const struct allotrope_profile *profile,
					  allotrope_stack_id id);

/* All of these list the leaf first: the allocating side.  0 at failure, and for no frames. */
allotrope_stack_id allotrope_add_stack_of_frames(struct allotrope_profile *profile,
						 const allotrope_frame_id *leaf_first, size_t count,
						 struct allotrope_error *err);

/* Runtime addresses of calls: take 1 off return addresses.  Each is looked up among the modules
 * that have been added so far; those that are 0 are left out. */
allotrope_stack_id allotrope_add_stack_of_addresses(struct allotrope_profile *profile,
						    const uint64_t *leaf_first, size_t count,
						    struct allotrope_error *err);

/* A call in a stack, with all that is known of it. */
struct allotrope_call {
	const char *function, *system_name, *file;
	uint32_t start_line, line, column;
	bool is_inlined; /* into the next call of the stack: both are in one frame */
	bool is_folded;
	uint64_t address; /* of the frame; to add one, that of its outermost call counts */
	allotrope_module_id module; /* the same; 0 finds it by the address */
	uint64_t reserved[2];
};

allotrope_stack_id allotrope_add_stack_of_calls(struct allotrope_profile *profile,
						const struct allotrope_call *leaf_first,
						size_t count, struct allotrope_error *err);

/* Fills up to `most` calls, the leaf first.  Returns how many the stack has. */
size_t allotrope_get_calls(const struct allotrope_profile *profile, allotrope_stack_id id,
			   struct allotrope_call *calls, size_t most);

/* Sets of labels. */

struct allotrope_label {
	const char *key;
	const char *text; /* NULL, even when got: the label is a number */
	const char *unit; /* of a number */
	int64_t number;
	uint64_t reserved[2];
};

size_t allotrope_label_count(const struct allotrope_profile *profile, allotrope_labels_id id);
bool allotrope_get_label(const struct allotrope_profile *profile, allotrope_labels_id id,
			 size_t index, struct allotrope_label *label);

/* The id of a new or equal old set; 0 at failure, and for no labels.  pprof drops numbers that are
 * 0 and have no unit. */
allotrope_labels_id allotrope_add_labels(struct allotrope_profile *profile,
					 const struct allotrope_label *labels, size_t count,
					 struct allotrope_error *err);

/* Threads, of profiles that know when and where each sample was taken. */

struct allotrope_thread {
	const char *name;
	uint64_t pid, tid;
	uint64_t reserved[2];
};

size_t allotrope_thread_count(const struct allotrope_profile *profile);
bool allotrope_get_thread(const struct allotrope_profile *profile, allotrope_thread_id id,
			  struct allotrope_thread *thread);
allotrope_thread_id allotrope_add_thread(struct allotrope_profile *profile,
					 const struct allotrope_thread *thread,
					 struct allotrope_error *err);

/* Samples. */

struct allotrope_sample {
	/* One value a metric.  When got, both are the same row, which stays until samples or
	 * metrics of the profile change.  To add one, `signed_values` counts where `values` is
	 * NULL. */
	const uint64_t *values;
	const int64_t *signed_values;
	size_t value_count;
	allotrope_stack_id stack;
	allotrope_labels_id labels;
	bool has_time; /* either all samples of a profile have one, or none */
	allotrope_thread_id thread;
	uint64_t start_ns, duration_ns; /* from the profile's start */
	uint64_t reserved[4];
};

size_t allotrope_sample_count(const struct allotrope_profile *profile);
bool allotrope_get_sample(const struct allotrope_profile *profile, size_t index,
			  struct allotrope_sample *sample);

/* Values of samples with equal stacks and labels are added up, unless they have a time. */
bool allotrope_add_sample(struct allotrope_profile *profile, const struct allotrope_sample *sample,
			  struct allotrope_error *err);

/* Replaces the values of a sample. */
bool allotrope_set_values(struct allotrope_profile *profile, size_t index, const uint64_t *values,
			  size_t count, struct allotrope_error *err);

/* Drops the samples for which `keep` says false.  All are asked about before the first one goes. */
bool allotrope_keep_samples(struct allotrope_profile *profile,
			    bool (*keep)(void *context, const struct allotrope_profile *profile,
					 size_t index),
			    void *context, struct allotrope_error *err);

/* Drops all samples and stacks.  What they referred to stays, for the next ones. */
void allotrope_clear_samples(struct allotrope_profile *profile);

/* Changing a profile as a whole. */

/*
 * Lists of patterns end in NULL; a list may be NULL itself.  A pattern is a part of a name (an
 * upper-case letter makes it tell cases apart), =NAME for a whole name or /REGEX/; fn:, file: or
 * mod: in front looks at functions, files or modules only.
 */
struct allotrope_filter {
	const char *const *focus;  /* keeps samples whose stacks match all of these */
	const char *const *ignore; /* drops samples whose stacks match any */
	const char *const *hide;   /* takes frames that match any out of all stacks */
	const char *const *show;   /* takes frames that match none out of all stacks */
	bool trim_allocator;       /* takes malloc() and its like off the inner end */
	bool trim_startup;         /* takes _start() and its like off the outer end */
	uint32_t stack_depth;      /* keeps so many frames, the innermost ones; 0: all */
	uint64_t reserved[4];
};

bool allotrope_apply_filter(struct allotrope_profile *profile,
			    const struct allotrope_filter *filter, struct allotrope_error *err);

/* Keeps these metrics, in this order; the first becomes the default. */
bool allotrope_select_metrics(struct allotrope_profile *profile, const char *const *names,
			      size_t count, struct allotrope_error *err);

/* Adds all that `from` holds.  Metrics are matched by meaning, or by name and unit; those of a
 * comparison only with all of the same. */
bool allotrope_merge(struct allotrope_profile *into, const struct allotrope_profile *from,
		     struct allotrope_error *err);

/* What makes frames of two profiles equal. */
enum allotrope_match {
	ALLOTROPE_MATCH_FUNCTION = 0, /* name and file, folders aside */
	ALLOTROPE_MATCH_LINE = 1,     /* also the line, which moves when code is edited */
	ALLOTROPE_MATCH_ADDRESS = 2,
};

/* A new profile, to be freed: the metrics that both have, each as a pair, before and after. */
struct allotrope_profile *allotrope_diff(const struct allotrope_profile *base,
					 const struct allotrope_profile *changed,
					 enum allotrope_match match, struct allotrope_error *err);

/* Whether every id, count and order is as it should be.  All functions here see to that; this is
 * for the tests of those who doubt it. */
bool allotrope_validate(const struct allotrope_profile *profile, struct allotrope_error *err);

/* What holds most. */

enum allotrope_by {
	ALLOTROPE_BY_FUNCTION = 0,
	ALLOTROPE_BY_SITE = 1, /* a line of a function */
	ALLOTROPE_BY_FILE = 2,
	ALLOTROPE_BY_MODULE = 3,
	ALLOTROPE_BY_ADDRESS = 4,
};

enum allotrope_order {
	ALLOTROPE_ORDER_SELF = 0,
	ALLOTROPE_ORDER_TOTAL = 1,
	ALLOTROPE_ORDER_CHANGE = 2, /* of a comparison: the largest change either way first */
};

struct allotrope_top_options {
	const char *metric; /* as for allotrope_find_metric(); NULL: the default one */
	enum allotrope_by by;
	enum allotrope_order order;
	bool keep_allocator; /* malloc() and its like are rows, too, not a part of their callers */
	size_t most;         /* rows; 0: all */
	uint64_t reserved[4];
};

struct allotrope_row {
	const char *name;          /* of the function, file or module, or made up of the address */
	const char *file, *module; /* where known and the same for the whole row */
	uint64_t line, address;
	int64_t self, total;               /* of samples that end here, and that pass through */
	int64_t self_blocks, total_blocks; /* where the metric is bytes that come in blocks */
	int64_t self_before, total_before; /* of a comparison */
	uint64_t reserved[4];
};

/* *count rows, the largest first, to be freed with allotrope_free() before the profile is; NULL at
 * failure.  `options` may be NULL. */
struct allotrope_row *allotrope_top(const struct allotrope_profile *profile,
				    const struct allotrope_top_options *options, size_t *count,
				    struct allotrope_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
