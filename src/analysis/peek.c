#include "analysis/peek.h"

#include "analysis/deep_sums.h"
#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "profile/stack_walk.h"

#include <stdlib.h>

void allo_peek_done(struct allo_peek *peek)
{
	allo_top_done(&peek->top);
	allo_vec_done(&peek->matches);
	allo_vec_done(&peek->edges);
}

struct search {
	struct allo_peek *peek;
	const struct allo_profile *profile;
	const struct allo_metric_columns *columns;
	uint32_t *match_of; /* by row of the top: index of its match + 1 */
	struct allo_map map;
	uint64_t samples, steps;
	ALLO_VEC(uint32_t) entered; /* edges + 1 of the calls that a walk has entered, two each */
};

static void search_done(struct search *search)
{
	free(search->match_of);
	allo_map_done(&search->map);
	allo_vec_done(&search->entered);
}

/* Matches. */

static bool is_empty(const struct allo_values *values)
{
	return values->value == 0 && values->blocks == 0 && values->before == 0;
}

static int compare_sums(allo_sum a, allo_sum b)
{
	return (a < b) - (a > b);
}

static int compare_matches(const void *a, const void *b, void *context)
{
	const struct allo_top *top = context;
	const struct allo_peek_match *x = a, *y = b;
	int order = compare_sums(top->rows.at[x->row].total.value,
				 top->rows.at[y->row].total.value);

	return order ? order : (x->row > y->row) - (x->row < y->row);
}

static bool add_match(struct search *search, uint32_t row, struct allo_error *err)
{
	struct allo_peek *peek = search->peek;
	struct allo_peek_match match = { .row = row };

	if (search->match_of[row] != 0 || is_empty(&peek->top.rows.at[row].total))
		return true;
	if (!allo_vec_add(&peek->matches, match, err))
		return false;
	search->match_of[row] = (uint32_t)peek->matches.len;
	return true;
}

static bool find_matches(struct search *search, struct allo_pattern *pattern,
			 struct allo_error *err)
{
	struct allo_peek *peek = search->peek;
	const struct allo_profile *profile = search->profile;

	for (size_t id = 1; id < profile->frames.len; id++) {
		const struct allo_frame *frame = &profile->frames.at[id];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			uint32_t row =
				allo_top_call_of(&peek->top, profile, (allo_frame_id)id, call)->row;

			if (row != 0 && allo_pattern_matches(pattern, profile, frame, call) &&
			    !add_match(search, row - 1, err))
				return false;
		}
	}
	if (pattern->has_failed)
		return allo_fail_memory(err);
	if (peek->matches.len > 0)
		qsort_r(peek->matches.at, peek->matches.len, sizeof(*peek->matches.at),
			compare_matches, &peek->top);
	for (size_t i = 0; i < peek->matches.len; i++)
		search->match_of[peek->matches.at[i].row] = (uint32_t)i + 1;
	return true;
}

/* Edges. */

/* NULL when out of memory. */
static struct allo_peek_edge *find_edge(struct search *search, uint32_t match, uint32_t row,
					bool is_callee)
{
	struct allo_peek *peek = search->peek;
	uint64_t hash = allo_hash_pair((uint64_t)match << 32 | row, is_callee, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&search->map, hash);
	struct allo_peek_edge edge = { .match = match, .row = row, .is_callee = is_callee };
	uint32_t number;

	while ((number = allo_map_next(&search->map, &probe)) != 0) {
		struct allo_peek_edge *known = &peek->edges.at[number - 1];

		if (known->match == match && known->row == row && known->is_callee == is_callee)
			return known;
	}
	if (!allo_vec_append(&peek->edges, &edge, 1) ||
	    !allo_map_put(&search->map, hash, (uint32_t)peek->edges.len))
		return NULL;
	return &peek->edges.at[peek->edges.len - 1];
}

static bool add_to_edge(struct search *search, uint32_t match, uint32_t row, bool is_callee,
			const struct allo_values *values)
{
	struct allo_peek_edge *edge = find_edge(search, match, row, is_callee);

	if (!edge)
		return false;
	if (edge->last_sample != search->samples)
		allo_values_add(&edge->total, values);
	edge->last_sample = search->samples;
	return true;
}

