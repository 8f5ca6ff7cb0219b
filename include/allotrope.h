/*
 * allotrope.h - allocation profiles: read, walk, change, build and write them.
 *
 *     cc program.c $(pkg-config --cflags --libs allotrope)
 *
 * A profile is a set of samples; each sample has a stack, labels and one value per metric.  A
 * profile looks the same for every input format, and can be written in every output format.
 * doc/library.md is a tour; examples/ has small programs.
 *
 * Errors.  The last parameter of a function that can fail is the caller's `struct allotrope_error`;
 * it may be NULL.  The first error stays: a call with an error object that holds an error does
 * nothing and fails, so callers can make several calls and check once.  After an error the profile
 * is still valid, but a change to it may be incomplete.  The library never prints, exits or raises
 * signals, except for the SIGPIPE of write(2) to a closed pipe.
 *
 * Structs.  Set them to zero first ("= { 0 }"): zero means the default, unknown or none in all
 * fields.  `reserved` must stay zero, so that later versions can add fields.  A function that fills
 * a struct overwrites all of it.  Sizes and offsets never change within a major version.
 *
 * Strings end in NUL and are UTF-8 if the input was.  The library copies the strings it is given.
 * Strings that it returns belong to the profile and stay valid until the profile is freed.  They
 * are never NULL: "" means unknown.
 *
 * Ids are numbers from 1 to the respective count; 0 means none.  An id is valid in one profile only
 * and does not change when something is added to it.  Indexes of metrics, samples and comments
 * start at 0.  Dropping samples or metrics renumbers the rest; a filter also renumbers stacks.
 *
 * Threads.  The library has no global state: threads may use different profiles at the same time.
 * Several threads may use one profile through functions that take it as const.  Reading and
 * compressing may start more threads, which end before the call returns.
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

/* The version of the linked library ("0.1.0"), which may be newer than this header. */
const char *allotrope_version(void);

/* Frees memory that this library returned; NULL is allowed. */
void allotrope_free(void *memory);

/* Errors. */

enum allotrope_code {
	ALLOTROPE_OK = 0,
	ALLOTROPE_USAGE = 1,  /* invalid arguments or options */
	ALLOTROPE_IO = 2,     /* a system call failed */
	ALLOTROPE_FORMAT = 3, /* the input violates its format */
	ALLOTROPE_LIMIT = 4,  /* the input exceeds a limit of the library */
	ALLOTROPE_NOMEM = 5,
};

/* 1024 bytes; nothing to free.  All zeros: no error. */
struct allotrope_error {
	int code; /* enum allotrope_code */
	/* Position in the input; both count from 1, 0 is unknown.  `byte` counts from the start of
	 * the line.  In a binary format `line` is 0 and `byte` counts from the start. */
	uint64_t line, byte;
	char file[256]; /* may be empty; the end of the path, if it is longer */
	char message[256];
	char hint[192]; /* the next step; may be empty */
	unsigned char reserved[296];
};

/* "heap.json:3:14: message (hint)", cut to `room` bytes with its NUL.  Returns the full length. */
size_t allotrope_error_text(const struct allotrope_error *err, char *out, size_t room);

/* Formats. */

struct allotrope_format {
	const char *name;    /* "pprof": for `from` and `to` below */
	const char *title;   /* one line */
	const char *endings; /* file name extensions that select it: ".pb.gz .pprof .pb" */
	bool can_read, can_write;
	uint64_t reserved[4];
};

size_t allotrope_format_count(void);

/* By index, in alphabetical order.  False if the index is out of range. */
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
 * A new profile, which the caller frees; NULL on error.  Decompresses gzip and zstd.  `options` may
 * be NULL.  `name` is the file name in messages and may be NULL.  A descriptor is read from its
 * current position to its end and stays open.
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

/* A note about a problem or an oddity in the input that did not prevent reading it. */
struct allotrope_note {
	const char *name; /* "repeated-stack" */
	const char *text; /* completes "<count> ..." */
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
	const char *to;      /* a format's name; NULL: by the extension of the file name */
	const char *packing; /* "none", "gzip", "zstd"; NULL: by extension or format */
	const char *title;   /* of a drawing (default: made from the profile) */
	bool replace;        /* replace an existing file */
	bool fast;           /* compress faster and less tightly */
	bool strict;         /* fail if the format cannot hold all of the profile */
	uint64_t reserved[4];
};

/* The file appears under its name once it is complete, or not at all. */
bool allotrope_write_file(const struct allotrope_profile *profile, const char *path,
			  const struct allotrope_write_options *options,
			  struct allotrope_error *err);

