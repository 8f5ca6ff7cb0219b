/* answer_dhat.c - the ask "dhat": program points as DHAT's viewer shows them
 * (analysis/dhat_tree.h). */
#include "analysis/accesses.h"
#include "analysis/dhat_tree.h"
#include "analysis/filters/pattern.h"
#include "base/defer.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "view/answers/answers.h"

#include <stdlib.h>

/* Values that add up; the maxima of single points do not. */
static const enum allo_pp_field fields[] = {
	ALLO_PP_TOTAL_BYTES, ALLO_PP_TOTAL_BLOCKS, ALLO_PP_LIFETIMES,
	ALLO_PP_PEAK_BYTES,  ALLO_PP_PEAK_BLOCKS,  ALLO_PP_END_BYTES,
	ALLO_PP_END_BLOCKS,  ALLO_PP_READS,        ALLO_PP_WRITES,
};

enum { SHOWN_FIELDS = sizeof(fields) / sizeof(*fields) };

static const char *const field_names[ALLO_PP_FIELDS] = {
	[ALLO_PP_TOTAL_BYTES] = "total_bytes", [ALLO_PP_TOTAL_BLOCKS] = "total_blocks",
	[ALLO_PP_LIFETIMES] = "lifetime",      [ALLO_PP_PEAK_BYTES] = "peak_bytes",
	[ALLO_PP_PEAK_BLOCKS] = "peak_blocks", [ALLO_PP_END_BYTES] = "end_bytes",
	[ALLO_PP_END_BLOCKS] = "end_blocks",   [ALLO_PP_READS] = "read_bytes",
	[ALLO_PP_WRITES] = "write_bytes",
};

/* Bits of the column `match`. */
enum { MATCHES = 1, MATCHES_BELOW = 2 };

struct dhat_columns {
	ALLO_VEC(uint32_t) depth, number, of, children, merged, point, calls, first_call;
	ALLO_VEC(double) points;
	ALLO_VEC(uint8_t) significant, match;
	ALLO_VEC(uint32_t) call, line; /* of all nodes, one after the other */
	ALLO_VEC(double) values;       /* of a field, used again for the next one */
	/* Runs of bytes with equal access counts, of all nodes: the number of runs of each node,
	 * and of each run its length and count. */
	ALLO_VEC(uint32_t) runs, run_count;
	ALLO_VEC(double) run_length;
};

static void dhat_columns_done(struct dhat_columns *columns)
{
	allo_vec_done(&columns->depth);
	allo_vec_done(&columns->number);
	allo_vec_done(&columns->of);
	allo_vec_done(&columns->children);
	allo_vec_done(&columns->merged);
	allo_vec_done(&columns->point);
	allo_vec_done(&columns->calls);
	allo_vec_done(&columns->first_call);
	allo_vec_done(&columns->points);
	allo_vec_done(&columns->significant);
	allo_vec_done(&columns->match);
	allo_vec_done(&columns->call);
	allo_vec_done(&columns->line);
	allo_vec_done(&columns->values);
	allo_vec_done(&columns->runs);
	allo_vec_done(&columns->run_length);
	allo_vec_done(&columns->run_count);
}

/* Samples. */

/* Whether a sample has a value now; metrics come in pairs. */
static bool has_value(const struct allo_profile *old, size_t sample, size_t width)
{
	const uint64_t *row = old->values.at + sample * width;

	for (size_t i = 1; i < width; i += 2) {
		if (row[i])
			return true;
	}
	return false;
}

/* Copies the stacks of these samples; `became` has the new stack of each. */
static bool copy_stacks(struct allo_profile *profile, const struct allo_profile *old,
			const bool *kept, allo_stack_id *became, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) bool *used = calloc(old->stacks.len + 1, sizeof(*used));

	if (!used)
		return allo_fail_memory(err);
	for (size_t i = 0; i < old->sample_stacks.len; i++)
		used[old->sample_stacks.at[i]] |= kept[i];
	for (size_t i = old->stacks.len; i-- > 1;)
		used[old->stacks.at[i].parent] |= used[i];
	for (size_t i = 1; i < old->stacks.len && !allo_failed(err); i++) {
		const struct allo_stack *stack = &old->stacks.at[i];

		if (used[i])
			became[i] = allo_profile_add_stack(profile, became[stack->parent],
							   stack->frame, err);
	}
	return !allo_failed(err);
}

