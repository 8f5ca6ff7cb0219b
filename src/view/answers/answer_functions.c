/* answer_functions.c - the asks "peek" and "search": callers and callees; functions by name. */
#include "analysis/peek.h"
#include "base/defer.h"
#include "view/answers/answers.h"

#include <stdlib.h>

enum { USUAL_MATCHES = 50 };

static void put_sum(struct allo_reply *reply, const char *key, allo_sum sum)
{
	allo_json_out_key(&reply->head, key);
	allo_json_out_exact_double(&reply->head, allo_reply_value(reply, sum));
}

static uint32_t call_of_row(const struct allo_dataset *dataset, const struct allo_top_row *row)
{
	return allo_call_numbers_find(&dataset->calls, row->key.function, row->key.file);
}

/* Callers and callees. */

struct edge_columns {
	ALLO_VEC(uint32_t) call;
	ALLO_VEC(double) total, before;
	ALLO_VEC(uint8_t) is_callee;
};

static void edge_columns_done(struct edge_columns *columns)
{
	allo_vec_done(&columns->call);
	allo_vec_done(&columns->total);
	allo_vec_done(&columns->before);
	allo_vec_done(&columns->is_callee);
}

static void add_edges(struct edge_columns *columns, const struct allo_dataset *dataset,
		      const struct allo_peek *peek, size_t first, size_t count,
		      struct allo_reply *reply, struct allo_error *err)
{
	for (size_t i = first; i < first + count; i++) {
		const struct allo_peek_edge *edge = &peek->edges.at[i];

		allo_vec_add(&columns->call, call_of_row(dataset, &peek->top.rows.at[edge->row]),
			     err);
		allo_vec_add(&columns->total, allo_reply_value(reply, edge->total.value), err);
		allo_vec_add(&columns->before, allo_reply_value(reply, edge->total.before), err);
		allo_vec_add(&columns->is_callee, edge->is_callee, err);
	}
}

/* `match` is NULL if no sample passes the function. */
static bool put_match(const struct allo_dataset *dataset, const struct allo_peek *peek,
		      const struct allo_peek_match *match, bool has_before,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(edge_columns_done) struct edge_columns columns = { 0 };
	const struct allo_top_row *row = match ? &peek->top.rows.at[match->row] : NULL;

	put_sum(reply, "self", row ? row->self.value : 0);
	put_sum(reply, "total", row ? row->total.value : 0);
	put_sum(reply, "outermost", match ? match->outermost.value : 0);
	if (has_before) {
		put_sum(reply, "before_self", row ? row->self.before : 0);
		put_sum(reply, "before_total", row ? row->total.before : 0);
	}
	if (match) {
		add_edges(&columns, dataset, peek, match->callers, match->caller_count, reply, err);
		add_edges(&columns, dataset, peek, match->callees, match->callee_count, reply, err);
	}
	allo_reply_u32(reply, "call", columns.call.at, columns.call.len);
	allo_reply_f64(reply, "total", columns.total.at, columns.total.len);
	if (has_before)
		allo_reply_f64(reply, "before_total", columns.before.at, columns.before.len);
	allo_reply_u8(reply, "is_callee", columns.is_callee.at, columns.is_callee.len);
	return !allo_failed(err);
}

/* A pattern for the name of a call; the caller frees it. */
static char *exact_pattern(const struct allo_dataset *dataset, uint32_t call)
{
	struct allo_text name = allo_profile_text(&dataset->profile,
						  dataset->calls.at.at[call].function);
	char *pattern = malloc(name.len + 5);

	if (pattern) {
		memcpy(pattern, "fn:=", 4);
		memcpy(pattern + 4, name.data, name.len);
		pattern[name.len + 4] = '\0';
	}
	return pattern;
}

/* Functions of other files may have the same name. */
static const struct allo_peek_match *find_match(const struct allo_dataset *dataset,
						const struct allo_peek *peek, uint32_t call)
{
	for (size_t i = 0; i < peek->matches.len; i++) {
		const struct allo_peek_match *match = &peek->matches.at[i];

		if (call_of_row(dataset, &peek->top.rows.at[match->row]) == call)
			return match;
	}
	return NULL;
}

