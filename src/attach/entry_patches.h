/*
 * entry_patches.h - writes the entries of functions in another process, while all its threads stand
 * still.
 */
#ifndef ALLO_ATTACH_ENTRY_PATCHES_H
#define ALLO_ATTACH_ENTRY_PATCHES_H

#include "attach/tracee_modules.h"
#include "attach/tracee_threads.h"
#include "wire/attach_plan.h"

/* What the entries of a plan hold now. */
enum allo_entries {
	ALLO_ENTRIES_OLD,
	ALLO_ENTRIES_NEW,
	ALLO_ENTRIES_MIXED,   /* a program that was killed has written some of them */
	ALLO_ENTRIES_FOREIGN, /* someone else has changed them */
};

/* Reads the plan of a runtime that is loaded; false if it has made none. */
bool allo_entries_plan(const struct allo_tracee_memory *memory,
		       const struct allo_tracee_module *runtime, struct allo_attach_plan *plan);

enum allo_entries allo_entries_state(const struct allo_tracee_memory *memory,
				     const struct allo_attach_plan *plan);

/* What was done: the time from the first stop to the last thread that went on. */
struct allo_entries_result {
	uint64_t stopped_ns;
	size_t threads;
};

/* Stops all threads, writes the new bytes, or the old ones back, and lets all threads go. */
bool allo_entries_write(struct allo_tracee_threads *threads, struct allo_tracee_memory *memory,
			const struct allo_attach_plan *plan, bool is_new,
			struct allo_entries_result *result, struct allo_error *err);

#endif