/* Adds a call from one row to another. */
static bool add_call(struct search *search, uint32_t caller, uint32_t callee,
		     const struct allo_values *values)
{
	uint32_t caller_match = search->match_of[caller], callee_match = search->match_of[callee];

	ALLO_ASSERT(caller < search->peek->top.rows.len && callee < search->peek->top.rows.len);
	if (caller == callee)
		return true;
	return (caller_match == 0 || add_to_edge(search, caller_match - 1, callee, true, values)) &&
	       (callee_match == 0 || add_to_edge(search, callee_match - 1, caller, false, values));
}

static bool walk_sample(struct search *search, allo_stack_id stack,
			const struct allo_values *values)
{
	const struct allo_profile *profile = search->profile;
	struct allo_attribution *attribution = search->peek->top.attribution;
	uint32_t none = UINT32_MAX, inner = none, outermost = none, match, call;

	/* A wrapper of the allocator counts as part of its caller. */
	stack = allo_attribution_site(attribution, profile, stack);
	call = allo_attribution_site_call(attribution, profile, stack);
	for (; stack != 0; stack = profile->stacks.at[stack].parent, search->steps++) {
		allo_frame_id id = profile->stacks.at[stack].frame;
		uint32_t calls = allo_frame_call_count(&profile->frames.at[id]);

		for (; call < calls; call++, inner = outermost) {
			outermost = allo_top_call_of(&search->peek->top, profile, id, call)->row -
				    1;
			if (inner != none && !add_call(search, outermost, inner, values))
				return false;
		}
		call = 0;
	}
	match = outermost == none ? 0 : search->match_of[outermost];
	if (match != 0)
		allo_values_add(&search->peek->matches.at[match - 1].outermost, values);
	return true;
}

/* Deep stacks. */

/* Enters an edge of a walk over all stacks; its outermost call contains all others. */
static bool enter_edge(struct search *search, uint32_t match, uint32_t row, bool is_callee,
		       const struct allo_values *values)
{
	struct allo_peek_edge *edge = find_edge(search, match, row, is_callee);
	uint32_t *entered = allo_vec_push(&search->entered);

	if (!edge || !entered)
		return false;
	*entered = (uint32_t)(edge - search->peek->edges.at) + 1;
	if (edge->on_path++ == 0)
		allo_values_add(&edge->total, values);
	return true;
}

static bool enter_no_edge(struct search *search)
{
	uint32_t *entered = allo_vec_push(&search->entered);

	if (entered)
		*entered = 0;
	return entered != NULL;
}

static bool enter_call(struct search *search, uint32_t caller, uint32_t callee,
		       const struct allo_values *values)
{
	uint32_t caller_match = search->match_of[caller], callee_match = search->match_of[callee];
	bool is_call = caller != callee && !is_empty(values);

	return (is_call && caller_match ? enter_edge(search, caller_match - 1, callee, true, values)
					: enter_no_edge(search)) &&
	       (is_call && callee_match
			? enter_edge(search, callee_match - 1, caller, false, values)
			: enter_no_edge(search));
}

static void leave_call(struct search *search)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t edge = search->entered.at[--search->entered.len];

		if (edge != 0)
			search->peek->edges.at[edge - 1].on_path--;
	}
}

static uint32_t row_of(const struct search *search, allo_stack_id stack, uint32_t call)
{
	return allo_top_call_of(&search->peek->top, search->profile,
				search->profile->stacks.at[stack].frame, call)
		       ->row -
	       1;
}

