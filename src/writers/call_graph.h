/*
 * call_graph.h - a call graph: stacks added up to functions, their lines and their calls.
 *
 * A sample counts once in each function: only the outermost call of a recursive function gets the
 * cost.  A function that calls itself directly is one call.  So the calls of a function never add
 * up to more than the cost that passes through it.
 */
#ifndef ALLO_WRITERS_CALL_GRAPH_H
#define ALLO_WRITERS_CALL_GRAPH_H

#include "profile/profile.h"

/* The key of a function. */
struct allo_graph_key {
	uint64_t address; /* 0 if there is a name */
	allo_string_id name, file, object;
};

/* The function that calls all outermost functions; samples without a stack belong to it. */
enum { ALLO_GRAPH_ROOT = 1 };

struct allo_graph_function {
	struct allo_graph_key key;
	allo_frame_id frame; /* one of its frames; 0 for the root */
	uint32_t call;       /* index of the call in that frame */
	uint32_t start_line;
	uint64_t last_sample; /* private: number of the last sample that passed through */
	uint32_t on_path;     /* private: number of its calls in a walk over all stacks */
};

/* The cost of a line of a function: its own, or that of its calls to one callee. */
struct allo_graph_cost {
	uint32_t function, line;
	uint32_t callee; /* 0: its own cost */
	uint64_t calls;  /* blocks that came this way or, if unknown, samples */
};

/* A step of a stack. */
struct allo_graph_call {
	uint32_t function, line;
};

/* All zeros is empty.  Functions and costs are numbered from 1: entry n is at[n - 1]. */
struct allo_call_graph {
	ALLO_VEC(struct allo_graph_function) functions;
	ALLO_VEC(struct allo_graph_cost) costs;
	ALLO_VEC(uint64_t) values; /* for each cost, a row of the profile's metrics */
	ALLO_VEC(uint64_t) sums;   /* of all samples */

	/* Private. */
	struct allo_map function_map, cost_map;
	ALLO_VEC(uint32_t) functions_of_lines;  /* by line of the profile; 0 until needed */
	ALLO_VEC(uint32_t) functions_of_frames; /* by frame, for frames without lines */
	ALLO_VEC(struct allo_graph_call) path;  /* of the current sample, innermost first */
	ALLO_VEC(uint64_t) row;                 /* its values */
	uint64_t seed, samples;
	uint64_t steps; /* calls that walks along stacks have passed */
};

void allo_call_graph_done(struct allo_call_graph *graph);

/* Adds a profile or a portion of one.  Notes values that are negative or too large. */
bool allo_call_graph_add(struct allo_call_graph *graph, const struct allo_profile *profile,
			 struct allo_notes *notes, struct allo_error *err);

#endif