static bool copy_samples(struct allo_profile *profile, const struct allo_profile *old,
			 const bool *kept, const allo_stack_id *became, struct allo_error *err)
{
	size_t width = profile->metrics.len;

	for (size_t i = 0; i < old->sample_stacks.len; i++) {
		if (kept[i] && !allo_profile_add_values(profile, became[old->sample_stacks.at[i]],
							allo_profile_labels_of(old, i),
							old->values.at + i * width, err))
			return false;
	}
	return true;
}

/* A range of a recording has samples for all stacks of the file; points are those with a value. */
static bool keep_points(struct allo_dataset *dataset, struct allo_error *err)
{
	struct allo_profile *profile = &dataset->profile;
	size_t width = profile->metrics.len;
	ALLO_DEFER(allo_free_pointer) bool *kept = NULL;
	ALLO_DEFER(allo_free_pointer) allo_stack_id *became = NULL;
	const struct allo_profile *old;

	if (!dataset->recording && !dataset->is_comparison)
		return true;
	old = allo_dataset_take_samples(dataset);
	kept = calloc(old->sample_stacks.len + 1, sizeof(*kept));
	became = calloc(old->stacks.len + 1, sizeof(*became));
	if (!kept || !became)
		return allo_fail_memory(err);
	for (size_t i = 0; i < old->sample_stacks.len; i++)
		kept[i] = has_value(old, i, width);
	return copy_stacks(profile, old, kept, became, err) &&
	       copy_samples(profile, old, kept, became, err);
}

/* Search. */

/* A pattern, and what it says about calls that it has seen. */
struct search {
	struct allo_pattern pattern;
	bool is_set;
	uint8_t *answers; /* by number of the call: 0 unknown, else 1 + whether it matches */
};

static void search_done(struct search *search)
{
	allo_pattern_done(&search->pattern);
	free(search->answers);
}

static bool search_init(struct search *search, const struct allo_dataset *dataset, const char *text,
			struct allo_error *err)
{
	search->is_set = text && *text;
	if (!search->is_set)
		return true;
	search->answers = calloc(dataset->calls.at.len + 1, 1);
	return search->answers ? allo_pattern_init(&search->pattern, text, err)
			       : allo_fail_memory(err);
}

static bool search_finds(struct search *search, const struct allo_profile *profile,
			 const struct allo_frame *frame, uint32_t call, uint32_t number)
{
	uint8_t *answer = &search->answers[number];

	if (*answer == 0)
		*answer = (uint8_t)(1 +
				    allo_pattern_matches(&search->pattern, profile, frame, call));
	return *answer == 2;
}

/* Nodes. */

static bool add_calls(struct dhat_columns *columns, const struct allo_dataset *dataset,
		      const struct allo_dhat_node *node, struct search *search,
		      struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile;
	struct allo_stack_call at = node->first_call;
	bool is_match = false;

	for (uint64_t i = 0; i < node->call_count && !allo_failed(err); i++) {
		allo_frame_id id = profile->stacks.at[at.stack].frame;
		const struct allo_frame *frame = &profile->frames.at[id];
		uint32_t number = allo_call_number(&dataset->calls, id, at.line);

		allo_vec_add(&columns->call, number, err);
		allo_vec_add(&columns->line, allo_call_line(profile, frame, at.line).line, err);
		is_match |= search->is_set && search_finds(search, profile, frame, at.line, number);
		at = allo_stack_call_outer(profile, at);
	}
	return is_match;
}

