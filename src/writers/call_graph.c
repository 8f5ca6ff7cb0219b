/* call_graph.c - adds samples to functions and costs, both interned in maps. */
#include "writers/call_graph.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "profile/stack_walk.h"

#include <stdlib.h>

void allo_call_graph_done(struct allo_call_graph *graph)
{
	allo_vec_done(&graph->functions);
	allo_vec_done(&graph->costs);
	allo_vec_done(&graph->values);
	allo_vec_done(&graph->sums);
	allo_map_done(&graph->function_map);
	allo_map_done(&graph->cost_map);
	allo_vec_done(&graph->functions_of_lines);
	allo_vec_done(&graph->functions_of_frames);
	allo_vec_done(&graph->path);
	allo_vec_done(&graph->row);
}

/* Functions. */

static struct allo_graph_key key_of(const struct allo_profile *profile,
				    const struct allo_frame *frame, struct allo_line line)
{
	struct allo_graph_key key = { 0 };

	if (line.function) {
		key.name = profile->functions.at[line.function].name;
		key.file = profile->functions.at[line.function].file;
	}
	if (key.name == 0)
		key.address = frame->address;
	if (frame->module)
		key.object = profile->modules.at[frame->module].path;
	return key;
}

static bool same_key(const struct allo_graph_key *a, const struct allo_graph_key *b)
{
	return a->address == b->address && a->name == b->name && a->file == b->file &&
	       a->object == b->object;
}

/* The number of a function; 0 when memory is short. */
static uint32_t add_function(struct allo_call_graph *graph,
			     const struct allo_graph_function *function)
{
	const struct allo_graph_key *key = &function->key;
	uint64_t hash = allo_hash_pair((uint64_t)key->name << 32 | key->file,
				       key->address ^ (uint64_t)key->object << 32, graph->seed);
	struct allo_probe probe = allo_map_probe(&graph->function_map, hash);
	uint32_t number;

	while ((number = allo_map_next(&graph->function_map, &probe)) != 0) {
		if (same_key(&graph->functions.at[number - 1].key, key))
			return number;
	}
	number = (uint32_t)graph->functions.len + 1;
	if (!allo_vec_append(&graph->functions, function, 1) ||
	    !allo_map_put(&graph->function_map, hash, number))
		return 0;
	return number;
}

/* The number of the function of a frame's call; 0 when memory is short. */
static uint32_t function_of(struct allo_call_graph *graph, const struct allo_profile *profile,
			    allo_frame_id id, uint32_t call)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	struct allo_line line = allo_call_line(profile, frame, call);
	uint32_t *known = frame->line_count
				  ? &graph->functions_of_lines.at[frame->first_line + call]
				  : &graph->functions_of_frames.at[id];
	struct allo_graph_function function = { .frame = id, .call = call };

	if (*known)
		return *known;
	function.key = key_of(profile, frame, line);
	if (line.function)
		function.start_line = profile->functions.at[line.function].start_line;
	return *known = add_function(graph, &function);
}

/* Costs. */

/* The number of a cost; 0 when memory is short. */
static uint32_t cost_of(struct allo_call_graph *graph, struct allo_graph_call call, uint32_t callee)
{
	struct allo_graph_cost cost = { call.function, call.line, callee, 0 };
	uint64_t hash = allo_hash_pair((uint64_t)call.function << 32 | call.line, callee,
				       graph->seed);
	struct allo_probe probe = allo_map_probe(&graph->cost_map, hash);
	uint32_t number;

	while ((number = allo_map_next(&graph->cost_map, &probe)) != 0) {
		const struct allo_graph_cost *old = &graph->costs.at[number - 1];

		if (old->function == call.function && old->line == call.line &&
		    old->callee == callee)
			return number;
	}
	number = (uint32_t)graph->costs.len + 1;
	if (number == 0 || !allo_vec_append(&graph->costs, &cost, 1) ||
	    !allo_vec_cover(&graph->values, graph->costs.len * graph->row.len) ||
	    !allo_map_put(&graph->cost_map, hash, number))
		return 0;
	return number;
}

