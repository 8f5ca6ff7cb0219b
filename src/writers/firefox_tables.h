/*
 * firefox_tables.h - stacks, frames, functions and modules in the layout of the Firefox Profiler.
 */
#ifndef ALLO_WRITERS_FIREFOX_TABLES_H
#define ALLO_WRITERS_FIREFOX_TABLES_H

#include "writers/writer.h"

/* No index: written as null. */
#define ALLO_FIREFOX_NONE UINT32_MAX

/* A function in a module.  `frame` is set only if the name is unknown. */
struct allo_firefox_func {
	allo_function_id function;
	allo_module_id module;
	allo_frame_id frame;
	uint32_t name, source; /* in strings[] and sources[]; may be none */
};

/* A row of the frame table: one call of a frame. */
struct allo_firefox_row {
	allo_frame_id frame;
	uint32_t call, func;
};

struct allo_firefox_node {
	uint32_t row, prefix; /* in rows[]; the caller's node, none for an outermost call */
};

/* All zeros is empty. */
struct allo_firefox_tables {
	const struct allo_profile *profile;
	struct allo_arena made; /* strings that are not in the profile */
	ALLO_VEC(struct allo_text) strings;
	ALLO_VEC(uint32_t) sources; /* file names, in strings[] */
	ALLO_VEC(struct allo_firefox_func) funcs;
	struct allo_map func_map;                 /* of indices + 1 */
	ALLO_VEC(struct allo_firefox_row) rows;   /* of the frame table, the outermost call first */
	ALLO_VEC(struct allo_firefox_node) nodes; /* of the stack table */
	uint32_t *string_of;                      /* + 1, by the profile's string */
	uint32_t *source_of;                      /* + 1, by the profile's string */
	uint32_t *first_row;                      /* by frame */
	uint32_t *last_node;                      /* by stack */
};

bool allo_firefox_tables_init(struct allo_firefox_tables *tables,
			      const struct allo_profile *profile, struct allo_error *err);
void allo_firefox_tables_done(struct allo_firefox_tables *tables);

/* The index of a stack in the stack table; none for the empty one. */
static inline uint32_t allo_firefox_stack(const struct allo_firefox_tables *tables,
					  allo_stack_id stack)
{
	return tables->last_node[stack];
}

/* Writes the object "shared". */
void allo_firefox_put_tables(const struct allo_firefox_tables *tables, struct allo_output *out);

#endif