/* How often each byte was accessed, of a node that is one point with blocks of one size. */
static void add_runs(struct dhat_columns *columns, const struct allo_profile *profile,
		     const struct allo_dhat_node *node, struct allo_error *err)
{
	struct allo_accesses accesses = { 0 };
	struct allo_access_run run;
	uint32_t count = 0;

	if (node->sample && !node->merged)
		accesses = allo_profile_accesses_of(profile, node->sample - 1);
	for (; allo_access_run_next(profile, &accesses, &run) && !allo_failed(err); count++) {
		allo_vec_add(&columns->run_length, (double)run.length, err);
		allo_vec_add(&columns->run_count, run.count, err);
	}
	allo_vec_add(&columns->runs, count, err);
}

static void add_node(struct dhat_columns *columns, const struct allo_dataset *dataset,
		     const struct allo_dhat_node *node, struct search *search,
		     struct allo_error *err)
{
	allo_vec_add(&columns->first_call, (uint32_t)columns->call.len, err);
	allo_vec_add(&columns->match, add_calls(columns, dataset, node, search, err) ? MATCHES : 0,
		     err);
	allo_vec_add(&columns->calls, (uint32_t)node->call_count, err);
	allo_vec_add(&columns->depth, node->depth, err);
	allo_vec_add(&columns->number, node->number, err);
	allo_vec_add(&columns->of, node->of, err);
	allo_vec_add(&columns->children, node->child_count, err);
	allo_vec_add(&columns->merged, node->merged, err);
	allo_vec_add(&columns->point, node->point, err);
	allo_vec_add(&columns->points, (double)node->points, err);
	allo_vec_add(&columns->significant, node->is_significant, err);
	add_runs(columns, &dataset->profile, node, err);
}

static uint64_t mark_matches(struct dhat_columns *columns, const struct allo_dhat_tree *tree)
{
	uint64_t count = 0;

	for (size_t i = tree->nodes.len; i-- > 1;) {
		count += columns->match.at[i] & MATCHES;
		if (columns->match.at[i])
			columns->match.at[tree->nodes.at[i].parent] |= MATCHES_BELOW;
	}
	return count;
}

static bool add_nodes(struct dhat_columns *columns, const struct allo_dataset *dataset,
		      const struct allo_dhat_tree *tree, const char *text, struct allo_reply *reply,
		      struct allo_error *err)
{
	ALLO_DEFER(search_done) struct search search = { 0 };

	if (!search_init(&search, dataset, text, err))
		return false;
	for (size_t i = 0; i < tree->nodes.len && !allo_failed(err); i++)
		add_node(columns, dataset, &tree->nodes.at[i], &search, err);
	if (search.pattern.has_failed)
		return allo_fail_memory(err);
	if (allo_failed(err))
		return false;
	allo_json_out_member_u64(&reply->head, "matches", mark_matches(columns, tree));
	return true;
}

/* The reply. */

