/*
 * recorder.h - the recording of this process: its file, and the slots in it.
 *
 * The state lies in memory that a child made by fork finds empty, however it was made: it then
 * begins a recording of its own, and nothing of its parent's is in its way.
 */
#ifndef ALLO_CAPTURE_RECORDER_H
#define ALLO_CAPTURE_RECORDER_H

#include "capture/clock.h"
#include "capture/visibility.h"
#include "wire/layout.h"

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

enum allo_recorder_state {
	ALLO_RECORDER_NEW, /* also: in a process that was just forked */
	ALLO_RECORDER_STARTING,
	ALLO_RECORDER_ON,
	ALLO_RECORDER_OFF, /* until the program asks for another one */
};

struct allo_recorder {
	uint32_t state;
	bool is_steady; /* the processor's counter is a clock */
	/* Bits of an event's number that are all zero where a time is written: none once there is
	 * a second thread. */
	uint32_t time_mask;
	uint32_t generation; /* of the modules; one more whenever some have gone */
	uint64_t end_ticks;  /* recording stops then; UINT64_MAX: never */
	struct allo_wire_head *head;
	uint32_t is_telling; /* somebody brings the head's clock up to date */
	uint32_t threads;    /* ever seen */
	int fd;
	int failure; /* errno, where the file could not be made */
	dev_t device;
	ino_t inode;
	uint64_t slots, slots_max;
	uint32_t streams; /* given out so far, as slots are; the head tells of those that are there
			   */
	char path[PATH_MAX];
};

ALLO_HIDDEN extern struct allo_recorder *allo_recorder;

/* Makes the file and its head.  False, and off, when that cannot be done.  `has_earlier`: the
 * process has blocks that will not be in it. */
bool allo_recorder_begin(bool has_earlier);

/* For a thread whose descriptors are not those of the program: the program's threads open the file
 * for themselves when they need it. */
void allo_recorder_release_file(void);

/* Off; the file stays as it is. */
void allo_recorder_stop(enum allo_wire_end why);

/* Gives back what a recording has that is over, and makes room for another one.  Nobody may be
 * inside of a hook, or else (`is_left`) it stays for him. */
void allo_recorder_end(bool is_left);

/* A slot to write into, mapped and backed by the disk: writing to it cannot fail.  NULL when there
 * is none to be had; recording is off then. */
struct allo_wire_slot *allo_tail_open(enum allo_stream_kind kind);

/* Makes a tail's block a sealed one and the tail empty.  Where the disk will not take it, the block
 * is lost and recording is off: false. */
bool allo_tail_seal(struct allo_wire_slot *tail, uint64_t from_0, uint64_t from_1);

/* Hands a tail to another stream; to the same one if nothing was written to it. */
void allo_tail_restart(struct allo_wire_slot *tail);

/* Brings the head's clock up to date. */
void allo_recorder_update_clock(void);

static inline uint64_t allo_now(void)
{
	return allo_ticks(allo_recorder->is_steady);
}

static inline void allo_count(uint64_t *count, uint64_t more)
{
	__atomic_fetch_add(count, more, __ATOMIC_RELAXED);
}

#endif
