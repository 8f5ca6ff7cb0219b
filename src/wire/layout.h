/*
 * layout.h - the layout of a recording file while the program runs.
 *
 * The file is a sequence of slots of 64 KiB.  Slot 0 is the head.  Every other slot belongs to a
 * stream: the events of a thread, the nodes of the stacks, or facts about the process.  A stream
 * writes into one slot through a shared mapping, its tail.  When the tail is full, it is copied to
 * a new slot, sealed, and used again from its start.  So the kernel has all data when the process
 * is killed.  A reader finds each slot by its stream and sequence; a tail with the sequence of a
 * sealed slot is an old copy.  A slot without the magic number was never written, because the
 * process ended or the disk was full.
 *
 * Numbers have the byte order of the machine, which the head gives.
 */
#ifndef ALLO_WIRE_LAYOUT_H
#define ALLO_WIRE_LAYOUT_H

#include <stdint.h>

enum {
	ALLO_WIRE_VERSION = 3, /* 1 has no struct allo_wire_sampling in its head; 2 has no functions
				  of interpreters */
	ALLO_RING_VERSION = 4, /* of bounded recordings */
	ALLO_RATES_VERSION = 5, /* of recordings whose sampling interval changes */
	ALLO_SLOT_SIZE = 1 << 16,
	ALLO_SLOT_MAGIC = 0x544c5341, /* "ASLT" */
	ALLO_BYTE_ORDER = 0x01020304,
	ALLO_MARKS_AT = 48 << 10, /* in the head's slot: texts end here */
	ALLO_MARK_MAX = 1024,     /* bytes of a name */
};

#define ALLO_HEAD_MAGIC "ALLOraw1"

enum allo_wire_arch {
	ALLO_ARCH_X86_64 = 1,
	ALLO_ARCH_AARCH64 = 2,
};

/* The reason that a recording ended. */
enum allo_wire_end {
	ALLO_END_NONE,     /* the process still runs, or was killed */
	ALLO_END_EXIT,     /* the process left through exit() or main's return */
	ALLO_END_STOPPED,  /* --duration has passed, or the program stopped it */
	ALLO_END_FULL,     /* --max-file was reached */
	ALLO_END_DISK,     /* the disk is full */
	ALLO_END_LOST,     /* the file was deleted, or cannot be opened any more */
	ALLO_END_INTERNAL, /* the runtime found an impossible state */
	ALLO_END_SANDBOX,  /* the space for a sandbox, which forbids system calls, was used up */
	ALLO_END_LIMIT,    /* RLIMIT_FSIZE was reached */
};

/* A moment on both clocks: ticks of the processor's counter, nanoseconds of CLOCK_MONOTONIC. */
struct allo_wire_moment {
	uint64_t ticks, monotonic_ns;
};

/* Offset and length of a text in the head's slot, bytes. */
struct allo_wire_text {
	uint32_t at, len;
};

/* Counters of the runtime itself; never written on the path of an event. */
struct allo_wire_counts {
	uint64_t lost_pages;       /* slots that could not be written */
	uint64_t guessed_frames;   /* found by frame pointer, without an unwind table */
	uint64_t failed_stacks;    /* unknown: stack 0 */
	uint64_t cut_stacks;       /* end before the outermost frame */
	uint64_t checked_stacks;   /* compared with libgcc's unwinder */
	uint64_t different_stacks; /* of the checked ones */
	uint64_t own_bytes;        /* memory of the runtime */
};

/* The allocations that are recorded. */
enum allo_wire_mode {
	ALLO_MODE_EXACT,   /* all */
	ALLO_MODE_SAMPLED, /* random, one per `rate` bytes: a block of `size` bytes (at least 1)
			      has the probability 1 - exp(-size / rate) */
	ALLO_MODE_EVENTS,  /* random, one in `rate` */
	ALLO_MODE_AD_HOC,  /* none: only events of the program */
};

/* The accuracy of times; other values: see struct allo_wire_sampling. */
enum allo_wire_time {
	ALLO_TIME_UNKNOWN, /* recordings of older versions, or the kernel did not tick as expected
			    */
	ALLO_TIME_EXACT,   /* every event has a time stamp, as requested */
};

/* The sampling of a recording.  A block represents 1 / its probability blocks.  The totals include
 * blocks that were not recorded. */
struct allo_wire_sampling {
	uint32_t mode;      /* enum allo_wire_mode */
	uint32_t time_step; /* enum allo_wire_time; otherwise ns: an event without a time stamp
			       happened at most this long after the last one, and the thread did
			       not sleep in between */
	uint64_t rate;      /* sampling interval; 0 if all are recorded */
	uint64_t alloc_blocks, alloc_bytes, freed_blocks;
};

/* Events and processes that are not in the recording, beside those that the streams count. */
struct allo_wire_losses {
	uint64_t memory_events;  /* of threads for whose state there was no memory */
	uint64_t sandbox_events; /* the same in a sandbox, which has only memory from before it */
	uint64_t lost_stacks;    /* of the failed stacks: there was no memory or room for them */
	uint64_t children;       /* processes forked or executed in a sandbox: not recorded */
};

/* Marks that other processes put into the head's slot, one behind the other: bytes. */
struct allo_wire_marks {
	uint32_t at, room;
	uint32_t used; /* whole marks; writers lock the file with flock() */
	uint32_t reserved;
};

/* `len` bytes of text follow, and zeros up to a multiple of 8. */
struct allo_wire_mark {
	uint64_t monotonic_ns;
	uint32_t len, reserved;
};

