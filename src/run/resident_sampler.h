/*
 * resident_sampler.h - samples the resident memory of recorded processes from outside.
 *
 * `allo run` samples while it waits for the program, and writes each sample to the recording at
 * once (wire/resident_samples.h), so that they survive both.  A sample reads /proc/PID/status, in
 * about 20 us.  A breakdown of the memory, as 'allo mem' prints it, is made when the process has
 * grown, and takes at most 0.25 % of the time.
 */
#ifndef ALLO_RUN_RESIDENT_SAMPLER_H
#define ALLO_RUN_RESIDENT_SAMPLER_H

#include "run/recordings.h"
#include "wire/resident_samples.h"

/* A process that is sampled. */
struct allo_sampled_process {
	pid_t pid;
	int fd;            /* of the recording */
	uint64_t start_ns; /* of the recording */
	uint64_t at;       /* offset of `resident` in the file */
	dev_t exe_device;  /* the program that is recorded: exec replaces it */
	ino_t exe_inode;
	const char *allocator;  /* NULL before the first breakdown */
	uint64_t breakdown_rss; /* at the last one */
	uint64_t breakdown_ns;  /* CPU time of all */
	struct allo_wire_resident resident;
};

/* All zeros: no processes. */
struct allo_resident_sampler {
	/* Private from here on. */
	size_t recordings_seen;
	uint64_t begin_ns;     /* of the first look */
	uint64_t breakdown_ns; /* CPU time of all breakdowns */
	ALLO_VEC(struct allo_sampled_process *) processes;
};

/* Samples all processes of a list, and reads more of the list.  Returns the milliseconds until
 * the next time: few at first, more in a long run and with many processes. */
unsigned allo_resident_sampler_look(struct allo_resident_sampler *sampler,
				    struct allo_recordings *recordings);

/* After the end of `pid`: gives `peak`, the largest resident memory of the process by wait4(), to
 * its last recording, unless the process itself noted it, or has executed another program since. */
void allo_resident_sampler_end(const struct allo_recordings *recordings, pid_t pid, uint64_t peak);

void allo_resident_sampler_done(struct allo_resident_sampler *sampler);

#endif