static void add_value(uint64_t *sum, uint64_t more, struct allo_notes *notes)
{
	if (__builtin_add_overflow(*sum, more, sum)) {
		*sum = UINT64_MAX;
		allo_note(notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	}
}

static void add_row(const struct allo_call_graph *graph, uint64_t *to, const uint64_t *row,
		    struct allo_notes *notes)
{
	for (size_t i = 0; i < graph->row.len; i++)
		add_value(&to[i], row[i], notes);
}

static void add_to_cost(struct allo_call_graph *graph, uint32_t cost, const uint64_t *row,
			struct allo_notes *notes)
{
	ALLO_ASSERT(cost * graph->row.len <= graph->values.len);
	add_row(graph, graph->values.at + (cost - 1) * graph->row.len, row, notes);
}

/* Samples. */

/* One call further from the leaf. */
static bool add_step(struct allo_call_graph *graph, uint32_t function, uint32_t line)
{
	struct allo_graph_call step = { function, line };

	/* Of direct recursion only the innermost call stays: it calls the next function. */
	if (graph->path.len > 0 && graph->path.at[graph->path.len - 1].function == function)
		return true;
	return function != 0 && allo_vec_append(&graph->path, &step, 1);
}

static bool find_path(struct allo_call_graph *graph, const struct allo_profile *profile,
		      allo_stack_id stack)
{
	graph->path.len = 0;
	for (; stack != 0; stack = profile->stacks.at[stack].parent, graph->steps++) {
		allo_frame_id id = profile->stacks.at[stack].frame;
		const struct allo_frame *frame = &profile->frames.at[id];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			if (!add_step(graph, function_of(graph, profile, id, call),
				      allo_call_line(profile, frame, call).line))
				return false;
		}
	}
	return add_step(graph, ALLO_GRAPH_ROOT, 0);
}

static void take_row(struct allo_call_graph *graph, const struct allo_profile *profile,
		     size_t sample, struct allo_notes *notes)
{
	const uint64_t *row = allo_profile_row(profile, sample);

	for (size_t i = 0; i < graph->row.len; i++) {
		bool is_negative = profile->metrics.at[i].is_signed && (int64_t)row[i] < 0;

		graph->row.at[i] = is_negative ? 0 : row[i];
		if (is_negative)
			allo_note(notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
	}
}

static bool add_path(struct allo_call_graph *graph, uint64_t calls, struct allo_notes *notes)
{
	uint32_t cost = cost_of(graph, graph->path.at[0], 0);

	ALLO_ASSERT(graph->path.at[graph->path.len - 1].function == ALLO_GRAPH_ROOT);
	if (cost == 0)
		return false;
	add_to_cost(graph, cost, graph->row.at, notes);
	graph->samples++;
	for (size_t i = graph->path.len; i-- > 0;) {
		uint32_t callee = graph->path.at[i].function;
		struct allo_graph_function *function = &graph->functions.at[callee - 1];
		bool is_outermost = function->last_sample != graph->samples;

		ALLO_ASSERT(callee <= graph->functions.len);
		function->last_sample = graph->samples;
		if (callee == ALLO_GRAPH_ROOT)
			continue;
		cost = cost_of(graph, graph->path.at[i + 1], callee);
		if (cost == 0)
			return false;
		add_value(&graph->costs.at[cost - 1].calls, calls, notes);
		if (is_outermost)
			add_to_cost(graph, cost, graph->row.at, notes);
	}
	return true;
}

/* Deep stacks. */

/* The rows of the samples that pass through each stack, and in front of each the number of calls.
 */
struct deep_rows {
	uint64_t *at;
	size_t width;
};

static void deep_rows_done(struct deep_rows *rows)
{
	free(rows->at);
}

static uint64_t *deep_row(const struct deep_rows *rows, size_t stack)
{
	return rows->at + stack * rows->width;
}

/* Adds the own cost of a sample to its innermost call, and its row to its stack. */
static bool add_own(struct allo_call_graph *graph, const struct allo_profile *profile,
		    allo_stack_id stack, uint64_t calls, const struct deep_rows *rows,
		    struct allo_notes *notes)
{
	allo_frame_id id = stack ? profile->stacks.at[stack].frame : 0;
	struct allo_graph_call leaf = { ALLO_GRAPH_ROOT, 0 };
	uint32_t cost;

	if (stack) {
		leaf.function = function_of(graph, profile, id, 0);
		leaf.line = allo_call_line(profile, &profile->frames.at[id], 0).line;
	}
	cost = leaf.function ? cost_of(graph, leaf, 0) : 0;
	if (cost == 0)
		return false;
	add_to_cost(graph, cost, graph->row.at, notes);
	add_value(deep_row(rows, stack), calls, notes);
	add_row(graph, deep_row(rows, stack) + 1, graph->row.at, notes);
	return true;
}

/* Adds the call that a walk over all stacks has entered.  graph->path has its callers. */
static bool enter_call(struct allo_call_graph *graph, uint32_t function, uint32_t line,
		       const uint64_t *row, struct allo_notes *notes)
{
	const struct allo_graph_call root = { ALLO_GRAPH_ROOT, 0 };
	struct allo_graph_call step = { function, line };
	struct allo_graph_call caller = graph->path.len ? graph->path.at[graph->path.len - 1]
							: root;
	bool is_outermost;
	uint32_t cost;

	if (function == 0 || !allo_vec_append(&graph->path, &step, 1))
		return false;
	is_outermost = graph->functions.at[function - 1].on_path++ == 0;
	if (caller.function == function)
		return true;
	cost = cost_of(graph, caller, function);
	if (cost == 0)
		return false;
	add_value(&graph->costs.at[cost - 1].calls, row[0], notes);
	if (is_outermost)
		add_to_cost(graph, cost, row + 1, notes);
	return true;
}

static void leave_call(struct allo_call_graph *graph)
{
	graph->functions.at[graph->path.at[--graph->path.len].function - 1].on_path--;
}

static bool walk_stack(struct allo_call_graph *graph, const struct allo_profile *profile,
		       allo_stack_id stack, bool is_leaving, const uint64_t *row,
		       struct allo_notes *notes)
{
	allo_frame_id id = profile->stacks.at[stack].frame;
	const struct allo_frame *frame = &profile->frames.at[id];

	for (uint32_t call = allo_frame_call_count(frame); call-- > 0;) {
		if (is_leaving)
			leave_call(graph);
		else if (!enter_call(graph, function_of(graph, profile, id, call),
				     allo_call_line(profile, frame, call).line, row, notes))
			return false;
	}
	return true;
}

static bool has_any(const uint64_t *row, size_t width)
{
	for (size_t i = 0; i < width; i++) {
		if (row[i] != 0)
			return true;
	}
	return false;
}

/* Adds the rows of all stacks to those of their callers, then the stacks to the graph. */
static bool add_stacks(struct allo_call_graph *graph, const struct allo_profile *profile,
		       const struct deep_rows *rows, struct allo_notes *notes,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_stack_walk_done) struct allo_stack_walk walk = { 0 };

	if (!allo_stack_walk_init(&walk, profile, err))
		return false;
	for (size_t i = profile->stacks.len; i-- > 1;) {
		for (size_t k = 0; k < rows->width; k++)
			add_value(&deep_row(rows, profile->stacks.at[i].parent)[k],
				  deep_row(rows, i)[k], notes);
	}
	graph->path.len = 0;
	for (allo_stack_id stack; (stack = allo_stack_walk_next(&walk)) != 0;) {
		const uint64_t *row = deep_row(rows, stack);

		if (has_any(row, rows->width) &&
		    !walk_stack(graph, profile, stack, walk.is_leaving, row, notes))
			return allo_fail_memory(err);
	}
	return true;
}

