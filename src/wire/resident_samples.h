/*
 * resident_samples.h - the resident memory of the recorded process over time.
 *
 * It is at the end of the head's slot, where the head says.  `allo run` samples the process from
 * outside and writes everything but `own_peak`; a runtime without `allo run` writes all of it.
 */
#ifndef ALLO_WIRE_RESIDENT_SAMPLES_H
#define ALLO_WIRE_RESIDENT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

enum {
	ALLO_RESIDENT_SAMPLES = 1024,
	ALLO_RESIDENT_STEP_NS = 50000000, /* at first */
};

/* The kinds of resident memory. */
enum allo_resident_part {
	ALLO_RESIDENT_HEAP,     /* of malloc: blocks, free memory, its own data */
	ALLO_RESIDENT_MAPPED,   /* anonymous memory that is none of the others */
	ALLO_RESIDENT_FILES,    /* code and other mapped files */
	ALLO_RESIDENT_DATA,     /* variables of programs and libraries */
	ALLO_RESIDENT_STACKS,   /* of threads */
	ALLO_RESIDENT_SHARED,   /* shared memory */
	ALLO_RESIDENT_RECORDER, /* the runtime and the mapped parts of the recording */
	ALLO_RESIDENT_EITHER,   /* of malloc or mapped: the allocator alone can tell them apart */
	ALLO_RESIDENT_PARTS,
};

/* Sizes are bytes, times nanoseconds since the start of the recording. */
struct allo_wire_resident {
	uint64_t own_peak;   /* VmHWM when the process ended its recording; 0: it did not */
	uint64_t seen_peak;  /* the last VmHWM that a sample has seen */
	uint64_t largest_ns; /* time of the largest sample */
	uint64_t step_ns;    /* between samples: doubles when there is no room for more */
	uint64_t parts_ns;   /* time of `parts`, which are from near the peak; 0: none */
	uint64_t parts[ALLO_RESIDENT_PARTS];
	uint32_t kib[ALLO_RESIDENT_SAMPLES]; /* the largest sample of each step; 0: none */
};

static inline uint32_t allo_resident_largest(const struct allo_wire_resident *resident)
{
	uint32_t largest = 0;

	for (unsigned i = 0; i < ALLO_RESIDENT_SAMPLES; i++)
		largest = resident->kib[i] > largest ? resident->kib[i] : largest;
	return largest;
}

/* Joins each two steps. */
static inline void allo_resident_fold(struct allo_wire_resident *resident, uint64_t step)
{
	uint32_t *kib = resident->kib;

	for (size_t i = 0; i < ALLO_RESIDENT_SAMPLES / 2; i++)
		kib[i] = kib[2 * i] > kib[2 * i + 1] ? kib[2 * i] : kib[2 * i + 1];
	for (size_t i = ALLO_RESIDENT_SAMPLES / 2; i < ALLO_RESIDENT_SAMPLES; i++)
		kib[i] = 0;
	/* Other threads read it, to decide whether a sample is due. */
	__atomic_store_n(&resident->step_ns, step, __ATOMIC_RELAXED);
}

/* Adds a sample. */
static inline void allo_resident_add(struct allo_wire_resident *resident, uint64_t ns, uint64_t rss,
				     uint64_t peak)
{
	uint64_t kib = rss / 1024;
	uint32_t sample = kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
	uint64_t step = resident->step_ns;

	/* A truncated file reads as zeros. */
	if (step == 0)
		return;
	for (; ns / step >= ALLO_RESIDENT_SAMPLES; step *= 2)
		allo_resident_fold(resident, 2 * step);
	if (sample > allo_resident_largest(resident))
		resident->largest_ns = ns;
	if (sample > resident->kib[ns / step])
		resident->kib[ns / step] = sample;
	resident->seen_peak = peak;
}

#endif
