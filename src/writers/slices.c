/* slices.c - turns samples into starts and ends of calls. */
#include "writers/slices.h"

#include "analysis/tree.h"
#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>

void allo_slices_done(struct allo_slices *slices)
{
	for (size_t i = 0; i < slices->threads.len; i++)
		allo_vec_done(&slices->threads.at[i].calls);
	allo_vec_done(&slices->threads);
	allo_vec_done(&slices->first_of);
	allo_map_done(&slices->thread_map);
	allo_vec_done(&slices->order);
	allo_vec_done(&slices->frames);
	allo_vec_done(&slices->stack);
	allo_profile_done(&slices->untimed);
	allo_calls_done(&slices->calls);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void send_begin(const struct allo_slices *slices, allo_thread_id thread, uint32_t call,
		       uint64_t time)
{
	slices->sink.begin(slices->sink.context, thread, call, time);
}

static void send_end(const struct allo_slices *slices, allo_thread_id thread, uint32_t call,
		     uint64_t time)
{
	slices->sink.end(slices->sink.context, thread, call, time);
}

/* Threads. */

struct allo_slice_thread allo_slices_thread(const struct allo_profile *profile, allo_thread_id id)
{
	struct allo_thread thread = id ? profile->threads.at[id] : (struct allo_thread){ 0 };

	if (thread.pid > UINT32_MAX || thread.tid > UINT32_MAX)
		return (struct allo_slice_thread){ (uint32_t)thread.pid, UINT32_MAX - id };
	return (struct allo_slice_thread){ (uint32_t)thread.pid, (uint32_t)thread.tid };
}

/* The first thread so far with the same pid and tid; false when memory is short. */
static bool find_first(struct allo_slices *slices, allo_thread_id id, allo_thread_id *first)
{
	struct allo_slice_thread own = allo_slices_thread(slices->profile, id);
	uint64_t hash = allo_hash_pair(own.pid, own.tid, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&slices->thread_map, hash);
	uint32_t found;

	while ((found = allo_map_next(&slices->thread_map, &probe)) != 0) {
		struct allo_slice_thread other = allo_slices_thread(slices->profile, found - 1);

		*first = found - 1;
		if (other.pid == own.pid && other.tid == own.tid)
			return true;
	}
	*first = id;
	return allo_map_put(&slices->thread_map, hash, id + 1);
}

static bool cover_threads(struct allo_slices *slices)
{
	/* A profile without threads has thread 0. */
	size_t count = slices->profile->threads.len ? slices->profile->threads.len : 1;

	if (!allo_vec_cover(&slices->threads, count))
		return false;
	while (slices->first_of.len < count) {
		allo_thread_id first;

		if (!find_first(slices, (allo_thread_id)slices->first_of.len, &first) ||
		    !allo_vec_append(&slices->first_of, &first, 1))
			return false;
	}
	return true;
}

/* Samples with times. */

/* Ends all but the `kept` outermost calls of a thread. */
static void end_calls(struct allo_slices *slices, allo_thread_id thread, size_t kept, uint64_t time)
{
	struct allo_open_calls *open = &slices->threads.at[thread];

	while (open->calls.len > kept)
		send_end(slices, thread, open->calls.at[--open->calls.len], time);
}

/* Lists the calls of a stack, the outermost first.  At most `going` of them continue from before.
 */
static bool list_calls(struct allo_slices *slices, allo_stack_id stack, uint32_t going_on,
		       size_t *going)
{
	const struct allo_profile *profile = slices->profile;

	slices->frames.len = slices->stack.len = 0;
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		allo_frame_id *frame = allo_vec_push(&slices->frames);

		if (!frame)
			return false;
		*frame = profile->stacks.at[stack].frame;
	}
	*going = going_on > 0 && going_on <= slices->frames.len ? 0 : ALLO_SLICES_DEPTH;
	for (size_t i = slices->frames.len; i-- > 0 && slices->stack.len < ALLO_SLICES_DEPTH;) {
		allo_frame_id frame = slices->frames.at[i];
		uint32_t count = allo_frame_call_count(&profile->frames.at[frame]);

		if (!allo_vec_reserve(&slices->stack, count))
			return false;
		while (count-- > 0 && slices->stack.len < ALLO_SLICES_DEPTH)
			slices->stack.at[slices->stack.len++] = allo_calls_of(&slices->calls,
									      frame)[count];
		if (slices->frames.len - i + 1 == going_on)
			*going = slices->stack.len;
	}
	return true;
}

static bool add_sample(struct allo_slices *slices, allo_stack_id stack,
		       const struct allo_when *when)
{
	allo_thread_id thread = slices->first_of.at[when->thread];
	struct allo_open_calls *open = &slices->threads.at[thread];
	uint64_t start = when->start_ns > open->now ? when->start_ns : open->now;
	size_t same = 0, going;

	if (!list_calls(slices, stack, when->going_on, &going) ||
	    !allo_vec_reserve(&open->calls, slices->stack.len))
		return false;
	if (start > add_saturating(open->end, when->going_on > 0 ? 0 : open->longest_gap))
		end_calls(slices, thread, 0, open->end);
	while (same < going && same < open->calls.len && same < slices->stack.len &&
	       open->calls.at[same] == slices->stack.at[same])
		same++;
	end_calls(slices, thread, same, start);
	ALLO_ASSERT(open->calls.len == same);
	for (size_t i = same; i < slices->stack.len; i++) {
		send_begin(slices, thread, slices->stack.at[i], start);
		open->calls.at[open->calls.len++] = slices->stack.at[i];
	}
	open->now = start;
	open->end = add_saturating(start, when->duration_ns);
	open->longest_gap = when->duration_ns / 2;
	return true;
}

