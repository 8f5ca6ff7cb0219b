/* answer_timeline.c - the ask "timeline": the heap and the resident memory over time. */
#include "base/defer.h"
#include "view/answers.h"

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
		      struct allo_error *err)
{
	ALLO_VEC(double) column = { 0 };
	size_t count = timeline->steps.len;

	if (!allo_vec_extend(&column, count, err))
		return false;
	for (size_t i = 0; i < count; i++)
		column.at[i] = (double)(timeline->from_ns + i * timeline->step_ns);
	allo_reply_f64(reply, "ns", column.at, count);
	for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
		for (size_t i = 0; i < count; i++) {
			const char *step = (const char *)&timeline->steps.at[i];

			column.at[i] = allo_reply_value(
				reply, *(const uint64_t *)(step + fields[f].offset));
		}
		allo_reply_f64(reply, fields[f].name, column.at, count);
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

bool allo_answer_timeline(struct allo_dataset *dataset, const struct allo_request *request,
			  struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_timeline_done) struct allo_timeline timeline = { 0 };
	const struct allo_window window = { request->range.from, request->range.to, NULL };
	uint64_t steps = request->steps == ALLO_NOT_GIVEN ? USUAL_STEPS : request->steps;
	struct allo_json_out *json = &reply->head;

	if (!allo_needs_recording(dataset, "times", err))
		return false;
	if (steps == 0 || steps > MOST_STEPS)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "steps must be from 1 to %d",
				 MOST_STEPS);
	if (!allo_change_log_timeline(&dataset->log, request->range.from, request->range.to,
				      (size_t)steps, &timeline, err))
		return false;
	allo_json_out_member_u64(json, "from", timeline.from_ns);
	allo_json_out_member_u64(json, "to", timeline.end_ns);
	allo_json_out_member_u64(json, "step_ns", timeline.step_ns);
	allo_json_out_key(json, "peak");
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "ns",
				 allo_window_peak_ns(&window, dataset->recording,
						     timeline.peak_bytes, timeline.peak_ns));
	allo_json_out_member_u64(json, "bytes", timeline.peak_bytes);
	allo_json_out_member_u64(json, "blocks", timeline.peak_blocks);
	allo_json_out_end(json);
	return put_steps(reply, &timeline, err) && put_resident(reply, dataset->recording, err);
}