/* `to` must be given.  The descriptor stays open; `name` is for messages and may be NULL. */
bool allotrope_write_fd(const struct allotrope_profile *profile, int fd, const char *name,
			const struct allotrope_write_options *options, struct allotrope_error *err);

/* `to` must be given.  Returns *len bytes and a NUL, which the caller frees with allotrope_free();
 * NULL on error. */
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
typedef bool (*allotrope_take_allocations)(void *context, const struct allotrope_profile *profile,
					   const struct allotrope_allocation *rows, size_t count);

/* Hands each allocation of a file to `take`.  Memory grows with the blocks that are live at once.
 * Stopping is not an error. */
bool allotrope_read_allocations(const char *path, const struct allotrope_read_options *options,
				allotrope_take_allocations take, void *context,
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
	const char *name;         /* valid during the call; "" if the event has no name */
	uint64_t reserved[2];
};

/* Takes events in the order of time.  Returns false to stop. */
typedef bool (*allotrope_take_events)(void *context, const struct allotrope_profile *profile,
				      const struct allotrope_event *events, size_t count);

/* Hands each event of a recording to `take`.  The profile has stacks and no samples. */
bool allotrope_read_events(const char *path, const struct allotrope_read_options *options,
			   allotrope_take_events take, void *context, struct allotrope_error *err);

/* A profile and its metadata. */

/* An empty profile, which the caller frees. */
struct allotrope_profile *allotrope_profile_new(struct allotrope_error *err);
void allotrope_profile_free(struct allotrope_profile *profile);

enum allotrope_clock {
	ALLOTROPE_CLOCK_NS = 0,
	ALLOTROPE_CLOCK_INSTRUCTIONS = 1,
	ALLOTROPE_CLOCK_OTHER = 2,
};

struct allotrope_meta {
	const char *format; /* of the input; cannot be set */
	const char *command, *producer;
	const char *period_type, *period_unit;           /* "space", "bytes" */
	const char *drop_frames, *keep_frames, *doc_url; /* as in pprof */
	uint64_t pid;
	int64_t start_ns;             /* since 1970, UTC */
	uint64_t duration, peak_time; /* by the clock; peak_time from the start */
	int64_t period;               /* sampling interval; 1: not sampled */
	enum allotrope_clock clock;
	uint32_t default_metric; /* index + 1; 0: no preference */
	uint64_t reserved[8];
};

/* To change a field, get the struct, change the field and set the struct. */
bool allotrope_get_meta(const struct allotrope_profile *profile, struct allotrope_meta *meta);
bool allotrope_set_meta(struct allotrope_profile *profile, const struct allotrope_meta *meta,
			struct allotrope_error *err);

size_t allotrope_comment_count(const struct allotrope_profile *profile);
/* NULL if the index is out of range. */
const char *allotrope_get_comment(const struct allotrope_profile *profile, size_t index);
bool allotrope_add_comment(struct allotrope_profile *profile, const char *text,
			   struct allotrope_error *err);
void allotrope_clear_comments(struct allotrope_profile *profile);

/* Metrics. */

struct allotrope_metric {
	const char *name, *unit;
	const char *meaning; /* its name in the table of doc/library.md; "": not in that table */
	const char *about;   /* describes the values: "live when recording ended" */
	bool is_additive;    /* sums over several stacks are meaningful */
	bool is_signed;      /* values may be negative: use signed_values */
	bool is_before;      /* in a comparison: the base's value of the next metric */
	uint64_t reserved[4];
};

size_t allotrope_metric_count(const struct allotrope_profile *profile);
bool allotrope_get_metric(const struct allotrope_profile *profile, size_t index,
			  struct allotrope_metric *metric);

/* The index of a metric by its name here, in pprof or in DHAT, or by its short name.  NULL finds
 * the default metric.  -1 on error. */
int allotrope_find_metric(const struct allotrope_profile *profile, const char *name,
			  struct allotrope_error *err);

/* The index of a new or equal existing metric; -1 on error.  A name of this library or of pprof
 * ("alloc_bytes", "alloc_space") with the right unit sets the meaning; the metric then has the
 * library's name.  Existing samples get the value 0. */
int allotrope_add_metric(struct allotrope_profile *profile, const char *name, const char *unit,
			 struct allotrope_error *err);

/* The sum over all samples; saturates on overflow. */
int64_t allotrope_sum(const struct allotrope_profile *profile, size_t metric);

/* Modules: files mapped into the process. */

