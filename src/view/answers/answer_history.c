/* answer_history.c - the ask "history": the live memory of the largest functions over time. */
#include "base/defer.h"
#include "replay/heap_samples.h"
#include "view/answers/answers.h"

#include <stdlib.h>

enum { USUAL_STEPS = 60, MOST_STEPS = 1000, USUAL_FUNCTIONS = 8 };

/* A function: the index of its first value, and its largest. */
struct row {
	uint32_t call;
	double most;
	size_t first;
};

struct history {
	struct allo_dataset *dataset;
	struct allo_log_part part;
	size_t steps, metric; /* index of the live bytes in struct allo_site_values */
	ALLO_VEC(double) ns;  /* by step */
	ALLO_VEC(struct row) rows;
	ALLO_VEC(double) bytes;     /* by row and step */
	ALLO_VEC(uint32_t) of_call; /* index of its row + 1; 0: none */
};

static void history_done(struct history *it)
{
	allo_vec_done(&it->ns);
	allo_vec_done(&it->rows);
	allo_vec_done(&it->bytes);
	allo_vec_done(&it->of_call);
}

/* The row of a function, which may be new. */
static struct row *find_row(struct history *it, uint32_t call, struct allo_error *err)
{
	uint32_t *known = &it->of_call.at[call];

	if (*known == 0) {
		if (!allo_vec_add(&it->rows, ((struct row){ .call = call, .first = it->bytes.len }),
				  err) ||
		    !allo_vec_extend(&it->bytes, it->bytes.len + it->steps, err))
			return NULL;
		*known = (uint32_t)it->rows.len;
	}
	return &it->rows.at[*known - 1];
}

static bool take_site(struct history *it, const struct allo_heap *heap, size_t site, size_t step,
		      struct allo_heap_sums *sums, struct allo_error *err)
{
	struct allo_site_values values;
	allo_stack_id stack;
	struct row *row;
	size_t number;

	if (!allo_heap_site_values(heap, site, ALLO_AT_NONE, sums, &values) ||
	    values.values[it->metric] == 0)
		return true;
	number = allo_dataset_site_of_heap(it->part.file, heap, site, err);
	if (!allo_log_part_shows_site(&it->part, number, &stack))
		return !allo_failed(err);
	row = find_row(it, allo_dataset_site_call(it->dataset, stack, NULL), err);
	if (!row)
		return false;
	it->bytes.at[row->first + step] += (double)values.values[it->metric];
	return true;
}

/* What is live before `ns`. */
static bool take_step(struct history *it, struct allo_heap *heap, size_t step, uint64_t ns,
		      struct allo_error *err)
{
	struct allo_heap_options options = { .window = { ns - 1, ns, it->part.file->threads } };
	struct allo_heap_sums sums = { 0 };

	if (!allo_vec_add(&it->ns, (double)ns, err) ||
	    !allo_change_log_heap(&it->part.file->log, &options, heap, NULL, err))
		return false;
	for (size_t site = 0; site < heap->blocks.stack_count; site++) {
		if (!take_site(it, heap, site, step, &sums, err))
			return false;
	}
	return true;
}

static bool take_steps(struct history *it, struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	uint64_t from = allo_log_part_exact_from(&it->part);
	uint64_t to = it->part.file->log.end_ns + 1;

	if (it->part.range.to && it->part.range.to < to)
		to = it->part.range.to;
	if (to <= from) /* only sums are known */
		return true;
	for (size_t step = 0; step < it->steps; step++) {
		double share = (double)(step + 1) / (double)it->steps;
		uint64_t ns = from + (uint64_t)((double)(to - from) * share);

		if (!take_step(it, &heap, step, ns > from ? ns : from + 1, err))
			return false;
	}
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->most != y->most)
		return x->most < y->most ? 1 : -1;
	return (x->call > y->call) - (x->call < y->call);
}

static void order_rows(struct history *it)
{
	for (size_t i = 0; i < it->rows.len; i++) {
		for (size_t step = 0; step < it->steps; step++) {
			double bytes = it->bytes.at[it->rows.at[i].first + step];

			if (bytes > it->rows.at[i].most)
				it->rows.at[i].most = bytes;
		}
	}
	if (it->rows.len > 0)
		qsort(it->rows.at, it->rows.len, sizeof(*it->rows.at), compare_rows);
}

/* The largest functions one by one, and the sum of all others. */
static bool put_rows(const struct history *it, size_t most, struct allo_reply *reply,
		     struct allo_error *err)
{
	ALLO_VEC(uint32_t) calls = { 0 };
	ALLO_VEC(double) bytes = { 0 };
	ALLO_VEC(double) rest = { 0 };

	allo_vec_extend(&rest, it->steps, err);
	for (size_t i = 0; i < it->rows.len && !allo_failed(err); i++) {
		const double *values = it->bytes.at + it->rows.at[i].first;

		if (i < most)
			allo_vec_add(&calls, it->rows.at[i].call, err);
		for (size_t step = 0; step < it->steps && !allo_failed(err); step++) {
			if (i < most)
				allo_vec_add(&bytes, values[step], err);
			else
				rest.at[step] += values[step];
		}
	}
	allo_reply_f64(reply, "ns", it->ns.at, it->ns.len);
	allo_reply_u32(reply, "call", calls.at, calls.len);
	allo_reply_f64(reply, "bytes", bytes.at, bytes.len);
	allo_reply_f64(reply, "rest", rest.at, rest.len);
	allo_json_out_member_u64(&reply->head, "rows", it->rows.len);
	allo_vec_done(&calls);
	allo_vec_done(&bytes);
	allo_vec_done(&rest);
	return !allo_failed(err);
}

bool allo_answer_history(struct allo_dataset *dataset, const struct allo_request *request,
			 struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(history_done) struct history it = { .dataset = dataset };
	uint64_t steps = request->steps == ALLO_NOT_GIVEN ? USUAL_STEPS : request->steps;
	uint64_t most = request->most == ALLO_NOT_GIVEN ? USUAL_FUNCTIONS : request->most;

	if (!allo_needs_recording(dataset, "times", err))
		return false;
	if (steps == 0 || steps > MOST_STEPS)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "steps must be from 1 to %d",
				 MOST_STEPS);
	it.steps = (size_t)steps;
	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_part(dataset, request, ALLO_NOW, &it.part) ||
	    !allo_profile_find_metric(&it.part.file->profile, ALLO_END_BYTES, &it.metric) ||
	    !allo_vec_extend(&it.of_call, dataset->calls.at.len, err))
		return false;
	it.metric /= 2; /* metrics come in pairs */
	if (!take_steps(&it, err))
		return false;
	order_rows(&it);
	return put_rows(&it, (size_t)most, reply, err);
}
