/*
 * recorder.h - the recording of this process: its file, and the slots in the file.
 *
 * A slot is ALLO_SLOT_SIZE bytes of the file.  Each stream has one mapped slot, its tail, which is
 * written in place; a full tail is copied to the end of the file ("sealed") and reused.
 *
 * The state lies in memory that a child made by fork finds zeroed.  The child then starts its own
 * recording, and nothing of its parent's gets in the way.
 */
#ifndef ALLO_CAPTURE_RECORDER_H
#define ALLO_CAPTURE_RECORDER_H

#include "capture/time/clock.h"
#include "capture/visibility.h"
#include "wire/layout.h"

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

enum allo_recorder_state {
	ALLO_RECORDER_NEW, /* 0: also in a child that was just forked */
	ALLO_RECORDER_STARTING,
	ALLO_RECORDER_ON,
	ALLO_RECORDER_OFF, /* until the program starts another recording */
};

struct allo_recorder {
	uint32_t state;      /* enum allo_recorder_state; atomic */
	bool is_steady;      /* the processor's counter is a clock */
	uint64_t end_ticks;  /* when recording stops; UINT64_MAX: never */
	uint64_t due_ticks;  /* see allo_recorder_due(); atomic; never after end_ticks */
	uint64_t ticks_50us; /* about 50 us */
	struct allo_wire_head *head;
	uint32_t is_updating_clock; /* a thread is writing the head's clock */
	uint32_t threads;           /* see allo_recorder_threads() */
	int failure;                /* errno of creating the file, or 0 */
	dev_t device;
	ino_t inode;
	uint64_t slots, slots_max;
	uint64_t extended_slots; /* size of the file: see allo_recorder_extend() */
	uint32_t streams;        /* numbered so far; the head counts those that are in the file */
	uint32_t is_finding;     /* lock: a thread uses new_path */
	uint32_t is_sampling;    /* lock: a thread reads the resident memory */
	uint64_t sampled_step;   /* 1 + step of the last sample of resident memory; 0: none */
	struct {
		struct allo_wire_slot *start; /* mapped slots for a sandbox; NULL: none */
		uint64_t offset;              /* of the first one in the file */
		uint64_t count, used;
	} window;
	char path[PATH_MAX];
	char new_path[PATH_MAX]; /* of a renamed file */
};

ALLO_HIDDEN extern struct allo_recorder *allo_recorder;

/* The generation of the modules, which is incremented when modules are unloaded; atomic.  It is not
 * in the struct, which saves the hooks a load.  allo_recorder_begin sets it, also in a child. */
ALLO_HIDDEN extern uint32_t allo_generation;

/* Creates the file and its head.  False, with the state OFF, if that fails.  `has_earlier`: the
 * process already has blocks that this recording does not contain. */
bool allo_recorder_begin(bool has_earlier);

/* Before the program restricts its access to files (chroot, setuid): extends the file by a hole, so
 * that it can be written through memory when it can no longer be opened. */
void allo_recorder_extend(void);

/* Cuts the hole off again, if the file can be opened. */
void allo_recorder_cut(void);

/* Before the program enters a sandbox: maps `slots` more slots, or as many as there is room for.
 * In the sandbox all slots are taken from there. */
void allo_recorder_map_window(uint64_t slots);

/* Turns recording off; the file stays as it is. */
void allo_recorder_stop(enum allo_wire_end why);

/* Frees the resources of an ended recording and prepares the next one.  No thread may be inside of
 * a hook; `is_left` says that one may still be, and leaves its memory alone. */
void allo_recorder_end(bool is_left);

/* Opens a stream.  Returns its tail, mapped and backed by disk blocks, so that writing to it cannot
 * fail.  NULL if there is no room, and recording is then off, or if there is no memory. */
struct allo_wire_slot *allo_tail_open(enum allo_stream_kind kind);

/* Unmaps a tail, which may be NULL; its contents stay in the file. */
void allo_tail_close(struct allo_wire_slot *tail);

/* Appends the tail's contents to the file and empties the tail; from_0 and from_1 become its new
 * `from`.  False if the disk is full: the contents are lost and recording is off. */
bool allo_tail_seal(struct allo_wire_slot *tail, uint64_t from_0, uint64_t from_1);

/* Reuses an empty tail for another stream, or for the same one if nothing was written to it. */
void allo_tail_restart(struct allo_wire_slot *tail);

/* Releases the locks of a hook that a jump has left. */
void allo_recorder_recover(void);

/* Writes the current time into the head. */
void allo_recorder_update_clock(void);

/* Updates the head's clock and sets the next time for it: see allo_recorder_due().  False if the
 * time of the recording is over. */
bool allo_recorder_attend(uint64_t now);

static inline bool allo_recorder_is_on(void)
{
	return __atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE) == ALLO_RECORDER_ON;
}

/* When allo_recorder_attend() is due. */
static inline uint64_t allo_recorder_due(void)
{
	return __atomic_load_n(&allo_recorder->due_ticks, __ATOMIC_RELAXED);
}

static inline uint32_t allo_recorder_generation(void)
{
	return __atomic_load_n(&allo_generation, __ATOMIC_RELAXED);
}

/* Number of threads seen so far. */
static inline uint32_t allo_recorder_threads(void)
{
	return __atomic_load_n(&allo_recorder->threads, __ATOMIC_RELAXED);
}

static inline uint64_t allo_now(void)
{
	return allo_ticks(allo_recorder->is_steady);
}

static inline void allo_count(uint64_t *count, uint64_t more)
{
	__atomic_fetch_add(count, more, __ATOMIC_RELAXED);
}

#endif
