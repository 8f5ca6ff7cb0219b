/*
 * dataset.h - a profile or a recording, opened for the requests of a page.
 *
 * A dataset holds the names and stacks of a file once.  A request selects a range of time, which
 * sets the values of all samples (from the change log of a recording), and filters, which are a
 * lens.  allo_dataset_show() puts both together: then `profile` is an ordinary profile for the
 * functions of src/analysis.
 *
 * Each metric of the file is a pair, as in a comparison (analysis/diff.h): the value of the range
 * that the request compares with, and the value of its own range.
 *
 * A comparison of two recordings keeps both: a range sets the values of either side from the log of
 * its file.
 */
#ifndef ALLO_VIEW_DATASET_H
#define ALLO_VIEW_DATASET_H

#include "analysis/sum.h"
#include "findings/facts.h"
#include "replay/heap.h"
#include "replay/summary.h"
#include "view/answers/call_numbers.h"
#include "view/lens.h"
#include "view/log/change_log.h"

enum { ALLO_LENSES = 6 }; /* kept; the least recently used one goes first */

/* A range of time whose values are set. */
struct allo_shown_range {
	uint64_t from, to;
	const char *thread;
	bool is_set;
};

/* The two sides of a comparison, and of each pair of metrics. */
enum allo_side { ALLO_BEFORE, ALLO_NOW };

/* One of the two recordings that a comparison is of. */
struct allo_compared_file {
	struct allo_dataset *dataset; /* the caller's; NULL: the comparison is of profiles */
	ALLO_VEC(uint32_t) samples;   /* by its sample: sample of the comparison + 1; 0: none */
	ALLO_VEC(size_t) metrics;     /* by its metric: that of the comparison, or (size_t)-1 */
};

/* A recording and a range of it, as one side of a request. */
struct allo_log_part {
	struct allo_dataset *file; /* has the recording and its log */
	struct allo_request_range range;

	/* Private from here on. */
	const struct allo_dataset *shown;          /* has the samples that the filters show */
	const struct allo_compared_file *compared; /* NULL: the same dataset */
};

/* Of a recording that is still written. */
struct allo_growth {
	bool is_growing;     /* the process runs */
	uint64_t generation; /* changes if calls have new numbers, as in another recording */
};

/* Keeps the facts that findings need, of whole recordings.  `load` is false if it has none. */
struct allo_facts_store {
	bool (*load)(struct allo_facts *facts, const struct allo_recording *recording,
		     const struct allo_heap_options *options);
	void (*store)(const struct allo_facts *facts, const struct allo_recording *recording,
		      const struct allo_heap_options *options);
};

/* All zeros: nothing to free. */
struct allo_dataset {
	const char *name; /* of the file; the caller's */
	/* Paths of all recordings of its run, of which it is the largest (NULL ends); the caller's.
	 * NULL: it was chosen by name. */
	char *const *recordings;
	/* Tables; and, after allo_dataset_show(), the samples of the request. */
	struct allo_profile profile;
	struct allo_attribution
		*attribution; /* of the request; NULL: the innermost call is the site */
	const bool *threads;  /* of the request, by stream; NULL: all */
	struct allo_ownership ownership;
	struct allo_call_numbers calls;

	/* Of a recording. */
	struct allo_recording *recording; /* NULL: the file is a profile, without a time axis */
	struct allo_change_log log;
	struct allo_summary summary; /* of all of it */
	allo_stack_id *stacks;       /* by node of the recording */
	struct allo_growth growth;
	const struct allo_facts_store *facts_store; /* the opener's; NULL: facts are not kept */

	bool is_comparison; /* of two files: `profile` has values of both */
	struct allo_compared_file compared[2];
	bool has_names;    /* of functions */
	size_t call_count; /* of the file, with call 0; tables by label add others */

	/* Private from here on. */
	struct allo_profile all;                                      /* the samples of the file */
	struct allo_attribution attributions[ALLO_WRAPPERS_NONE + 1]; /* by enum allo_wrappers */
	struct allo_lens lenses[ALLO_LENSES];
	struct allo_lens *lens;            /* whose samples are in `profile`; or NULL */
	uint64_t uses;                     /* of lenses */
	struct allo_heap heap;             /* of the last range */
	ALLO_VEC(uint32_t) sample_of;      /* by site of the log: sample of the file + 1; 0: none */
	struct allo_shown_range ranges[2]; /* before, and now */
	ALLO_VEC(char) thread_names[2];    /* of these ranges */
	ALLO_VEC(bool) found_threads;
};