/*
 * A bounded recording (doc/ring.md).  After the head come two areas for checkpoints, which `allo
 * run` writes in turns: checkpoint n is in area n % 2.  The areas are holes where nothing was
 * written.  `allo run` also frees pages of events that a checkpoint covers.
 */
struct allo_wire_ring {
	uint64_t size;        /* bytes that the file may take on the disk; 0: any number */
	uint64_t checkpoints; /* number of the last one, from 1; 0: none; atomic */
	uint64_t limit;       /* slots: pages of events have smaller numbers; atomic */
	uint32_t area_slots;  /* of each area */
	uint32_t reserved;
};

/* Of a recording whose sampling interval adapts (enum allo_fact, ALLO_FACT_RATE).  Atomic. */
struct allo_wire_overhead {
	uint64_t limit_ppm; /* of processor time; 0: the interval is fixed */
	uint64_t spent_ns;  /* by the recorder, until the last look */
	uint64_t cpu_ns;    /* processor time of the process, from the start until then */
	uint64_t rate;      /* the last sampling interval */
	uint64_t changes;   /* of the interval */
	double bytes;       /* estimate of the allocated bytes, and its variance */
	double bytes_variance;
};

#define ALLO_CHECKPOINT_MAGIC "ALLOsum1"

/* The start of a checkpoint; its content follows as a zstd frame. */
struct allo_wire_checkpoint {
	char magic[8];
	uint64_t number;
	uint64_t raw_len, packed_len;
	uint64_t hash; /* XXH64 of the packed bytes, with `number` as seed */
};

/* Whether live blocks may be missing. */
enum allo_wire_earlier {
	ALLO_EARLIER_NONE,
	ALLO_EARLIER_UNKNOWN,  /* a parent's, those allocated during a delay or before the start,
				* those of malloc if it is not tracked */
	ALLO_EARLIER_ATTACHED, /* those from before `allo attach` */
};

struct allo_wire_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint32_t slot_size;
	uint32_t arch;
	uint32_t pid, parent_pid;
	uint64_t start_realtime_ns;
	struct allo_wire_moment first, last; /* `last` is updated now and then */
	uint64_t slots;                      /* in the file so far, including this one */
	uint32_t streams; /* with a slot in the file; a stream counts once its header is written */
	uint32_t end;     /* enum allo_wire_end */
	uint32_t stack_depth; /* maximum frames per stack; 0: no limit */
	uint32_t has_earlier; /* enum allo_wire_earlier */
	uint64_t min_size;    /* smaller blocks are not recorded */
	struct allo_wire_counts counts;
	struct allo_wire_text program; /* path of the executable */
	struct allo_wire_text folder;  /* the working directory at the start */
	struct allo_wire_text host;
	struct allo_wire_text arguments; /* each ends in a NUL */
	struct allo_wire_sampling sampling;
	/* Later fields may be missing: the first text then starts before their end. */
	struct allo_wire_losses losses;
	struct allo_wire_text resident; /* struct allo_wire_resident; empty: none */
	uint64_t tracks_mappings;       /* mmap or brk is recorded, too */
	struct allo_wire_marks marks;
	uint64_t unsure_sleeps; /* gaps in which a thread slept, and which may include computing
				   before the event that precedes them, for up to a tick */
	struct allo_wire_ring ring;
	struct allo_wire_overhead overhead;
};

/* The first slot of streams. */
static inline uint64_t allo_wire_first_slot(const struct allo_wire_ring *ring)
{
	return 1 + 2 * (uint64_t)ring->area_slots;
}

/* Slots beyond the limit that stacks and facts may use, so that events never lack them. */
static inline uint64_t allo_wire_ring_spare(const struct allo_wire_ring *ring)
{
	return ring->size / ALLO_SLOT_SIZE / 16;
}

static inline uint32_t allo_wire_mark_size(uint32_t len)
{
	return (uint32_t)sizeof(struct allo_wire_mark) + (len + 7) / 8 * 8;
}

/*
 * A process maps a page of its recording, at this offset, for reading, and never touches it.  A
 * child made by fork inherits the mapping and keeps it until its own recording begins, at its first
 * allocation.  So /proc/PID/maps shows that the child will be recorded.
 */
enum {
	ALLO_SIGN_OFFSET = ALLO_SLOT_SIZE,
	ALLO_SIGN_SIZE = 1, /* the kernel maps a whole page */
};

enum allo_stream_kind {
	ALLO_STREAM_EVENTS = 1,
	ALLO_STREAM_STACKS = 2,
	ALLO_STREAM_FACTS = 3,
};

/* The header of a slot. */
struct allo_wire_slot {
	uint32_t magic;
	uint8_t kind; /* enum allo_stream_kind */
	uint8_t is_sealed;
	uint8_t is_fresh;  /* predictions start from zero, not from the previous slot */
	uint8_t is_cut;    /* 0; set when packing a file that ends within the slot */
	uint32_t stream;   /* from 1 */
	uint32_t sequence; /* of the slot in its stream, from 0 */
	uint32_t thread;   /* thread id */
	uint32_t used;     /* bytes after this struct; the writer never changes them again */
	/* The state at the start of the slot.  Events: ticks and the last pointer / 16.  Stacks:
	 * the id of the first node and the last pc. */
	uint64_t from[2];
	uint64_t dropped; /* events of this stream that could not be recorded */
	char name[16];    /* of the thread, NUL-terminated */
};

enum { ALLO_SLOT_ROOM = ALLO_SLOT_SIZE - sizeof(struct allo_wire_slot) };

#endif