/* Whether the samples of each thread are in the order of time, as they nearly always are. */
static bool are_in_order(struct allo_slices *slices, const struct allo_profile *portion)
{
	for (size_t i = 0; i < portion->sample_times.len; i++) {
		const struct allo_when *when = &portion->sample_times.at[i];
		struct allo_open_calls *open =
			&slices->threads.at[slices->first_of.at[when->thread]];

		if (when->start_ns < open->latest)
			return false;
		open->latest = when->start_ns;
	}
	return true;
}

static int compare_times(const void *a, const void *b, void *context)
{
	const struct allo_when *times = context;
	const uint32_t *x = a, *y = b;

	if (times[*x].start_ns != times[*y].start_ns)
		return times[*x].start_ns < times[*y].start_ns ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static bool sort_samples(struct allo_slices *slices, const struct allo_profile *portion)
{
	size_t count = portion->sample_times.len;

	slices->order.len = 0;
	if (!allo_vec_cover(&slices->order, count))
		return false;
	for (size_t i = 0; i < count; i++)
		slices->order.at[i] = (uint32_t)i;
	qsort_r(slices->order.at, count, sizeof(*slices->order.at), compare_times,
		portion->sample_times.at);
	return true;
}

static bool add_samples(struct allo_slices *slices, const struct allo_profile *portion)
{
	bool is_sorted;

	if (!allo_calls_cover(&slices->calls, portion) || !cover_threads(slices))
		return false;
	is_sorted = are_in_order(slices, portion);
	if (!is_sorted && !sort_samples(slices, portion))
		return false;
	for (size_t i = 0; i < portion->sample_times.len; i++) {
		size_t sample = is_sorted ? i : slices->order.at[i];

		if (!add_sample(slices, portion->sample_stacks.at[sample],
				&portion->sample_times.at[sample]))
			return false;
	}
	return true;
}

bool allo_slices_add(struct allo_slices *slices, const struct allo_profile *portion,
		     struct allo_error *err)
{
	slices->profile = portion;
	slices->has_times |= portion->sample_times.len > 0;
	if (allo_profile_sample_count(portion) == 0)
		return true;
	if (!slices->has_times)
		return allo_profile_merge(&slices->untimed, portion, err);
	return add_samples(slices, portion) || allo_fail_memory(err);
}

/* Samples without times. */

/* An open node of the tree. */
struct drawn {
	allo_node_id node;
	uint64_t end;
};

struct painter {
	struct allo_slices *slices;
	struct allo_tree tree;
	ALLO_VEC(struct drawn) open; /* the outermost first */
};

static void painter_done(struct painter *painter)
{
	allo_tree_done(&painter->tree);
	allo_vec_done(&painter->open);
}

static uint32_t call_of(const struct painter *painter, allo_node_id id)
{
	const struct allo_tree_node *node = &painter->tree.nodes.at[id];

	return allo_calls_of(&painter->slices->calls, node->frame)[node->call];
}

static bool begin_node(struct painter *painter, allo_node_id node, uint64_t time)
{
	uint64_t width = allo_sum_number(painter->tree.nodes.at[node].width).magnitude;
	struct drawn drawn = { node, add_saturating(time, width) };

	send_begin(painter->slices, 0, call_of(painter, node), time);
	return allo_vec_append(&painter->open, &drawn, 1);
}

/* Ends the innermost open node; returns its right neighbour, or 0. */
static allo_node_id end_node(struct painter *painter, uint64_t *time)
{
	struct drawn drawn = painter->open.at[--painter->open.len];

	ALLO_ASSERT(drawn.end >= *time);
	*time = drawn.end;
	send_end(painter->slices, 0, call_of(painter, drawn.node), *time);
	return painter->tree.nodes.at[drawn.node].next_sibling;
}

static bool draw_tree(struct painter *painter)
{
	const struct allo_tree_node *nodes = painter->tree.nodes.at;
	allo_node_id next = nodes[0].first_child;
	uint64_t time = 0;

	while (next != 0 || painter->open.len > 0) {
		if (next == 0)
			next = end_node(painter, &time);
		else if (nodes[next].width == 0)
			next = nodes[next].next_sibling;
		else if (!begin_node(painter, next, time))
			return false;
		else
			next = painter->open.len < ALLO_SLICES_DEPTH ? nodes[next].first_child : 0;
	}
	return true;
}

static bool draw_untimed(struct allo_slices *slices, struct allo_error *err)
{
	ALLO_DEFER(painter_done) struct painter painter = { .slices = slices };
	const struct allo_tree_options options = { .grain = ALLO_GRAIN_FUNCTION };
	const struct allo_profile *profile = &slices->untimed;
	struct allo_metric_columns columns;

	if (allo_profile_sample_count(profile) == 0 || profile->metrics.len == 0)
		return true;
	columns = allo_metric_columns_of(profile, allo_default_metric(profile));
	slices->profile = profile;
	if (!allo_tree_from_profile(&painter.tree, profile, &columns, &options, err))
		return false;
	return (allo_calls_cover(&slices->calls, profile) && draw_tree(&painter)) ||
	       allo_fail_memory(err);
}

bool allo_slices_end(struct allo_slices *slices, const struct allo_profile *profile,
		     struct allo_error *err)
{
	slices->profile = profile;
	for (size_t i = 0; i < slices->threads.len; i++)
		end_calls(slices, (allo_thread_id)i, 0, slices->threads.at[i].end);
	return draw_untimed(slices, err);
}
