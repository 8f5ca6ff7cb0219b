/*
 * profile.h - the data model: an allocation profile is a table of stacks with values.
 *
 * A profile owns everything in it.  It interns: each string, module, function, frame, stack and
 * label set is stored once and has an id, so equality is `==` on ids.  Id 0 is always "none" (the
 * empty string, the empty stack).  Ids follow the order of arrival: the same input gives the same
 * ids.
 *
 * Stacks form a trie: a stack is its innermost frame and the caller's stack.  Lists of frames are
 * leaf first (the allocating side), unless a comment says otherwise.
 *
 * Errors latch.  An adder that runs out of memory records it in `err` and returns 0, false or NULL;
 * ids of 0 are valid arguments of every adder.  So a reader can add strings, functions, frames and
 * stacks without looking, and check `err` once before it uses an id as an index.
 */
#ifndef ALLO_PROFILE_PROFILE_H
#define ALLO_PROFILE_PROFILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/metric.h"
#include "profile/notes.h"

typedef uint32_t allo_string_id;
typedef uint32_t allo_module_id;
typedef uint32_t allo_function_id;
typedef uint32_t allo_frame_id;
typedef uint32_t allo_stack_id;
typedef uint32_t allo_labels_id;
typedef uint32_t allo_thread_id;

/* A file that is mapped into the process: a program or a library. */
struct allo_module {
	uint64_t start, limit; /* addresses in the process, limit excluded; both 0 when unknown */
	uint64_t offset;       /* of `start` in the file */
	uint64_t bias;         /* process address minus the address in the file's own tables */
	bool has_bias;         /* `bias` is known */
	allo_string_id path, build_id; /* build id in lower-case hex */
	bool is_guessed;               /* start and limit are derived from the frames seen */
	/* Details that its frames have, for pprof. */
	bool has_functions, has_files, has_lines, has_inlines;
};

struct allo_function {
	allo_string_id name;        /* demangled */
	allo_string_id system_name; /* linkage name; 0 when unknown */
	allo_string_id file;
	uint32_t start_line;
};

/* A line of source code: of a call or of an allocation. */
struct allo_line {
	allo_function_id function;
	uint32_t line, column; /* 0 when unknown */
};

/* An address in the program's code.  Several lines mean inlining: the innermost function comes
 * first, the function that was called last. */
struct allo_frame {
	uint64_t address; /* of the call, not the return address; 0 when unknown */
	allo_module_id module;
	uint32_t first_line, line_count; /* in lines[]; none when the frame has no name */
	bool is_folded;                  /* identical code folding: several functions share it */
};

struct allo_stack {
	allo_stack_id parent; /* the caller's stack; always less than the stack's own id */
	allo_frame_id frame;
};

struct allo_label {
	int64_t number;
	allo_string_id key;
	allo_string_id text, unit; /* text of a string, unit of a number */
	uint32_t is_number;        /* uint32_t leaves no padding: labels are compared by memcmp() */
};

struct allo_label_set {
	uint32_t first, count; /* in labels[] */
};

struct allo_metric {
	enum allo_meaning meaning;
	allo_string_id name, unit;
	bool is_signed; /* values are two's complement: differences */
	bool is_before; /* in a comparison: the base value of the next metric */
};

struct allo_thread {
	uint64_t pid, tid;
	allo_string_id name, process_name;
};

/* Time and thread of a sample, in profiles that have them. */
struct allo_when {
	uint64_t start_ns, duration_ns; /* start_ns counts from the profile's start */
	allo_thread_id thread;
	/* 1 + the number of frames, from the root, whose calls continue from the thread's previous
	 * sample; the frames after them are new calls even if they are equal.  0 means unknown:
	 * assume that equal frames continue. */
	uint32_t going_on;
};

/* DHAT's access counts for each byte of a block, in DHAT's run-length encoding. */
struct allo_accesses {
	uint32_t first, count; /* in access_runs[]; none when count is 0 */
};

/* Size of the heap at one time. */
struct allo_level {
	uint64_t time;                    /* since the start, in the profile's clock */
	uint64_t live_bytes, live_blocks; /* live_blocks is 0 when only bytes are known */
};

