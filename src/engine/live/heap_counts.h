/*
 * heap_counts.h - the allocations and the live memory of a running process, as a few numbers.
 */
#ifndef ALLO_ENGINE_HEAP_COUNTS_H
#define ALLO_ENGINE_HEAP_COUNTS_H

#include "engine/source.h"
#include "watch/recorded_process.h"

struct allo_heap_counts {
	uint64_t total_blocks, total_bytes; /* ever allocated */
	uint64_t live_blocks, live_bytes;
	uint64_t peak_blocks, peak_bytes; /* live when most bytes were */
	bool is_estimated;
	bool has_earlier; /* blocks from before the recording are not counted */
};

/* From the process itself; fails if it keeps no counts. */
bool allo_heap_counts_ask(const struct allo_recorded_process *process,
			  struct allo_heap_counts *counts, struct allo_error *err);

/* From its recording, up to now. */
bool allo_heap_counts_replay(struct allo_recorded_processes *list,
			     const struct allo_recorded_process *process,
			     const struct allo_host *host, struct allo_heap_counts *counts,
			     struct allo_error *err);

/* From the recording that process `pid` has mapped, in whichever mount namespace or root. */
bool allo_heap_counts_of_pid(pid_t pid, const struct allo_host *host,
			     struct allo_heap_counts *counts, struct allo_error *err);

#endif