void allo_dataset_done(struct allo_dataset *dataset);

/* Takes the contents of a profile, which becomes empty.  For a comparison of two files it is one of
 * analysis/diff.h. */
bool allo_dataset_from_profile(struct allo_dataset *dataset, struct allo_profile *profile,
			       struct allo_error *err);

/* The same for the profile of a whole recording, and the recording, which stays open as long.
 * `stacks` is as in struct allo_replay, and is freed with the dataset. */
bool allo_dataset_from_recording(struct allo_dataset *dataset, struct allo_profile *profile,
				 struct allo_recording *recording, allo_stack_id *stacks,
				 const struct allo_progress *progress, struct allo_error *err);

/* The same with the log of the recording, which becomes empty. */
bool allo_dataset_from_log(struct allo_dataset *dataset, struct allo_profile *profile,
			   struct allo_recording *recording, allo_stack_id *stacks,
			   struct allo_change_log *log, struct allo_error *err);

/* After the log has grown: the values of ranges are outdated. */
void allo_dataset_forget_ranges(struct allo_dataset *dataset);

/* The same if there are new stacks: takes another profile of the recording, and its stacks.  The
 * name, the log, the summary and the growth stay. */
bool allo_dataset_renew(struct allo_dataset *dataset, struct allo_profile *profile,
			struct allo_recording *recording, allo_stack_id *stacks,
			struct allo_error *err);

/* Moves the samples of a request into `profile`, with the values of its ranges. */
bool allo_dataset_show(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_error *err);

/* Moves all samples into `profile`, with the values of the whole file; and back. */
bool allo_dataset_show_all(struct allo_dataset *dataset, struct allo_error *err);
void allo_dataset_hide_all(struct allo_dataset *dataset);

/* The columns of the request's metric, in `profile`. */
bool allo_dataset_columns(const struct allo_dataset *dataset, const struct allo_request *request,
			  const char *metric, struct allo_metric_columns *columns,
			  struct allo_error *err);

/* The site of a node of the recording and a set of labels. */
size_t allo_dataset_site_of(struct allo_dataset *dataset, uint32_t node, uint32_t labels,
			    struct allo_error *err);

/* The same for a site of a heap, which has its own numbers if it is that of some threads. */
size_t allo_dataset_site_of_heap(struct allo_dataset *dataset, const struct allo_heap *heap,
				 size_t site, struct allo_error *err);

/* The dataset with the recording of a side: of a comparison one of its files, else itself.  NULL if
 * there are no times. */
struct allo_dataset *allo_dataset_recorded(struct allo_dataset *dataset, enum allo_side side);

/* Whether a request has values of a base. */
bool allo_dataset_has_before(const struct allo_dataset *dataset,
			     const struct allo_request *request);

/* The recording and range of a side of a request.  False if it has no base, or no times. */
bool allo_dataset_part(struct allo_dataset *dataset, const struct allo_request *request,
		       enum allo_side side, struct allo_log_part *part);

/* The start of the part's range, or of the exact events of a bounded recording (doc/ring.md). */
uint64_t allo_log_part_exact_from(const struct allo_log_part *part);

/* The stack that `profile` shows for a site of the part's log.  False if the filters drop it. */
bool allo_log_part_shows_site(const struct allo_log_part *part, size_t site, allo_stack_id *stack);

/* Whether the block of a change passes the filters, and its thread is one of the request. */
bool allo_log_part_shows_change(const struct allo_log_part *part, const struct allo_change *change);

/* The responsible call of a stack: its number, or 0 if the stack is empty.  `line` may be NULL. */
uint32_t allo_dataset_site_call(const struct allo_dataset *dataset, allo_stack_id stack,
				struct allo_line *line);

/* Number among the threads of the open reply, from 1; 0 if the stream is none. */
uint32_t allo_dataset_thread_number(const struct allo_dataset *dataset, uint32_t stream);

/* The sum of a metric over all samples of the ranges, without filters. */
allo_sum allo_dataset_whole(const struct allo_dataset *dataset, size_t metric);

/* Takes the samples out of `profile`, which may then get others made of them.  They stay valid
 * until the next allo_dataset_show(). */
const struct allo_profile *allo_dataset_take_samples(struct allo_dataset *dataset);

/* Number of metrics, and one of them: the index in `profile` of its value now. */
static inline size_t allo_dataset_metric_count(const struct allo_dataset *dataset)
{
	return dataset->profile.metrics.len / 2;
}

static inline size_t allo_dataset_metric(size_t number)
{
	return 2 * number + 1;
}

#endif