/* A block that began or ended to be live. */
struct allo_block_change {
	uint64_t time;       /* since the start */
	int64_t bytes;       /* negative: it ended */
	uint64_t block;      /* the same number in both changes of a block, from 1; below 2^53 */
	uint64_t tid;        /* the thread that allocated or freed it; 0 if not known */
	allo_stack_id stack; /* that allocated it, in both */
};

enum allo_clock { ALLO_CLOCK_NONE, ALLO_CLOCK_NS, ALLO_CLOCK_INSTRUCTIONS };

/* The instant of a profile with live memory only. */
enum allo_instant_kind {
	ALLO_INSTANT_UNKNOWN, /* when the profile was taken */
	ALLO_INSTANT_PEAK,
	ALLO_INSTANT_END,
	ALLO_INSTANT_TIME,
};

/* The part of a recording that a profile is about.  All zeros: all of it. */
struct allo_part {
	bool of_thread, of_range;
	bool is_attached; /* without what the program had allocated before `allo attach` */
	enum allo_instant_kind instant;
	uint64_t instant_ns; /* of ALLO_INSTANT_TIME, since the start */
	size_t sum_of;       /* profiles that were added up; 0 and 1: only this one */
};

struct allo_meta {
	const char *format;     /* name of the reader; NULL for a profile built by calls */
	bool has_addresses;     /* frames are addresses in modules and need symbols */
	allo_string_id dialect; /* variant of the format */
	allo_string_id command, producer;
	allo_string_id mode, verb;               /* DHAT's, for writing it back */
	allo_string_id drop_frames, keep_frames; /* pprof's */
	allo_string_id doc_url;
	uint64_t pid;
	int64_t start_ns; /* since 1970, UTC; 0 when unknown */
	int64_t taken_ns; /* the moment of a snapshot of a running process, as start_ns; else 0 */
	enum allo_clock clock;
	uint64_t duration, peak_time, short_lived; /* in units of `clock`; 0 when unknown */
	bool has_short_lived;                      /* the producer stated it; it may be 0 */
	uint64_t run_ns; /* length of the whole recording; `duration` may be a part of it */
	bool has_unread_accesses; /* the input has access counts, and the reader skipped them */
	/* Sampling: type "space" with unit "bytes", or "allocations" with "count", and the sampling
	 * interval.  An interval above 1 means that values are estimates. */
	allo_string_id period_type, period_unit;
	int64_t period;
	size_t default_metric; /* index + 1; 0 when the producer names none */
	/* pprof calls the maxima of call sites inuse_*, as dhat-pprof does; otherwise only live
	 * memory has that name. */
	bool max_is_inuse;
	struct allo_part part;
};

/* All zeros is an empty profile. */
struct allo_profile {
	struct allo_meta meta;
	/* Samples are read and dropped in portions (see readers/reader.h).  Stacks are not interned
	 * then, which saves the lookups: equal stacks may be stored more than once. */
	bool is_portion;
	ALLO_VEC(struct allo_text) strings;
	ALLO_VEC(struct allo_module) modules;
	ALLO_VEC(struct allo_function) functions;
	ALLO_VEC(struct allo_line) lines;
	ALLO_VEC(struct allo_frame) frames;
	ALLO_VEC(struct allo_stack) stacks;
	ALLO_VEC(struct allo_label) labels;
	ALLO_VEC(struct allo_label_set) label_sets;
	ALLO_VEC(struct allo_thread) threads;
	ALLO_VEC(struct allo_metric) metrics; /* indexed from 0; the tables above have no entry 0 */
	ALLO_VEC(allo_string_id) comments;
	/* The heap over time, in time order; empty when unknown or not requested. */
	ALLO_VEC(struct allo_level) history;
	/* The same as single changes; also empty when unknown or not requested. */
	ALLO_VEC(struct allo_block_change) changes;

	/* Samples, by column. */
	ALLO_VEC(allo_stack_id) sample_stacks;
	ALLO_VEC(allo_labels_id) sample_labels;         /* empty when no sample has labels */
	ALLO_VEC(struct allo_when) sample_times;        /* empty when no sample has a time */
	ALLO_VEC(struct allo_accesses) sample_accesses; /* may be shorter: the rest has none */
	ALLO_VEC(uint64_t) values;                      /* a row of metrics.len per sample */
	ALLO_VEC(double) variances; /* of estimated values; may be shorter: the rest is 0 */
	ALLO_VEC(int32_t) access_runs;

	struct allo_notes notes;

