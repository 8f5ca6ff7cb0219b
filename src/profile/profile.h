/*
 * profile.h - an allocation profile: stacks with numbers.
 *
 * A profile owns all it holds.  Each string, module, function, frame, stack and label set is stored
 * once and known by an id, so that equality is `==`; id 0 is always "none" (the empty string, the
 * empty stack).  Ids are given in the order of arrival: the same input gives the same ids.
 *
 * Stacks are a trie: each is its innermost frame and the stack of the caller.  Formats that list
 * frames list them leaf first (the allocating side), unless they say otherwise.
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

/* A file mapped into the process: a program, a library. */
struct allo_module {
	uint64_t start, limit; /* addresses of the process, limit excluded; both 0 when unknown */
	uint64_t offset;       /* of `start` in the file */
	uint64_t bias;         /* an address less this is the one that the file's own tables have */
	bool has_bias;         /* it is known */
	allo_string_id path, build_id; /* build id in lower-case hex */
	bool is_guessed;               /* start and limit are around the addresses that were seen */
	/* What its frames have been given already, as pprof wants to know. */
	bool has_functions, has_files, has_lines, has_inlines;
};

struct allo_function {
	allo_string_id name;        /* for people */
	allo_string_id system_name; /* as linkers know it; 0 when not known */
	allo_string_id file;
	uint32_t start_line;
};

/* A line of source: where a function called on, or allocated. */
struct allo_line {
	allo_function_id function;
	uint32_t line, column; /* 0 when not known */
};

/* A place in the program's code.  Several lines mean inlining: the innermost function first, the
 * one that was really called last. */
struct allo_frame {
	uint64_t address; /* of the call, not of the return; 0 when not known */
	allo_module_id module;
	uint32_t first_line, line_count; /* in lines[]; none when the frame has no name */
	bool is_folded;                  /* other functions have the same code, too */
};

struct allo_stack {
	allo_stack_id parent; /* the caller's; always smaller than the stack's own id */
	allo_frame_id frame;
};

struct allo_label {
	int64_t number;
	allo_string_id key;
	allo_string_id text, unit; /* of a string, of a number */
	uint32_t is_number;        /* as wide as an id: the struct is compared by its bytes */
};

struct allo_label_set {
	uint32_t first, count; /* in labels[] */
};

struct allo_metric {
	enum allo_meaning meaning;
	allo_string_id name, unit;
	bool is_signed; /* values are two's complement: differences */
	bool is_before; /* the next metric's value in the base of a comparison: the two are a pair
			 */
};

struct allo_thread {
	uint64_t pid, tid;
	allo_string_id name, process_name;
};

/* When a sample was taken, for profiles that know. */
struct allo_when {
	uint64_t start_ns, duration_ns; /* start from the profile's own start */
	allo_thread_id thread;
	/* Frames, counted from the root, whose calls go on from the thread's sample before, and 1:
	 * those behind them are calls of their own even where the frames are equal.  0: as many go
	 * on as are equal, which is all that samples can tell. */
	uint32_t going_on;
};

/* DHAT's access counts, byte by byte of a block, run-length coded as DHAT has them. */
struct allo_accesses {
	uint32_t first, count; /* in access_runs[]; none when count is 0 */
};

/* What was live at a moment. */
struct allo_level {
	uint64_t time;                    /* by the clock of the profile, from its start */
	uint64_t live_bytes, live_blocks; /* blocks are 0 where only bytes are known */
};

enum allo_clock { ALLO_CLOCK_NONE, ALLO_CLOCK_NS, ALLO_CLOCK_INSTRUCTIONS };

struct allo_meta {
	const char *format;     /* the reader's name; NULL for a profile that was built */
	bool has_addresses;     /* frames are addresses in modules and want symbols */
	allo_string_id dialect; /* what kind of that format */
	allo_string_id command, producer;
	allo_string_id mode, verb;               /* DHAT's, kept for writing it again */
	allo_string_id drop_frames, keep_frames; /* pprof's */
	allo_string_id doc_url;
	uint64_t pid;
	int64_t start_ns; /* since 1970, UTC; 0 when not known */
	enum allo_clock clock;
	uint64_t duration, peak_time, short_lived; /* by the clock; 0 when not known */
	bool has_short_lived;                      /* the producer stated it; it may be 0 */
	uint64_t run_ns;          /* how long the process was recorded, of which it may be a part */
	bool has_unread_accesses; /* the input counts accesses, which nobody has asked for */
	/* What was sampled: "space" in "bytes", or "allocations" in "count", one in so many.  More
	 * than 1 says that values are estimates of all there was. */
	allo_string_id period_type, period_unit;
	int64_t period;
	size_t default_metric; /* index + 1; 0 when the producer had no preference */
};