static void put_head(struct allo_reply *reply, const struct allo_profile *profile,
		     const struct allo_dhat_tree *tree)
{
	struct allo_json_out *json = &reply->head;
	char about[ALLO_ABOUT_SIZE];

	allo_json_out_member_text(json, "preset", allo_text_of(tree->sort->name));
	allo_json_out_member_text(json, "key", allo_text_of(field_names[tree->sort->key]));
	allo_json_out_key(json, "min_percent");
	allo_json_out_exact_double(json, tree->min_share);
	allo_json_out_member_u64(json, "short_lived", profile->meta.short_lived);
	allo_json_out_key(json, "fields");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < SHOWN_FIELDS; i++) {
		size_t metric = tree->columns.metric[fields[i]];

		if (!tree->columns.has[fields[i]])
			continue;
		allo_json_out_begin(json, '{');
		allo_json_out_member_text(json, "name", allo_text_of(field_names[fields[i]]));
		allo_json_out_member_text(json, "title",
					  allo_text_of(allo_metric_about(profile, metric, about)));
		allo_json_out_member_text(
			json, "unit", allo_profile_text(profile, profile->metrics.at[metric].unit));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static bool put_values(struct allo_reply *reply, struct dhat_columns *columns,
		       const struct allo_dhat_tree *tree, struct allo_error *err)
{
	for (size_t k = 0; k < SHOWN_FIELDS; k++) {
		enum allo_pp_field field = fields[k];

		if (!tree->columns.has[field])
			continue;
		columns->values.len = 0;
		for (size_t i = 0; i < tree->nodes.len; i++)
			allo_vec_add(&columns->values,
				     allo_reply_value(reply, tree->nodes.at[i].values.of[field]),
				     err);
		if (allo_failed(err))
			return false;
		allo_reply_f64(reply, field_names[field], columns->values.at, columns->values.len);
	}
	return true;
}

static bool put_columns(struct allo_reply *reply, struct dhat_columns *columns,
			const struct allo_dhat_tree *tree, struct allo_error *err)
{
	size_t count = tree->nodes.len;

	allo_reply_u32(reply, "depth", columns->depth.at, count);
	allo_reply_u32(reply, "number", columns->number.at, count);
	allo_reply_u32(reply, "of", columns->of.at, count);
	allo_reply_u32(reply, "children", columns->children.at, count);
	allo_reply_u32(reply, "merged", columns->merged.at, count);
	allo_reply_u32(reply, "point", columns->point.at, count);
	allo_reply_f64(reply, "points", columns->points.at, count);
	allo_reply_u8(reply, "significant", columns->significant.at, count);
	allo_reply_u8(reply, "match", columns->match.at, count);
	allo_reply_u32(reply, "first_call", columns->first_call.at, count);
	allo_reply_u32(reply, "calls", columns->calls.at, count);
	allo_reply_u32(reply, "call", columns->call.at, columns->call.len);
	allo_reply_u32(reply, "line", columns->line.at, columns->line.len);
	if (columns->run_length.len > 0) {
		allo_reply_u32(reply, "runs", columns->runs.at, count);
		allo_reply_f64(reply, "run_length", columns->run_length.at,
			       columns->run_length.len);
		allo_reply_u32(reply, "run_count", columns->run_count.at, columns->run_count.len);
	}
	return put_values(reply, columns, tree, err);
}

static bool choose_sort(const char *name, const struct allo_pp_sort **sort, struct allo_error *err)
{
	const char *names[ALLO_PP_SORTS + 1] = { NULL };
	size_t choice;

	for (size_t i = 0; i < ALLO_PP_SORTS; i++)
		names[i] = allo_pp_sorts[i].name;
	if (!allo_request_choose(name, names, &choice, err))
		return false;
	*sort = name ? &allo_pp_sorts[choice] : NULL;
	return true;
}

/* Pairs of a point and a depth. */
static bool find_opened(const allo_request_numbers *open, struct allo_dhat_options *options,
			struct allo_error *err)
{
	struct allo_dhat_place *places;

	if (open->len % 2)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "'open' has pairs of a point and a depth");
	places = calloc(open->len / 2 + 1, sizeof(*places));
	if (!places)
		return allo_fail_memory(err);
	for (size_t i = 0; i < open->len / 2; i++)
		places[i] = (struct allo_dhat_place){ open->at[2 * i], open->at[2 * i + 1] };
	options->opened = places;
	options->opened_count = open->len / 2;
	return true;
}

bool allo_answer_dhat(struct allo_dataset *dataset, const struct allo_request *request,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(dhat_columns_done) struct dhat_columns columns = { 0 };
	ALLO_DEFER(allo_dhat_tree_done) struct allo_dhat_tree tree = { 0 };
	struct allo_dhat_options options = { .min_share = request->least < 0
								  ? -1
								  : 100 * request->least };
	bool ok = choose_sort(request->preset, &options.sort, err) &&
		  find_opened(&request->open, &options, err) &&
		  allo_dataset_show(dataset, request, err) && keep_points(dataset, err) &&
		  allo_dhat_tree_from_profile(&tree, &dataset->profile, &options, err);

	free((void *)options.opened);
	if (!ok || !add_nodes(&columns, dataset, &tree, request->search, reply, err))
		return false;
	put_head(reply, &dataset->profile, &tree);
	return put_columns(reply, &columns, &tree, err);
}