	/* Private from here on. */
	struct allo_arena arena; /* the bytes of the strings */
	struct allo_map string_map, module_map, function_map, frame_map, stack_map, label_map,
		thread_map, labelled_map;
	ALLO_VEC(uint32_t) stack_hashes;  /* by stack, for the stacks that are in stack_map */
	ALLO_VEC(uint32_t) stack_samples; /* by stack: index + 1 of its unlabelled sample */
	uint64_t seed;
};

void allo_profile_done(struct allo_profile *profile);

/* Each returns the id of a new or an equal old entry; 0 on failure, and for an empty string. */
allo_string_id allo_profile_add_string(struct allo_profile *profile, struct allo_text text,
				       struct allo_error *err);
allo_module_id allo_profile_add_module(struct allo_profile *profile,
				       const struct allo_module *module, struct allo_error *err);
allo_function_id allo_profile_add_function(struct allo_profile *profile,
					   const struct allo_function *function,
					   struct allo_error *err);
allo_stack_id allo_profile_add_stack(struct allo_profile *profile, allo_stack_id parent,
				     allo_frame_id frame, struct allo_error *err);

/* Adds several frames, each called by the one before; `stacks` gets an id for each (0 on failure).
 * Much faster than one by one, since the lookups prefetch their memory. */
bool allo_profile_add_stacks(struct allo_profile *profile, allo_stack_id parent,
			     const allo_frame_id *frames, size_t count, allo_stack_id *stacks,
			     struct allo_error *err);

/* The same for stacks that the caller knows to be new: they get consecutive ids.  Returns the last
 * id, or 0 on failure. */
allo_stack_id allo_profile_append_stacks(struct allo_profile *profile, allo_stack_id parent,
					 const allo_frame_id *frames, size_t count,
					 struct allo_error *err);

allo_labels_id allo_profile_add_labels(struct allo_profile *profile,
				       const struct allo_label *labels, size_t count,
				       struct allo_error *err);
allo_thread_id allo_profile_add_thread(struct allo_profile *profile,
				       const struct allo_thread *thread, struct allo_error *err);

/* `frame` gives module, address and is_folded; `lines` gives its lines. */
allo_frame_id allo_profile_add_frame(struct allo_profile *profile, const struct allo_frame *frame,
				     const struct allo_line *lines, size_t line_count,
				     struct allo_error *err);

/* Sets the lines of a frame that has none, and updates its module.  Frames that are added later are
 * equal to it if they have these lines. */
bool allo_profile_set_lines(struct allo_profile *profile, allo_frame_id id,
			    const struct allo_line *lines, size_t line_count,
			    struct allo_error *err);

/* Adds a frame that has only a function name. */
allo_frame_id allo_profile_add_named_frame(struct allo_profile *profile, struct allo_text name,
					   struct allo_error *err);

bool allo_profile_add_comment(struct allo_profile *profile, struct allo_text text,
			      struct allo_error *err);

/* Adds a metric of metric.h; `unit` may be NULL where metric.h has one. */
bool allo_profile_add_metric(struct allo_profile *profile, enum allo_meaning meaning,
			     const char *unit, struct allo_error *err);
bool allo_profile_add_metric_like(struct allo_profile *profile, const struct allo_metric *metric,
				  struct allo_error *err);

/* The index of the first metric with that meaning. */
bool allo_profile_find_metric(const struct allo_profile *profile, enum allo_meaning meaning,
			      size_t *index);

/*
 * The row of values of the sample with this stack and these labels: a new one, all zeros, or the
 * existing one (`is_new`, unless NULL, tells which).  Adding samples moves rows.  NULL on failure.
 */
uint64_t *allo_profile_add_sample(struct allo_profile *profile, allo_stack_id stack,
				  allo_labels_id labels, bool *is_new, struct allo_error *err);

/* Adds `values`, one per metric, to the sample with this stack and these labels. */
bool allo_profile_add_values(struct allo_profile *profile, allo_stack_id stack,
			     allo_labels_id labels, const uint64_t *values, struct allo_error *err);

/* Adds a sample with a time; such samples are never merged. */
uint64_t *allo_profile_add_timed_sample(struct allo_profile *profile, allo_stack_id stack,
					allo_labels_id labels, const struct allo_when *when,
					struct allo_error *err);

