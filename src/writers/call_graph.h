/*
 * call_graph.h - stacks added up to functions, their lines and their calls.
 *
 * What a call costs is counted once a sample: a function that is on the stack already has been paid
 * for by its outermost call.  A function that calls itself directly is one call.  So no function's
 * calls add up to more than has passed through it.
 */
#ifndef ALLO_WRITERS_CALL_GRAPH_H
#define ALLO_WRITERS_CALL_GRAPH_H

#include "profile/profile.h"

/* What tells functions apart. */
struct allo_graph_key {
	uint64_t address; /* 0 where there is a name */
	allo_string_id name, file, object;
};

/* The function that calls all others, and to which belongs what has no stack. */
enum { ALLO_GRAPH_ROOT = 1 };

struct allo_graph_function {
	struct allo_graph_key key;
	allo_frame_id frame; /* an example; 0 for the root; */
	uint32_t call;       /* and which of the frame's calls */
	uint32_t start_line;
	uint64_t last_sample; /* private: number of the last one that has passed through */
};

/* What a line of a function costs: by itself, or all that one callee does for it. */
struct allo_graph_cost {
	uint32_t function, line;
	uint32_t callee; /* 0: by itself */
	uint64_t calls;  /* how many blocks or, where that is not known, samples came this way */
};

/* A step of a stack. */
struct allo_graph_call {
	uint32_t function, line;
};

/* All zeros is empty.  Functions and costs are numbered from 1: entry n is at[n - 1]. */
struct allo_call_graph {
	ALLO_VEC(struct allo_graph_function) functions;
	ALLO_VEC(struct allo_graph_cost) costs;
	ALLO_VEC(uint64_t) values; /* a row of the profile's metrics a cost */
	ALLO_VEC(uint64_t) sums;   /* of all samples */

	/* Private. */
	struct allo_map function_map, cost_map;
	ALLO_VEC(uint32_t) functions_of_lines;  /* by line of the profile; 0 until it is needed */
	ALLO_VEC(uint32_t) functions_of_frames; /* by frame, for those without lines */
	ALLO_VEC(struct allo_graph_call) path;  /* of the sample at hand, innermost first */
	ALLO_VEC(uint64_t) row;                 /* its values */
	uint64_t seed, samples;
};

void allo_call_graph_done(struct allo_call_graph *graph);

/* Adds a profile, or a portion of one.  Notes values that are negative or do not fit. */
bool allo_call_graph_add(struct allo_call_graph *graph, const struct allo_profile *profile,
			 struct allo_notes *notes, struct allo_error *err);

#endif
