/* answer_timeline.c - the ask "timeline": the heap and the resident memory over time. */
#include "base/defer.h"
#include "view/answers/answers.h"

#include <stdio.h>

enum { USUAL_STEPS = 1000, MOST_STEPS = 20000 };

/* The fields of a step, in the order of the columns. */
static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{ "min", offsetof(struct allo_timeline_step, min_bytes) },
	{ "max", offsetof(struct allo_timeline_step, max_bytes) },
	{ "end", offsetof(struct allo_timeline_step, end_bytes) },
	{ "blocks", offsetof(struct allo_timeline_step, end_blocks) },
	{ "allocs", offsetof(struct allo_timeline_step, allocations) },
	{ "frees", offsetof(struct allo_timeline_step, frees) },
	{ "alloc_bytes", offsetof(struct allo_timeline_step, alloc_bytes) },
};

static bool put_steps(struct allo_reply *reply, const struct allo_timeline *timeline,
		      const char *prefix, struct allo_error *err)
{
	ALLO_VEC(double) column = { 0 };
	size_t count = timeline->steps.len;
	char name[32];

	if (!allo_vec_extend(&column, count, err))
		return false;
	for (size_t i = 0; i < count; i++)
		column.at[i] = (double)(timeline->from_ns + i * timeline->step_ns);
	snprintf(name, sizeof(name), "%sns", prefix);
	allo_reply_f64(reply, name, column.at, count);
	for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
		for (size_t i = 0; i < count; i++) {
			const char *step = (const char *)&timeline->steps.at[i];

			column.at[i] = allo_reply_value(
				reply, *(const uint64_t *)(step + fields[f].offset));
		}
		snprintf(name, sizeof(name), "%s%s", prefix, fields[f].name);
		allo_reply_f64(reply, name, column.at, count);
	}
	allo_vec_done(&column);
	return true;
}

/* The samples of resident memory. */
static bool put_resident(struct allo_reply *reply, const struct allo_recording *recording,
			 struct allo_error *err)
{
	const struct allo_wire_resident *resident = recording->resident;
	ALLO_VEC(double) ns = { 0 };
	ALLO_VEC(double) bytes = { 0 };

	for (size_t i = 0; resident && i < ALLO_RESIDENT_SAMPLES; i++) {
		if (resident->kib[i] == 0)
			continue;
		allo_vec_add(&ns, (double)(i * resident->step_ns), err);
		allo_vec_add(&bytes, (double)resident->kib[i] * 1024, err);
	}
	allo_reply_f64(reply, "rss_ns", ns.at, ns.len);
	allo_reply_f64(reply, "rss_bytes", bytes.at, bytes.len);
	allo_vec_done(&ns);
	allo_vec_done(&bytes);
	return !allo_failed(err);
}

static void put_extent(struct allo_json_out *json, const struct allo_log_part *part,
		       const struct allo_timeline *timeline)
{
	const struct allo_window window = { part->range.from, part->range.to, NULL };

	allo_json_out_member_u64(json, "from", timeline->from_ns);
	allo_json_out_member_u64(json, "to", timeline->end_ns);
	allo_json_out_member_u64(json, "step_ns", timeline->step_ns);
	allo_json_out_key(json, "peak");
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "ns",
				 allo_window_peak_ns(&window, part->file->recording,
						     timeline->peak_bytes, timeline->peak_ns));
	allo_json_out_member_u64(json, "bytes", timeline->peak_bytes);
	allo_json_out_member_u64(json, "blocks", timeline->peak_blocks);
	allo_json_out_end(json);
}

/* No steps where only sums are known. */
static bool find_steps(const struct allo_log_part *part, size_t steps,
		       struct allo_timeline *timeline, struct allo_error *err)
{
	uint64_t from = allo_log_part_exact_from(part), to = part->range.to;

	timeline->from_ns = timeline->end_ns = from;
	return (to > 0 && to <= from) ||
	       allo_change_log_timeline(&part->file->log, from, to, steps, timeline, err);
}

static bool put_now(struct allo_reply *reply, const struct allo_log_part *part, size_t steps,
		    struct allo_error *err)
{
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { 0 };

	if (!find_steps(part, steps, &timeline, err))
		return false;
	put_extent(&reply->head, part, &timeline);
	return put_steps(reply, &timeline, "", err) &&
	       put_resident(reply, part->file->recording, err);
}

/* The curve of the base, which has its own times. */
static bool put_before(struct allo_reply *reply, const struct allo_log_part *part, size_t steps,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { 0 };

	if (!find_steps(part, steps, &timeline, err))
		return false;
	allo_json_out_key(&reply->head, "before");
	allo_json_out_begin(&reply->head, '{');
	put_extent(&reply->head, part, &timeline);
	allo_json_out_end(&reply->head);
	return put_steps(reply, &timeline, "before_", err);
}

bool allo_answer_timeline(struct allo_dataset *dataset, const struct allo_request *request,
			  struct allo_reply *reply, struct allo_error *err)
{
	uint64_t steps = request->steps == ALLO_NOT_GIVEN ? USUAL_STEPS : request->steps;
	struct allo_log_part now, before;

	if (!allo_needs_recording(dataset, "times", err))
		return false;
	if (steps == 0 || steps > MOST_STEPS)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "steps must be from 1 to %d",
				 MOST_STEPS);
	return allo_dataset_part(dataset, request, ALLO_NOW, &now) &&
	       put_now(reply, &now, (size_t)steps, err) &&
	       (!allo_dataset_part(dataset, request, ALLO_BEFORE, &before) ||
		put_before(reply, &before, (size_t)steps, err));
}