/* Sets the access counts of the sample that was added last. */
bool allo_profile_set_accesses(struct allo_profile *profile, const int32_t *runs, size_t count,
			       struct allo_error *err);

/* Drops the samples whose entry in `kept` is false.  Stacks stay.  History and changes are
 * dropped with the first sample, since they cover all samples. */
void allo_profile_keep_samples(struct allo_profile *profile, const bool *kept);

/* Drops all samples and stacks; frames, strings and the rest stay. */
void allo_profile_clear_samples(struct allo_profile *profile);

/* Moves all samples and stacks to an empty profile; they still refer to ids of `from`. */
void allo_profile_move_samples(struct allo_profile *from, struct allo_profile *to);

/* The slow path of allo_profile_add_value(): a signed metric, or a value that overflowed. */
void allo_profile_add_slowly(struct allo_profile *profile, size_t metric, uint64_t *value,
			     uint64_t more);

/* Adds to a value.  On overflow it saturates, and the profile gets a note. */
static inline void allo_profile_add_value(struct allo_profile *profile, size_t metric,
					  uint64_t *value, uint64_t more)
{
	uint64_t sum;

	if (profile->metrics.at[metric].is_signed || __builtin_add_overflow(*value, more, &sum))
		allo_profile_add_slowly(profile, metric, value, more);
	else
		*value = sum;
}

/* Adds to the variance of an estimated value; `value` points into a row. */
bool allo_profile_add_variance(struct allo_profile *profile, const uint64_t *value, double more,
			       struct allo_error *err);

/* Converts another profile's value to the signedness of this profile's metric.  On overflow it
 * saturates, and the profile gets a note. */
uint64_t allo_profile_fit_value(struct allo_profile *profile, size_t metric,
				const struct allo_metric *from, uint64_t value);

/* Makes a metric signed; values that overflow saturate, and the profile gets a note. */
void allo_profile_make_signed(struct allo_profile *profile, size_t metric);

static inline struct allo_text allo_profile_text(const struct allo_profile *profile,
						 allo_string_id id)
{
	return id ? profile->strings.at[id] : (struct allo_text){ "", 0 };
}

static inline size_t allo_profile_sample_count(const struct allo_profile *profile)
{
	return profile->sample_stacks.len;
}

static inline const uint64_t *allo_profile_row(const struct allo_profile *profile, size_t sample)
{
	return profile->values.at + sample * profile->metrics.len;
}

/* 0 when unknown. */
static inline double allo_profile_variance(const struct allo_profile *profile, size_t sample,
					   size_t metric)
{
	size_t index = sample * profile->metrics.len + metric;

	return index < profile->variances.len ? profile->variances.at[index] : 0;
}

static inline allo_labels_id allo_profile_labels_of(const struct allo_profile *profile,
						    size_t sample)
{
	return profile->sample_labels.len ? profile->sample_labels.at[sample] : 0;
}

static inline struct allo_accesses allo_profile_accesses_of(const struct allo_profile *profile,
							    size_t sample)
{
	return sample < profile->sample_accesses.len ? profile->sample_accesses.at[sample]
						     : (struct allo_accesses){ 0 };
}

/* Seeds the profile's hashes; never 0. */
static inline uint64_t allo_profile_seed(struct allo_profile *profile)
{
	if (profile->seed == 0)
		profile->seed = allo_hash_seed() | 1;
	return profile->seed;
}

/* Whether the values are estimates from sampled allocations. */
bool allo_profile_is_estimated(const struct allo_profile *profile);

/* The same for one metric: the program's own events are never sampled. */
bool allo_profile_estimates(const struct allo_profile *profile, size_t metric);

/* Fails unless every id, count and order is as described above. */
bool allo_profile_validate(const struct allo_profile *profile, struct allo_error *err);

/* Index of the metric that matches another profile's by meaning or name, and by unit; metrics.len
 * if there is none. */
size_t allo_profile_find_like(const struct allo_profile *profile, const struct allo_profile *from,
			      size_t metric);

/* Adds all contents of `from`. */
bool allo_profile_merge(struct allo_profile *into, const struct allo_profile *from,
			struct allo_error *err);

/* The same, and adds a label to each sample, which names its origin. */
bool allo_profile_merge_labelled(struct allo_profile *into, const struct allo_profile *from,
				 struct allo_text key, struct allo_text value,
				 struct allo_error *err);

#endif