bool allo_answer_peek(struct allo_dataset *dataset, const struct allo_request *request,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_peek_done) struct allo_peek peek = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_free_pointer) char *text = NULL;
	struct allo_metric_columns columns;

	if (request->call == 0 || request->call >= dataset->calls.at.len ||
	    !dataset->calls.at.at[request->call].function)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "'call' must be the number of a function with a name");
	text = exact_pattern(dataset, (uint32_t)request->call);
	if (!text)
		return allo_fail_memory(err);
	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_columns(dataset, request, request->metric, &columns, err) ||
	    !allo_pattern_init(&pattern, text, err) ||
	    !allo_peek_profile(&peek, &dataset->profile, &columns, &pattern, err))
		return false;
	allo_json_out_member_u64(&reply->head, "call", request->call);
	return put_match(dataset, &peek, find_match(dataset, &peek, (uint32_t)request->call),
			 columns.has_before, reply, err);
}

/* Search. */

/* Marks the calls that a pattern matches; returns their number. */
static size_t match_calls(const struct allo_dataset *dataset, struct allo_pattern *pattern,
			  bool *is_match)
{
	size_t count = 0;

	for (size_t i = 1; i < dataset->calls.at.len; i++) {
		const struct allo_numbered_call *call = &dataset->calls.at.at[i];

		is_match[i] = allo_pattern_matches(pattern, &dataset->profile,
						   &dataset->profile.frames.at[call->frame],
						   call->call);
		count += is_match[i];
	}
	return count;
}

static bool frame_matches(const struct allo_dataset *dataset, allo_frame_id id,
			  const bool *is_match)
{
	uint32_t count = allo_frame_call_count(&dataset->profile.frames.at[id]);

	for (uint32_t call = 0; call < count; call++) {
		if (is_match[allo_call_number(&dataset->calls, id, call)])
			return true;
	}
	return false;
}

/* The sum of the samples with a matching call. */
static bool sum_matches(const struct allo_dataset *dataset,
			const struct allo_metric_columns *columns, const bool *is_match,
			allo_sum *sum, struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile;
	ALLO_DEFER(allo_free_pointer)
	bool *has_match = calloc(profile->stacks.len + 1, sizeof(*has_match));

	if (!has_match)
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->stacks.len; i++)
		has_match[i] = has_match[profile->stacks.at[i].parent] ||
			       frame_matches(dataset, profile->stacks.at[i].frame, is_match);
	*sum = 0;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (has_match[profile->sample_stacks.at[i]])
			*sum += allo_values_of(profile, columns, i).value;
	}
	return true;
}

static bool put_functions(struct allo_dataset *dataset, const struct allo_request *request,
			  const struct allo_metric_columns *columns, const bool *is_match,
			  struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_top_done) struct allo_top top = { 0 };
	ALLO_VEC(uint32_t) calls = { 0 };
	ALLO_VEC(double) totals = { 0 };
	size_t most = request->most == ALLO_NOT_GIVEN ? USUAL_MATCHES : (size_t)request->most;

	if (!allo_top_add(&top, &dataset->profile, columns, err))
		return false;
	allo_top_sort(&top, &dataset->profile, ALLO_TOP_BY_TOTAL);
	for (size_t i = 0; i < top.rows.len && calls.len < most; i++) {
		uint32_t call = call_of_row(dataset, &top.rows.at[i]);

		if (!is_match[call])
			continue;
		allo_vec_add(&calls, call, err);
		allo_vec_add(&totals, allo_reply_value(reply, top.rows.at[i].total.value), err);
	}
	allo_reply_u32(reply, "call", calls.at, calls.len);
	allo_reply_f64(reply, "total", totals.at, totals.len);
	allo_vec_done(&calls);
	allo_vec_done(&totals);
	return !allo_failed(err);
}

bool allo_answer_search(struct allo_dataset *dataset, const struct allo_request *request,
			struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_free_pointer)
	bool *is_match = NULL;
	struct allo_metric_columns columns;
	size_t matches;
	allo_sum sum = 0;

	if (!request->text || !*request->text)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request has no \"text\"");
	if (!allo_pattern_init(&pattern, request->text, err) ||
	    !allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_columns(dataset, request, request->metric, &columns, err))
		return false;
	is_match = calloc(dataset->calls.at.len, sizeof(*is_match));
	if (!is_match)
		return allo_fail_memory(err);
	matches = match_calls(dataset, &pattern, is_match);
	if (pattern.has_failed || !sum_matches(dataset, &columns, is_match, &sum, err))
		return allo_fail_memory(err);
	allo_json_out_member_u64(&reply->head, "matches", matches);
	put_sum(reply, "value", sum);
	return put_functions(dataset, request, &columns, is_match, reply, err);
}