/* Samples and profiles. */

static bool prepare(struct allo_call_graph *graph, const struct allo_profile *profile)
{
	if (graph->seed == 0)
		graph->seed = allo_hash_seed() | 1;
	/* The root is not in the map, so no other function is mistaken for it. */
	if (!allo_vec_cover(&graph->functions, ALLO_GRAPH_ROOT))
		return false;
	return allo_vec_cover(&graph->row, profile->metrics.len) &&
	       allo_vec_cover(&graph->sums, profile->metrics.len) &&
	       allo_vec_cover(&graph->functions_of_lines, profile->lines.len) &&
	       allo_vec_cover(&graph->functions_of_frames, profile->frames.len);
}

static uint64_t calls_of(const struct allo_call_graph *graph, const struct allo_profile *profile)
{
	size_t blocks;

	return allo_profile_find_metric(profile, ALLO_ALLOC_BLOCKS, &blocks) ? graph->row.at[blocks]
									     : 1;
}

static void take_sample(struct allo_call_graph *graph, const struct allo_profile *profile,
			size_t sample, struct allo_notes *notes)
{
	take_row(graph, profile, sample, notes);
	add_row(graph, graph->sums.at, graph->row.at, notes);
}

/* Adds the samples from number `first` on. */
static bool add_deep(struct allo_call_graph *graph, const struct allo_profile *profile,
		     size_t first, struct allo_notes *notes, struct allo_error *err)
{
	ALLO_DEFER(deep_rows_done) struct deep_rows rows = { .width = graph->row.len + 1 };

	rows.at = calloc(profile->stacks.len + 1, rows.width * sizeof(*rows.at));
	if (!rows.at)
		return allo_fail_memory(err);
	for (size_t i = first; i < allo_profile_sample_count(profile); i++) {
		take_sample(graph, profile, i, notes);
		if (!add_own(graph, profile, profile->sample_stacks.at[i], calls_of(graph, profile),
			     &rows, notes))
			return allo_fail_memory(err);
	}
	return add_stacks(graph, profile, &rows, notes, err);
}

bool allo_call_graph_add(struct allo_call_graph *graph, const struct allo_profile *profile,
			 struct allo_notes *notes, struct allo_error *err)
{
	uint64_t most = graph->steps + allo_stack_walk_budget(profile);

	if (!prepare(graph, profile))
		return allo_fail_memory(err);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (graph->steps > most)
			return add_deep(graph, profile, i, notes, err);
		take_sample(graph, profile, i, notes);
		if (!find_path(graph, profile, profile->sample_stacks.at[i]) ||
		    !add_path(graph, calls_of(graph, profile), notes))
			return allo_fail_memory(err);
	}
	return true;
}
