/*
 * resident.h - the resident memory of a recorded process, next to the blocks of the recording.
 */
#ifndef ALLO_REPLAY_RESIDENT_H
#define ALLO_REPLAY_RESIDENT_H

#include "wire/resident_samples.h"

struct allo_recording;

/* Language runtimes that map the heap of their objects themselves. */
enum allo_mapped_heap {
	ALLO_MAPPED_HEAP_NONE,
	ALLO_MAPPED_HEAP_V8,
	ALLO_MAPPED_HEAP_JAVA,
	ALLO_MAPPED_HEAP_LUAJIT,
};

/* The peak.  All zeros: unknown. */
struct allo_resident {
	uint64_t peak_bytes;
	uint64_t peak_ns; /* since the start; UINT64_MAX: between two samples */
	uint64_t
		live_bytes; /* of recorded blocks at that time, or at most if the time is unknown */
	uint64_t tracks_mappings; /* recorded blocks include memory from mmap or brk */
	uint64_t mapped_heap;     /* enum allo_mapped_heap */
	/* The parts near the peak, which add up to `parts_bytes`; 0: unknown. */
	uint64_t parts_bytes;
	uint64_t parts[ALLO_RESIDENT_PARTS];
};

/* Everything but `live_bytes`, from the head of the recording. */
struct allo_resident allo_resident_of(const struct allo_recording *recording);

/* The largest sample from `from_ns` up to `to_ns`, or the last one before; 0: there is none. */
uint64_t allo_resident_within(const struct allo_recording *recording, uint64_t from_ns,
			      uint64_t to_ns);

#endif