struct allotrope_module {
	const char *path;
	const char *build_id;  /* in lower-case hex */
	uint64_t start, limit; /* addresses of the process, limit excluded; both 0: unknown */
	uint64_t offset;       /* of `start` in the file */
	/* Only to add one: the build id as bytes of the ELF note, instead of `build_id`. */
	const void *build_id_bytes;
	size_t build_id_size;
	uint64_t reserved[4];
};

size_t allotrope_module_count(const struct allotrope_profile *profile);
bool allotrope_get_module(const struct allotrope_profile *profile, allotrope_module_id id,
			  struct allotrope_module *module);

/*
 * The id of a new or equal existing module; 0 on error.  Add the program first: pprof treats the
 * first module as the program.  From now on addresses in the range belong to this module, even if
 * they belonged to another one before (dlclose(3), then dlopen(3)).
 */
allotrope_module_id allotrope_add_module(struct allotrope_profile *profile,
					 const struct allotrope_module *module,
					 struct allotrope_error *err);

/* Functions.  Two functions are equal if all fields are. */

struct allotrope_function {
	const char *name;        /* demangled */
	const char *system_name; /* the linker symbol */
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

/* Frames: places in the program's code.  A frame with inlined calls has several lines: the
 * innermost inlined function comes first, the function that contains the code last. */

struct allotrope_frame {
	/* Of the call (return address - 1), in the process, not in the file.  0: unknown. */
	uint64_t address;
	allotrope_module_id module; /* when adding: 0 finds it by the address */
	uint32_t line_count;        /* 0: unresolved; ignored when adding */
	bool is_folded;             /* the linker merged several functions with equal code */
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
/* 0 for the outermost caller. */
allotrope_stack_id allotrope_stack_parent(const struct allotrope_profile *profile,
					  allotrope_stack_id id);

/* All three take the leaf, the allocating function, first.  0 on error, and for no frames. */
allotrope_stack_id allotrope_add_stack_of_frames(struct allotrope_profile *profile,
						 const allotrope_frame_id *leaf_first, size_t count,
						 struct allotrope_error *err);

/* Runtime addresses of calls: subtract 1 from return addresses.  Looks up each address in the
 * modules added so far, and skips zeros. */
allotrope_stack_id allotrope_add_stack_of_addresses(struct allotrope_profile *profile,
						    const uint64_t *leaf_first, size_t count,
						    struct allotrope_error *err);

/* Gives names, files and lines to frames that have an address in a module and no lines, from the
 * module's file on this machine.  Only the options for names are used; `options` may be NULL.
 * Frames whose files are missing or of another build stay addresses, which is not an error. */
bool allotrope_add_names(struct allotrope_profile *profile,
			 const struct allotrope_read_options *options, struct allotrope_error *err);

/* A call in a stack. */
struct allotrope_call {
	const char *function, *system_name, *file;
	uint32_t start_line, line, column;
	bool is_inlined; /* into the next call of the stack: both are in one frame */
	bool is_folded;
	uint64_t address;           /* of the frame; when adding: that of its outermost call */
	allotrope_module_id module; /* likewise; 0 finds it by the address */
	uint64_t reserved[2];
};

allotrope_stack_id allotrope_add_stack_of_calls(struct allotrope_profile *profile,
						const struct allotrope_call *leaf_first,
						size_t count, struct allotrope_error *err);

/* Fills up to `most` calls, the leaf first.  Returns the number of calls in the stack. */
size_t allotrope_get_calls(const struct allotrope_profile *profile, allotrope_stack_id id,
			   struct allotrope_call *calls, size_t most);

/* Sets of labels. */

struct allotrope_label {
	const char *key;
	const char *text; /* NULL: the label is a number */
	const char *unit; /* of a number */
	int64_t number;
	uint64_t reserved[2];
};

size_t allotrope_label_count(const struct allotrope_profile *profile, allotrope_labels_id id);
bool allotrope_get_label(const struct allotrope_profile *profile, allotrope_labels_id id,
			 size_t index, struct allotrope_label *label);

/* The id of a new or equal existing set; 0 on error, and for no labels.  Writing pprof drops
 * numbers that are 0 and have no unit. */
allotrope_labels_id allotrope_add_labels(struct allotrope_profile *profile,
					 const struct allotrope_label *labels, size_t count,
					 struct allotrope_error *err);

/* Threads, in profiles whose samples have a time and a thread. */

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
	/* One value per metric.  A sample of a profile has both pointers set to the same row, which
	 * is valid until samples or metrics of the profile change.  When adding, `signed_values` is
	 * used if `values` is NULL. */
	const uint64_t *values;
	const int64_t *signed_values;
	size_t value_count;
	allotrope_stack_id stack;
	allotrope_labels_id labels;
	bool has_time; /* all samples of a profile have a time, or none has */
	allotrope_thread_id thread;
	uint64_t start_ns, duration_ns; /* from the profile's start */
	uint64_t reserved[4];
};

size_t allotrope_sample_count(const struct allotrope_profile *profile);
bool allotrope_get_sample(const struct allotrope_profile *profile, size_t index,
			  struct allotrope_sample *sample);

/* Adds the values to a sample with the same stack and labels, unless samples have a time. */
bool allotrope_add_sample(struct allotrope_profile *profile, const struct allotrope_sample *sample,
			  struct allotrope_error *err);

/* Replaces the values of a sample. */
bool allotrope_set_values(struct allotrope_profile *profile, size_t index, const uint64_t *values,
			  size_t count, struct allotrope_error *err);

/* Drops the samples for which `keep` returns false.  Calls it for all samples first. */
bool allotrope_keep_samples(struct allotrope_profile *profile,
			    bool (*keep)(void *context, const struct allotrope_profile *profile,
					 size_t index),
			    void *context, struct allotrope_error *err);

/* Drops all samples and stacks.  Frames, labels and threads stay. */
void allotrope_clear_samples(struct allotrope_profile *profile);

/* Changing a profile as a whole. */

/*
 * Lists of patterns end in NULL; a list may be NULL.  A pattern is a part of a name (case-sensitive
 * if it has an upper-case letter), =NAME for a whole name, or /REGEX/.  The prefix fn:, file: or
 * mod: restricts it to functions, files or modules.
 */
struct allotrope_filter {
	const char *const *focus;  /* keep samples whose stacks match all of these */
	const char *const *ignore; /* drop samples whose stacks match any */
	const char *const *hide;   /* remove frames that match any */
	const char *const *show;   /* remove frames that match none */
	bool trim_allocator;       /* remove malloc() and similar functions from the inner end */
	bool trim_startup;         /* remove _start() and similar functions from the outer end */
	uint32_t stack_depth;      /* number of innermost frames to keep; 0: all */
	uint64_t reserved[4];
};

bool allotrope_apply_filter(struct allotrope_profile *profile,
			    const struct allotrope_filter *filter, struct allotrope_error *err);

/* Keeps these metrics, in this order; the first becomes the default. */
bool allotrope_select_metrics(struct allotrope_profile *profile, const char *const *names,
			      size_t count, struct allotrope_error *err);

/* Adds the contents of `from`.  Metrics match by meaning, or by name and unit.  A pair of metrics
 * of a comparison matches only an equal pair. */
bool allotrope_merge(struct allotrope_profile *into, const struct allotrope_profile *from,
		     struct allotrope_error *err);

/* How frames of two profiles are matched. */
enum allotrope_match {
	ALLOTROPE_MATCH_FUNCTION = 0, /* function name and file name, without folders */
	ALLOTROPE_MATCH_LINE = 1,     /* also the line, which changes when code is edited */
	ALLOTROPE_MATCH_ADDRESS = 2,
};

/* A new profile, which the caller frees.  It has a pair of metrics, before and after, for each
 * metric that both have. */
struct allotrope_profile *allotrope_diff(const struct allotrope_profile *base,
					 const struct allotrope_profile *changed,
					 enum allotrope_match match, struct allotrope_error *err);

/* Checks every id, count and order.  The functions of this library keep profiles valid; this is for
 * tests. */
bool allotrope_validate(const struct allotrope_profile *profile, struct allotrope_error *err);

/* The largest functions, call sites, files or modules. */

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
	ALLOTROPE_ORDER_CHANGE = 2, /* in a comparison: the largest absolute change first */
};

struct allotrope_top_options {
	const char *metric; /* as for allotrope_find_metric(); NULL: the default one */
	enum allotrope_by by;
	enum allotrope_order order;
	bool keep_allocator; /* give malloc() and similar functions their rows */
	size_t most;         /* rows; 0: all */
	uint64_t reserved[4];
};

struct allotrope_row {
	const char *name;          /* of the function, file or module, or the address as text */
	const char *file, *module; /* if known and the same for the whole row */
	uint64_t line, address;
	int64_t self, total; /* of samples that end here; of samples that pass through */
	int64_t self_blocks, total_blocks; /* if the metric counts bytes of blocks */
	int64_t self_before, total_before; /* in a comparison: values of the base */
	uint64_t reserved[4];
};

/* *count rows, the largest first; NULL on error.  The caller frees them with allotrope_free()
 * before freeing the profile.  `options` may be NULL. */
struct allotrope_row *allotrope_top(const struct allotrope_profile *profile,
				    const struct allotrope_top_options *options, size_t *count,
				    struct allotrope_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
