/*
 * module_search.h - the modules that contain the addresses of a recording's stacks.
 *
 * A module is loaded in a range of generations, and others may be loaded at its addresses before
 * and after.  Damaged and hostile files have any number of modules that overlap, so the search
 * passes through the generations once and keeps the modules of the current one in a tree.
 */
#ifndef ALLO_REPLAY_MODULE_SEARCH_H
#define ALLO_REPLAY_MODULE_SEARCH_H

#include "replay/recording/recording.h"

/* All zeros is nothing to free. */
struct allo_module_search {
	const struct allo_recording *recording;

	/* Private from here on. */
	uint32_t *by_start, *by_end; /* modules by the generation where they come, and go */
	size_t started, ended;       /* numbers of them so far */
	size_t leaves;               /* a power of two */
	uint64_t *reach; /* a heap-ordered tree: the largest end of the loaded modules below */
};

bool allo_module_search_init(struct allo_module_search *search,
			     const struct allo_recording *recording, struct allo_error *err);
void allo_module_search_done(struct allo_module_search *search);

/* The module that contains an address in a generation, or NULL.  Of several it is the one with the
 * highest start.  Generations must not decrease from call to call. */
const struct allo_loaded_module *allo_module_search_find(struct allo_module_search *search,
							 uint64_t address, uint32_t generation);

/* The modules of all nodes of a recording: 1 + index in recording->modules, or 0.  NULL when memory
 * is short; the caller frees it. */
uint32_t *allo_modules_of_nodes(const struct allo_recording *recording, struct allo_error *err);

#endif