/* All zeros is an empty profile. */
struct allo_profile {
	struct allo_meta meta;
	/* Samples come and go in portions (see readers/reader.h): stacks that are not next to each
	 * other may be stored more than once, which saves looking for equal ones. */
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
	ALLO_VEC(struct allo_metric) metrics; /* indexed from 0, unlike the tables above */
	ALLO_VEC(allo_string_id) comments;
	/* The heap over time, in the order of time; empty where it is not known, or where nobody
	 * has asked for it. */
	ALLO_VEC(struct allo_level) history;

	/* Samples, a column each. */
	ALLO_VEC(allo_stack_id) sample_stacks;
	ALLO_VEC(allo_labels_id) sample_labels;  /* empty when no sample has labels */
	ALLO_VEC(struct allo_when) sample_times; /* empty when no sample has a time; else zeros */
	ALLO_VEC(struct allo_accesses) sample_accesses; /* empty when no sample has counts */
	ALLO_VEC(uint64_t) values;                      /* a row of metrics.len a sample */
	ALLO_VEC(double) variances; /* of values that are estimates; zeros from where it ends */
	ALLO_VEC(int32_t) access_runs;

	struct allo_notes notes;

	/* Private from here on. */
	struct allo_arena arena; /* bytes of the strings */
	struct allo_map string_map, module_map, function_map, frame_map, stack_map, label_map,
		thread_map, labelled_map;
	ALLO_VEC(uint32_t) stack_hashes;  /* of a stack's frames, by stack; of those in the map */
	ALLO_VEC(uint32_t) stack_samples; /* sample + 1 of a stack without labels, by stack */
	uint64_t seed;
};

void allo_profile_done(struct allo_profile *profile);

/* Entries: the id of a new or equal old one; 0 when memory is short (see err), or for an empty
 * string. */
allo_string_id allo_profile_add_string(struct allo_profile *profile, struct allo_text text,
				       struct allo_error *err);
allo_module_id allo_profile_add_module(struct allo_profile *profile,
				       const struct allo_module *module, struct allo_error *err);
allo_function_id allo_profile_add_function(struct allo_profile *profile,
					   const struct allo_function *function,
					   struct allo_error *err);
allo_stack_id allo_profile_add_stack(struct allo_profile *profile, allo_stack_id parent,
				     allo_frame_id frame, struct allo_error *err);

/* The same for several frames at once, each called by the one before: `stacks` gets an id for each.
 * Much faster than one by one, since memory is asked for them all before any is looked at. */
bool allo_profile_add_stacks(struct allo_profile *profile, allo_stack_id parent,
			     const allo_frame_id *frames, size_t count, allo_stack_id *stacks,
			     struct allo_error *err);

/* The same for stacks that are known to be new, by a caller who has a way to tell: they get the ids
 * that follow on the last one's.  The last of them, or 0 when memory is short. */
allo_stack_id allo_profile_append_stacks(struct allo_profile *profile, allo_stack_id parent,
					 const allo_frame_id *frames, size_t count,
					 struct allo_error *err);

allo_labels_id allo_profile_add_labels(struct allo_profile *profile,
				       const struct allo_label *labels, size_t count,
				       struct allo_error *err);
allo_thread_id allo_profile_add_thread(struct allo_profile *profile,
				       const struct allo_thread *thread, struct allo_error *err);

/* `frame` gives module, address and is_folded; its lines are given apart. */
allo_frame_id allo_profile_add_frame(struct allo_profile *profile, const struct allo_frame *frame,
				     const struct allo_line *lines, size_t line_count,
				     struct allo_error *err);

