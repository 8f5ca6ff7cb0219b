/*
 * change_log.h - every change of the heap, in segments that can be read independently.
 *
 * A change is an allocation or a free; a realloc is both.  Building the log takes one
 * replay.  Afterwards any window of the recording is answered exactly in milliseconds: whole
 * segments by their sums, and the rest by reading two of them (change_log_heap.c).
 *
 * A change takes 3 to 9 bytes.  The log reads from its recording, which must stay open.
 */
#ifndef ALLO_VIEW_CHANGE_LOG_H
#define ALLO_VIEW_CHANGE_LOG_H

#include "replay/heap.h"
#include "replay/recording/marks.h"

struct allo_log_builder;
struct allo_log_segment;
struct allo_log_state;

/* An event that is not a change of the heap, or a fact about the change before it. */
struct allo_log_aside {
	uint64_t ns;
	uint64_t units;               /* of an event of the program */
	uint32_t number;              /* of the next change */
	uint32_t stack, labels, note; /* of such an event */
	uint32_t owner;               /* stream of the thread that made the block of a late free */
	uint32_t stream : 24, kind : 8; /* enum allo_log_aside_kind */
};

/* All zeros is empty. */
struct allo_change_log {
	bool keeps_first; /* set it before building: see live_blocks.h */

	uint64_t change_count;
	uint64_t event_count; /* of the whole recording */
	uint64_t last_ns;     /* of the last event */
	uint64_t end_ns;      /* of the recording */
	struct allo_marks marks;
	/* Numbers of sites, as of allo_heap.ids; empty if a site is the number of a stack. */
	struct allo_site_keys keys;
	size_t site_count; /* numbers are smaller */

	/* Private from here on. */
	const struct allo_recording *recording;
	struct allo_weighing weighing;
	ALLO_VEC(struct allo_log_segment) segments;
	ALLO_VEC(struct allo_log_state) states;
	ALLO_VEC(struct allo_log_aside) asides; /* by time */
	ALLO_VEC(uint32_t) sites; /* numbers of the sites that allocate, in order of appearance */
	ALLO_VEC(uint64_t) large_sizes;
	bool has_retired; /* blocks whose free came late */
	bool is_walked;   /* sums do not suffice: windows are answered by reading all changes */
	uint64_t bytes;
	ALLO_VEC(char) stored; /* of an index: segments are unpacked from here */
};

/* Reads all events.  `progress` may be NULL; it counts changes. */
bool allo_change_log_build(struct allo_change_log *log, struct allo_recording *recording,
			   const struct allo_progress *progress, struct allo_error *err);

/* Takes the index that is stored in the recording, if it has one.  False if it is not of use, which
 * is noted in the recording, or when memory is short.  It has keeps_first unset. */
bool allo_change_log_load(struct allo_change_log *log, struct allo_recording *recording,
			  struct allo_error *err);

/*
 * allo_change_log_build() for a recording that is still written, step by step.  Each step adds the
 * events that `events` has up to now (replay/follow.h); then the log is complete up to there.  The
 * recording must neither gain its first label nor move streams between two steps.  A step that
 * fails leaves nothing usable.
 */
struct allo_log_builder *allo_log_builder_new(struct allo_change_log *log,
					      struct allo_recording *recording,
					      struct allo_error *err);
bool allo_log_builder_step(struct allo_log_builder *builder, struct allo_events *events,
			   struct allo_error *err);
void allo_log_builder_free(struct allo_log_builder *builder); /* NULL does nothing */

void allo_change_log_done(struct allo_change_log *log);

/* Memory that the log uses. */
uint64_t allo_change_log_bytes(const struct allo_change_log *log);

/*
 * Whether the answer to a request is exactly that of a replay.  The log has one way of charging
 * reallocs (keeps_first) and must not be asked for the other.  It is not exact for threads if it
 * has that way; and for some threads if the recording is raw and has blocks whose free came late,
 * or if the program was killed.
 */
bool allo_change_log_answers(const struct allo_change_log *log,
			     const struct allo_heap_options *options);

/*
 * Fills `heap` as allo_heap_replay() does, but for the table of live blocks; heap->births takes its
 * place if wants_births is set.  `event_count` may be NULL.
 *
 * The heap is all zeros at first, and may then be filled for one window after the other.  It
 * belongs to the caller, who ends with allo_heap_done().
 */
bool allo_change_log_heap(const struct allo_change_log *log,
			  const struct allo_heap_options *options, struct allo_heap *heap,
			  uint64_t *event_count, struct allo_error *err);

/* The heap over time in `steps` steps of equal length, but for the last; the numbers are those of
 * replay/timeline.h.  `to_ns` 0: the end of the recording.  The timeline is all zeros at first, and
 * may be filled again. */
bool allo_change_log_timeline(const struct allo_change_log *log, uint64_t from_ns, uint64_t to_ns,
			      size_t steps, struct allo_timeline *timeline, struct allo_error *err);

enum allo_change_flag {
	ALLO_CHANGE_ENDED = 1,     /* the block ends; else it is made */
	ALLO_CHANGE_RESIZED = 2,   /* by realloc */
	ALLO_CHANGE_TEMPORARY = 4, /* it ends before the next allocation of its thread */
};

struct allo_change {
	uint64_t ns;
	uint64_t birth_ns; /* of the first block, if realloc has resized it */
	uint64_t size;
	uint32_t site;
	uint32_t stream; /* of the thread that makes or ends the block */
	uint32_t maker;  /* stream of the thread that made it */
	unsigned flags;
};

/* Takes changes in the order of time; false stops. */
typedef bool allo_take_changes(void *context, const struct allo_change *changes, size_t count,
			       struct allo_error *err);

/* Hands on all changes from `from_ns` up to `to_ns`, which is excluded; 0: the end. */
bool allo_change_log_walk(const struct allo_change_log *log, uint64_t from_ns, uint64_t to_ns,
			  allo_take_changes *take, void *context, struct allo_error *err);

/* Hands on the blocks that are live before a time (0: at the end), as the changes that made them,
 * in their order. */
bool allo_change_log_live_blocks(const struct allo_change_log *log, uint64_t ns,
				 allo_take_changes *take, void *context, struct allo_error *err);

/* The live bytes and blocks before the first change at or after a time. */
struct allo_peak allo_change_log_live(const struct allo_change_log *log, uint64_t ns);

#endif