static bool enter_stack(struct search *search, const struct allo_deep_sums *sums,
			allo_stack_id stack)
{
	const struct allo_profile *profile = search->profile;
	allo_frame_id id = profile->stacks.at[stack].frame;
	allo_stack_id parent = profile->stacks.at[stack].parent;
	uint32_t count = allo_frame_call_count(&profile->frames.at[id]);
	uint32_t leaf = allo_attribution_site_call(search->peek->top.attribution, profile, stack);
	uint32_t match = search->match_of[row_of(search, stack, count - 1)];
	struct allo_values values = allo_deep_values(sums, stack, count - 1, leaf);

	if (parent == 0 && match != 0)
		allo_values_add(&search->peek->matches.at[match - 1].outermost, &values);
	for (uint32_t call = count; call-- > 0;) {
		bool is_outermost = parent == 0 && call + 1 == count;
		uint32_t row = row_of(search, stack, call);
		uint32_t caller = is_outermost       ? row
				  : call + 1 < count ? row_of(search, stack, call + 1)
						     : row_of(search, parent, 0);

		values = allo_deep_values(sums, stack, call, leaf);
		if (!enter_call(search, caller, row, &values))
			return false;
	}
	return true;
}

/* Adds the samples from number `first` on. */
static bool find_edges_deep(struct search *search, size_t first, struct allo_error *err)
{
	ALLO_DEFER(allo_deep_sums_done) struct allo_deep_sums sums = { 0 };
	ALLO_DEFER(allo_stack_walk_done) struct allo_stack_walk walk = { 0 };
	const struct allo_profile *profile = search->profile;

	if (!allo_deep_sums_init(&sums, &search->peek->top, profile, search->columns, first, err) ||
	    !allo_stack_walk_init(&walk, profile, err))
		return false;
	for (allo_stack_id stack; (stack = allo_stack_walk_next(&walk)) != 0;) {
		const struct allo_frame *frame =
			&profile->frames.at[profile->stacks.at[stack].frame];

		if (!sums.is_used[stack])
			continue;
		if (!walk.is_leaving && !enter_stack(search, &sums, stack))
			return allo_fail_memory(err);
		for (uint32_t i = walk.is_leaving ? allo_frame_call_count(frame) : 0; i > 0; i--)
			leave_call(search);
	}
	return true;
}

static bool find_edges(struct search *search, struct allo_error *err)
{
	const struct allo_profile *profile = search->profile;
	uint64_t most = allo_stack_walk_budget(profile);

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, search->columns, i);

		if (search->steps > most)
			return find_edges_deep(search, i, err);
		if (is_empty(&values))
			continue;
		search->samples++;
		if (!walk_sample(search, profile->sample_stacks.at[i], &values))
			return allo_fail_memory(err);
	}
	return true;
}

static int compare_edges(const void *a, const void *b)
{
	const struct allo_peek_edge *x = a, *y = b;
	int order = (x->match > y->match) - (x->match < y->match);

	if (order == 0)
		order = x->is_callee - y->is_callee;
	if (order == 0)
		order = compare_sums(x->total.value, y->total.value);
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Sets the range of edges of each match. */
static void hand_out_edges(struct allo_peek *peek)
{
	if (peek->edges.len > 0)
		qsort(peek->edges.at, peek->edges.len, sizeof(*peek->edges.at), compare_edges);
	for (size_t i = 0; i < peek->edges.len; i++) {
		struct allo_peek_match *match = &peek->matches.at[peek->edges.at[i].match];
		bool is_callee = peek->edges.at[i].is_callee;
		size_t *count = is_callee ? &match->callee_count : &match->caller_count;

		if ((*count)++ == 0)
			*(is_callee ? &match->callees : &match->callers) = i;
	}
}

bool allo_peek_profile(struct allo_peek *peek, const struct allo_profile *profile,
		       const struct allo_metric_columns *columns, struct allo_pattern *pattern,
		       struct allo_error *err)
{
	ALLO_DEFER(search_done)
	struct search search = { .peek = peek, .profile = profile, .columns = columns };

	if (!allo_top_add(&peek->top, profile, columns, err))
		return false;
	search.match_of = calloc(peek->top.rows.len + 1, sizeof(*search.match_of));
	if (!search.match_of)
		return allo_fail_memory(err);
	if (!find_matches(&search, pattern, err) || !find_edges(&search, err))
		return false;
	hand_out_edges(peek);
	return true;
}
