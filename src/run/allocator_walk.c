/* allocator_walk.c - sums up arenas and blocks. */
#include "run/allocator_walk.h"

#include "base/defer.h"
#include "ledger/glibc_blocks.h"
#include "run/allocator_name.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/process_files.h"
#include "telemetry/snapshots.h"

#include <stdio.h>

static void take_arenas(const struct allo_glibc *glibc, struct allo_allocator_memory *memory)
{
	uint64_t system = 0, peak = 0;

	for (size_t i = 0; i < glibc->arenas.len; i++) {
		system += glibc->arenas.at[i].system_bytes;
		peak += glibc->arenas.at[i].system_peak_bytes;
	}
	memory->arenas = glibc->arenas.len;
	memory->block_map_bytes = glibc->mapped_bytes;
	memory->mapped_bytes = allo_known_sum(system, glibc->mapped_bytes);
	memory->mapped_peak_bytes = peak;
}

/* Returns the reason for missing numbers, else "". */
static const char *take_blocks(const struct allo_glibc_blocks *blocks,
			       struct allo_allocator_memory *memory)
{
	const struct allo_glibc_sum *sums = blocks->sums;

	if (sums[ALLO_BLOCK_UNKNOWN].bytes > 0)
		return blocks->why ? blocks->why : "some blocks are inconsistent";
	/* glibc counts the unused end of a heap as free, and caches of threads as in use. */
	memory->free_list_bytes = sums[ALLO_BLOCK_FREE].bytes + sums[ALLO_BLOCK_TOP].bytes;
	if (blocks->knows_caches)
		memory->thread_cache_bytes = sums[ALLO_BLOCK_CACHED].bytes;
	if (memory->mapped_bytes == ALLO_UNKNOWN)
		return "the count of blocks with their own mapping was not found";
	if (memory->mapped_bytes < memory->free_list_bytes)
		return "the process changed its heap during the walk";
	memory->allocated_bytes = memory->mapped_bytes - memory->free_list_bytes;
	return "";
}

/* NULL when memory is short; else the reason for missing numbers, or "". */
static const char *walk(const struct allo_vmas *vmas, uint64_t pid,
			struct allo_allocator_memory *memory, struct allo_error *err)
{
	ALLO_DEFER(allo_other_memory_close) struct allo_other_memory other = { .pagemap = -1 };
	ALLO_DEFER(allo_glibc_done) struct allo_glibc glibc = { 0 };
	struct allo_glibc_blocks blocks;

	allo_other_memory_open(&other, pid);
	if (!allo_glibc_find(&glibc, vmas, &other, err))
		return NULL;
	if (glibc.why)
		return glibc.why;
	take_arenas(&glibc, memory);
	return allo_glibc_walk(&glibc, &other, &blocks, err) ? take_blocks(&blocks, memory) : NULL;
}

bool allo_allocator_walk(uint64_t pid, struct allo_memory_snapshot *snapshot,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_vmas_done) struct allo_vmas vmas = { 0 };
	struct allo_allocator_memory *memory = &snapshot->allocator;
	uint64_t begin_ns = allo_clock_ns();
	struct allo_error unreadable = { 0 };
	const char *why;

	if (!allo_vmas_read(&vmas, "", pid, &unreadable)) {
		allo_snapshot_add_source(snapshot, "allocator", allo_clock_ns() - begin_ns,
					 unreadable.message);
		return true;
	}
	if (!memory->name[0])
		snprintf(memory->name, sizeof(memory->name), "%s", allo_allocator_name(&vmas, pid));
	if (strcmp(memory->name, "glibc") != 0)
		return true;
	why = walk(&vmas, pid, memory, err);
	if (!why)
		return false;
	allo_snapshot_add_source(snapshot, "allocator", allo_clock_ns() - begin_ns, why);
	return true;
}
