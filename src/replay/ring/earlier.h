/*
 * earlier.h - the sums that a bounded recording (doc/ring.md) keeps of events it no longer has.
 *
 * They cover all events before a time, from which on the recording is exact.  Blocks that were live
 * then are kept one by one: a replay sees their allocations, and the sums leave them out.
 *
 * A raw recording has them in its last checkpoint, with the place in each stream where the exact
 * events begin; a packed one in a chunk, and the kept blocks among its events.
 */
#ifndef ALLO_REPLAY_EARLIER_H
#define ALLO_REPLAY_EARLIER_H

#include "replay/events/event_stream.h"
#include "wire/events.h"

/* A stack with its labels. */
struct allo_earlier_site {
	uint64_t stack, labels;
	uint64_t blocks, bytes; /* allocated, without kept blocks */
	uint64_t lifetime_ns, temporary_blocks;
	uint64_t max_bytes, max_blocks;
	uint64_t peak_bytes, peak_blocks; /* live when the program held the most bytes */
};

/* Events of the program. */
struct allo_earlier_own {
	uint64_t stack, labels, name;
	uint64_t events, units;
};

/* Ticks count from the start of the recording. */
struct allo_earlier_totals {
	uint64_t exact_ticks; /* exact events begin */
	uint64_t events, allocations, total_bytes;
	uint64_t frees, resizes, failed_resizes, unknown_frees, late_frees, overflows;
	uint64_t missing_stacks, own_events, own_units;
	uint64_t peak_bytes, peak_blocks, peak_ticks;
	/* Losses, and threads without exact events or kept blocks. */
	uint64_t missing_pages, damaged_pages, unread_pages, dropped_events, threads;
	/* Of a raw recording: pages freed so far; the end of the part of the file without slots
	 * that are still to be written; the largest number of a stream that is covered. */
	uint64_t freed_pages, settled, last_stream;
};

/* The state of a decoder at the start of a page. */
struct allo_decoder_state {
	struct allo_event_state events;
	uint64_t resized, resizing_ticks;
	uint32_t labels, sent_labels;
	bool is_timed, is_resizing, is_lost;
};

/* The place of the first exact event of a thread. */
struct allo_stream_start {
	uint32_t number, thread;
	char name[16];
	uint64_t dropped;
	uint64_t sequence;                /* of its page */
	uint64_t events;                  /* of this page that are covered */
	uint32_t labels;                  /* of the thread at that time */
	struct allo_decoder_state *state; /* owned; NULL: zeros */
};

struct allo_earlier {
	uint64_t number; /* of the checkpoint */
	uint64_t exact_ns, peak_ns;
	struct allo_earlier_totals totals;
	ALLO_VEC(struct allo_earlier_site) sites;
	ALLO_VEC(struct allo_earlier_own) own;
	/* Allocations, marks and labels, by time.  After reading, `stream` is an index of
	 * `starts`; allo_earlier_settle() makes it one of the recording's streams. */
	ALLO_VEC(struct allo_event) kept;
	ALLO_VEC(struct allo_stream_start) starts; /* by number */
	ALLO_VEC(uint32_t) unseen; /* streams up to totals.last_stream that are not covered */
};

void allo_earlier_free(struct allo_earlier *earlier);

typedef ALLO_VEC(uint8_t) allo_earlier_bytes;

/* The content of a checkpoint or chunk.  Times of kept events are ticks. */
bool allo_earlier_write(const struct allo_earlier *earlier, allo_earlier_bytes *bytes,
			struct allo_error *err);

/* The reverse.  NULL if it is damaged or memory is short. */
struct allo_earlier *allo_earlier_read(struct allo_text bytes, struct allo_error *err);

/* Reads the last checkpoint of a raw recording, if there is one.  False, without an error, if it is
 * damaged or was replaced meanwhile. */
bool allo_earlier_load(struct allo_recording *recording, uint64_t number, struct allo_error *err);

/* Adds streams of which all pages are freed. */
bool allo_earlier_add_streams(struct allo_recording *recording, struct allo_error *err);

/* Sets times and streams of kept events, once. */
void allo_earlier_settle(struct allo_recording *recording);

/* The start of a stream, or NULL. */
const struct allo_stream_start *allo_earlier_start(const struct allo_earlier *earlier,
						   uint32_t number);

/* Whether a page of events is covered. */
bool allo_earlier_covers(const struct allo_earlier *earlier, uint32_t stream, uint64_t sequence);

/* The number of the last checkpoint in the file. */
bool allo_earlier_number(const struct allo_recording *recording, uint64_t *number,
			 struct allo_error *err);

/* Whether pages of a bounded raw recording may have been freed since its checkpoint was read. */
bool allo_earlier_is_replaced(const struct allo_recording *recording, struct allo_error *err);

/* Records that the part of the file that a reader needs has been summed up.  Returns false. */
bool allo_fail_summed(const struct allo_recording *recording, struct allo_error *err);

#endif
