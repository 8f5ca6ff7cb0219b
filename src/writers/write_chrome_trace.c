/*
 * write_chrome_trace.c - Chrome's trace events, for Perfetto, Spall, speedscope and Chrome itself.
 *
 * Each call has a start and an end event.  The events of a thread come in the order of time,
 * because not every viewer sorts them.  An end repeats the name of its call, because speedscope
 * requires it.  Times are microseconds with three decimals, never with an exponent, which Spall
 * cannot read.
 */
#include "analysis/sum.h"
#include "base/assert.h"
#include "base/encoding/json_write.h"
#include "writers/slices.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>

struct chrome {
	struct allo_output *out;
	struct allo_slices slices;
	ALLO_VEC(bool) has_calls; /* by thread: it has events */
	bool has_events;
};

/* Events. */

/* Writes the part that all events start with. */
static void begin_event(struct chrome *c, char kind, struct allo_slice_thread thread)
{
	struct allo_output *out = c->out;

	allo_output_string(out, c->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	c->has_events = true;
	allo_output_byte(out, kind);
	allo_output_string(out, "\",\"pid\":");
	allo_output_u64(out, thread.pid);
	allo_output_string(out, ",\"tid\":");
	allo_output_u64(out, thread.tid);
}

static void put_time(struct chrome *c, uint64_t ns)
{
	char fraction[] = { '.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
			    (char)('0' + ns % 10) };

	allo_output_string(c->out, ",\"ts\":");
	allo_output_u64(c->out, ns / 1000);
	allo_output_bytes(c->out, fraction, sizeof(fraction));
}

static void put_call(struct chrome *c, char kind, allo_thread_id thread, uint32_t call,
		     uint64_t time)
{
	char scratch[ALLO_NAME_SCRATCH];

	begin_event(c, kind, allo_slices_thread(c->slices.profile, thread));
	put_time(c, time);
	allo_output_string(c->out, ",\"name\":");
	allo_json_out_quoted(c->out, allo_slices_name(&c->slices, call, scratch));
	allo_output_byte(c->out, '}');
}

static void begin_call(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	struct chrome *c = context;

	ALLO_ASSERT(thread == 0 || thread < c->slices.profile->threads.len);
	if (allo_vec_cover(&c->has_calls, (size_t)thread + 1))
		c->has_calls.at[thread] = true;
	else
		allo_output_fail_memory(c->out);
	put_call(c, 'B', thread, call, time);
}

static void end_call(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	put_call(context, 'E', thread, call, time);
}

/* Names. */

/* {"ph":"M","pid":42,"tid":7,"name":"thread_name","args":{"name":"main"}} */
static void put_name(struct chrome *c, struct allo_slice_thread thread, const char *of,
		     struct allo_text name)
{
	if (name.len == 0)
		return;
	begin_event(c, 'M', thread);
	allo_output_printf(c->out, ",\"name\":\"%s\",\"args\":{\"name\":", of);
	allo_json_out_quoted(c->out, name);
	allo_output_string(c->out, "}}");
}

static int compare_threads(const void *a, const void *b, void *context)
{
	const allo_thread_id *x = a, *y = b;
	const struct allo_thread *threads = context;

	if (threads[*x].pid != threads[*y].pid)
		return threads[*x].pid < threads[*y].pid ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* The name of the process of some threads: its own, or that of its main thread. */
static struct allo_text name_of_process(const struct allo_profile *profile,
					const allo_thread_id *ids, size_t count)
{
	allo_string_id name = 0;

	for (size_t i = 0; i < count; i++) {
		const struct allo_thread *thread = &profile->threads.at[ids[i]];

		if (thread->process_name)
			return allo_profile_text(profile, thread->process_name);
		if (name == 0 && thread->tid == thread->pid)
			name = thread->name;
	}
	return allo_profile_text(profile, name);
}

static bool put_names(struct chrome *c, const struct allo_profile *profile, struct allo_error *err)
{
	ALLO_VEC(allo_thread_id) ids = { 0 };
	size_t first = 0;

	for (size_t i = 1; i < c->has_calls.len; i++) {
		allo_thread_id id = (allo_thread_id)i;

		if (c->has_calls.at[i] && !allo_vec_append(&ids, &id, 1)) {
			allo_vec_done(&ids);
			return allo_fail_memory(err);
		}
	}
	if (ids.len > 0)
		qsort_r(ids.at, ids.len, sizeof(*ids.at), compare_threads, profile->threads.at);
	for (size_t i = 0; i < ids.len; i++) {
		const struct allo_thread *thread = &profile->threads.at[ids.at[i]];
		struct allo_slice_thread numbers = allo_slices_thread(profile, ids.at[i]);
		bool is_last = i + 1 == ids.len ||
			       profile->threads.at[ids.at[i + 1]].pid != thread->pid;

		put_name(c, numbers, "thread_name", allo_profile_text(profile, thread->name));
		if (!is_last)
			continue;
		put_name(c, numbers, "process_name",
			 name_of_process(profile, ids.at + first, i + 1 - first));
		first = i + 1;
	}
	allo_vec_done(&ids);
	return true;
}

/* Profiles without times. */

/* Names the metric that is drawn in place of time. */
static void put_scale(struct chrome *c, const struct allo_profile *profile)
{
	const struct allo_metric *metric;
	struct allo_text name, unit;
	char text[128];
	int len;

	if (c->slices.has_times || c->has_calls.len == 0)
		return;
	metric = &profile->metrics.at[allo_default_metric(profile)];
	name = allo_profile_text(profile, metric->name);
	unit = allo_profile_text(profile, metric->unit);
	len = snprintf(
		text, sizeof(text), "%.*s%s", ALLO_TEXT_ARG(name),
		allo_text_equal(unit, ALLO_TEXT("nanoseconds")) ? "" : ", each a nanosecond wide");
	put_name(c, (struct allo_slice_thread){ 0 }, "process_name",
		 (struct allo_text){ text, (size_t)len });
}

/* Writes the heap over time as a separate process, because calls drawn by their bytes have another
 * scale. */
static void put_history(struct chrome *c, const struct allo_profile *profile)
{
	struct allo_slice_thread heap = { .pid = profile->meta.pid ? (uint32_t)profile->meta.pid
								   : 1 };
	bool has_blocks = false;

	for (size_t i = 0; i < profile->history.len; i++)
		has_blocks |= profile->history.at[i].live_blocks > 0;
	for (size_t i = 0; i < profile->history.len; i++) {
		const struct allo_level *level = &profile->history.at[i];

		begin_event(c, 'C', heap);
		put_time(c, level->time);
		allo_output_string(c->out, ",\"name\":\"heap\",\"args\":{\"bytes\":");
		allo_output_u64(c->out, level->live_bytes);
		if (has_blocks) {
			allo_output_string(c->out, ",\"blocks\":");
			allo_output_u64(c->out, level->live_blocks);
		}
		allo_output_string(c->out, "}}");
	}
	if (profile->history.len > 0)
		put_name(c, heap, "process_name", ALLO_TEXT("heap over time"));
}

/* All together. */

static bool begin_chrome(struct allo_write_job *w, struct allo_error *err)
{
	struct chrome *c = w->state = calloc(1, sizeof(*c));

	if (!c)
		return allo_fail_memory(err);
	c->out = w->out;
	c->slices.sink = (struct allo_slice_sink){ begin_call, end_call, c };
	allo_output_string(w->out, "{\"traceEvents\":[");
	return true;
}

static bool add_chrome(struct allo_write_job *w, const struct allo_profile *portion,
		       struct allo_error *err)
{
	struct chrome *c = w->state;

	return allo_slices_add(&c->slices, portion, err);
}

static bool end_chrome(struct allo_write_job *w, const struct allo_profile *profile,
		       struct allo_error *err)
{
	struct chrome *c = w->state;
	struct allo_json_out json = { .out = w->out };

	if (!allo_slices_end(&c->slices, profile, err) || !put_names(c, profile, err))
		return false;
	put_scale(c, profile);
	put_history(c, profile);
	allo_output_string(w->out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":");
	allo_json_out_begin(&json, '{');
	allo_json_out_member_text(&json, "exporter", ALLO_TEXT("allo@" ALLO_VERSION));
	allo_json_out_member_text(&json, "command",
				  allo_profile_text(profile, profile->meta.command));
	allo_json_out_end(&json);
	allo_output_string(w->out, "}\n");
	return true;
}

static void drop_chrome(struct allo_write_job *w)
{
	struct chrome *c = w->state;

	if (!c)
		return;
	allo_slices_done(&c->slices);
	allo_vec_done(&c->has_calls);
	free(c);
	w->state = NULL;
}

const struct allo_writer allo_write_chrome_trace = {
	.name = "chrome-trace",
	.title = "Chrome's trace events, for Perfetto, Spall and speedscope",
	.about = "Calls of each thread, with their start and end and the names of threads and "
		 "processes. Consecutive samples of a trace that share their outermost calls "
		 "make one call of each; a thread has a gap where it was not sampled. Profiles "
		 "without times are drawn as if their numbers were times: a byte is a "
		 "nanosecond wide, a caller is as wide as its callees together or wider, and "
		 "the widest comes first. The heap over time, if it is known, is a counter "
		 "beside them.",
	.endings = ".trace.json .trace",
	.holds = ALLO_HOLDS_INLINES | ALLO_HOLDS_TIMES | ALLO_HOLDS_HISTORY,
	.begin = begin_chrome,
	.add = add_chrome,
	.end = end_chrome,
	.drop = drop_chrome,
};
