/*
 * layout.h - how a recording lies in its file while the program runs.
 *
 * The file is a row of slots of 64 KiB.  Slot 0 is the head.  Every other slot belongs to a stream:
 * the events of a thread, the nodes of the stacks, or facts about the process.  A stream has one
 * slot that it writes into through a shared mapping, its tail; when that is full, the tail is
 * written once more to a slot of its own, sealed, and starts anew.  So the kernel has everything
 * when the process is killed, and a reader finds each block by its stream and sequence: a tail with
 * the sequence of a sealed block is an old copy.  A slot without the magic number was never
 * written: the process ended, or the disk was full, before it was.
 *
 * Numbers are in the byte order of the machine, which the head tells.
 */
#ifndef ALLO_WIRE_LAYOUT_H
#define ALLO_WIRE_LAYOUT_H

#include <stdint.h>

enum {
	ALLO_WIRE_VERSION = 2, /* 1 has no struct allo_wire_sampling in its head */
	ALLO_SLOT_SIZE = 1 << 16,
	ALLO_SLOT_MAGIC = 0x544c5341, /* "ASLT" */
	ALLO_BYTE_ORDER = 0x01020304,
};

#define ALLO_HEAD_MAGIC "ALLOraw1"

enum allo_wire_arch {
	ALLO_ARCH_X86_64 = 1,
	ALLO_ARCH_AARCH64 = 2,
};

/* Why a recording ends where it does. */
enum allo_wire_end {
	ALLO_END_NONE,     /* still running, or killed */
	ALLO_END_EXIT,     /* the process left through exit() or main's return */
	ALLO_END_STOPPED,  /* --duration was over, or the program asked for it */
	ALLO_END_FULL,     /* --max-file was reached */
	ALLO_END_DISK,     /* the disk would not take more */
	ALLO_END_LOST,     /* the program closed our file, and it could not be opened again */
	ALLO_END_INTERNAL, /* the runtime found itself in a state it does not know */
};

/* A moment on both clocks: ticks of the processor's counter, nanoseconds of CLOCK_MONOTONIC. */
struct allo_wire_moment {
	uint64_t ticks, monotonic_ns;
};

/* Where a text lies in the head's slot. */
struct allo_wire_text {
	uint32_t at, len;
};

/* What the runtime counts about itself; written seldom, never on the way of an event. */
struct allo_wire_counts {
	uint64_t lost_blocks;      /* of 64 KiB that could not be written */
	uint64_t guessed_frames;   /* found by frame pointer where there is no unwind table */
	uint64_t failed_stacks;    /* not known at all: stack 0 */
	uint64_t cut_stacks;       /* end before the outermost frame */
	uint64_t checked_stacks;   /* compared with libgcc's unwinder */
	uint64_t different_stacks; /* of those */
	uint64_t own_bytes;        /* memory that the runtime holds */
};

/* Which allocations are recorded. */
enum allo_wire_mode {
	ALLO_MODE_EXACT,   /* all */
	ALLO_MODE_SAMPLED, /* one for every `rate` bytes, at random: a block of `size` bytes (of 1
			      if it has none) with the probability 1 - exp(-size / rate) */
	ALLO_MODE_EVENTS,  /* one in `rate`, at random */
	ALLO_MODE_AD_HOC,  /* none: only events of the program's own */
};

/* Of a sampled recording; a block stands for 1 / its probability.  The numbers are all that was
 * seen, recorded or not. */
struct allo_wire_sampling {
	uint32_t mode; /* enum allo_wire_mode */
	uint32_t reserved;
	uint64_t rate; /* 0 where all are recorded */
	uint64_t alloc_blocks, alloc_bytes, freed_blocks;
};

struct allo_wire_head {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint32_t slot_size;
	uint32_t arch;
	uint32_t pid, parent_pid;
	uint64_t start_realtime_ns;
	struct allo_wire_moment first, last; /* `last` is brought up to date now and then */
	uint64_t slots;                      /* in the file so far, this one included */
	uint32_t streams; /* that have a block in the file; each counts once its header is there */
	uint32_t end;     /* enum allo_wire_end */
	uint32_t stack_depth; /* most frames kept of a stack; 0: all */
	uint32_t has_earlier; /* blocks that are not in it: a parent's, those got while
				 a delay lasted, those of malloc if not tracked */
	uint64_t min_size;    /* smaller blocks are not recorded */
	struct allo_wire_counts counts;
	struct allo_wire_text program; /* path of the executable */
	struct allo_wire_text folder;  /* the working directory at the start */
	struct allo_wire_text host;
	struct allo_wire_text arguments; /* each ends in a NUL */
	struct allo_wire_sampling sampling;
};

enum allo_stream_kind {
	ALLO_STREAM_EVENTS = 1,
	ALLO_STREAM_STACKS = 2,
	ALLO_STREAM_FACTS = 3,
};

struct allo_wire_slot {
	uint32_t magic;
	uint8_t kind; /* enum allo_stream_kind */
	uint8_t is_sealed;
	uint8_t is_fresh;  /* predictions start from nothing here, not from the block before */
	uint8_t is_cut;    /* 0; set when a file that ends within the block is packed */
	uint32_t stream;   /* from 1 */
	uint32_t sequence; /* of the block in its stream, from 0 */
	uint32_t thread;   /* the kernel's number */
	uint32_t used;     /* bytes behind this struct; those before it are never written again */
	/* Where the block goes on from: of events, the ticks and the last pointer / 16; of stacks,
	 * the number of the first node and the last pc. */
	uint64_t from[2];
	uint64_t dropped; /* events of this stream that could not be recorded */
	char name[16];    /* of the thread; ends in a NUL */
};

enum { ALLO_SLOT_ROOM = ALLO_SLOT_SIZE - sizeof(struct allo_wire_slot) };

#endif