/* Gives lines to a frame that has none, once it is known where its address is, and marks its
 * module. Frames that are added afterwards are equal if they have these lines. */
bool allo_profile_set_lines(struct allo_profile *profile, allo_frame_id id,
			    const struct allo_line *lines, size_t line_count,
			    struct allo_error *err);

/* A frame of which only the function's name is known. */
allo_frame_id allo_profile_add_named_frame(struct allo_profile *profile, struct allo_text name,
					   struct allo_error *err);

bool allo_profile_add_comment(struct allo_profile *profile, struct allo_text text,
			      struct allo_error *err);

/* A metric of the vocabulary; `unit` may be NULL where the vocabulary has one. */
bool allo_profile_add_metric(struct allo_profile *profile, enum allo_meaning meaning,
			     const char *unit, struct allo_error *err);
bool allo_profile_add_metric_like(struct allo_profile *profile, const struct allo_metric *metric,
				  struct allo_error *err);

/* The index of the first metric with that meaning. */
bool allo_profile_find_metric(const struct allo_profile *profile, enum allo_meaning meaning,
			      size_t *index);

/*
 * The row of values of the sample with this stack and these labels: a new one, all zeros, or the
 * one that is there already (`is_new` tells, if not NULL).  Rows move when samples are added.  NULL
 * when memory is short.
 */
uint64_t *allo_profile_add_sample(struct allo_profile *profile, allo_stack_id stack,
				  allo_labels_id labels, bool *is_new, struct allo_error *err);

/* A sample of its own, with a time: such samples are never added up. */
uint64_t *allo_profile_add_timed_sample(struct allo_profile *profile, allo_stack_id stack,
					allo_labels_id labels, const struct allo_when *when,
					struct allo_error *err);

/* Keeps access counts with the sample added last. */
bool allo_profile_set_accesses(struct allo_profile *profile, const int32_t *runs, size_t count,
			       struct allo_error *err);

/* Drops the samples whose entry in `kept`, which has one for each, is false.  Stacks stay; the
 * history goes if a sample does, since it is that of all. */
void allo_profile_keep_samples(struct allo_profile *profile, const bool *kept);

/* Drops all samples and stacks; what they referred to stays. */
void allo_profile_clear_samples(struct allo_profile *profile);

/* Moves all samples and stacks to an empty profile, whose ids are then those of `from`. */
void allo_profile_move_samples(struct allo_profile *from, struct allo_profile *to);

/* Adds to a value; what does not fit stays at the largest number and is noted. */
void allo_profile_add_value(struct allo_profile *profile, size_t metric, uint64_t *value,
			    uint64_t more);

/* Says of a value of a row that it is an estimate, and adds to its variance. */
bool allo_profile_add_variance(struct allo_profile *profile, const uint64_t *value, double more,
			       struct allo_error *err);

/* Another profile's value as this one's metric, signed or not, can hold it: what does not fit is
 * cut and noted. */
uint64_t allo_profile_fit_value(struct allo_profile *profile, size_t metric,
				const struct allo_metric *from, uint64_t value);

/* Makes a metric signed; what does not fit any more is cut and noted. */
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

/* 0 where it is not known. */
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

/* Whether the numbers are estimates, made of a sample of all allocations. */
bool allo_profile_is_estimated(const struct allo_profile *profile);

/* The same of a metric: events of the program's own are never sampled. */
bool allo_profile_estimates(const struct allo_profile *profile, size_t metric);

/* Whether every id, count and order is as described above. */
bool allo_profile_validate(const struct allo_profile *profile, struct allo_error *err);

/* Where this profile has another one's metric, by meaning or by name, and by unit; the count of its
 * metrics if it has not. */
size_t allo_profile_find_like(const struct allo_profile *profile, const struct allo_profile *from,
			      size_t metric);

/* Adds all that `from` holds. */
bool allo_profile_merge(struct allo_profile *into, const struct allo_profile *from,
			struct allo_error *err);

/* The same, and each of its samples gets a label more, which says where it came from. */
bool allo_profile_merge_labelled(struct allo_profile *into, const struct allo_profile *from,
				 struct allo_text key, struct allo_text value,
				 struct allo_error *err);

#endif
