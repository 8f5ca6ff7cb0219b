/*
 * write_speedscope.c - speedscope's own file format.
 *
 * speedscope identifies frames by number, so calls of the same function, line and column get one
 * number.  A profile, to speedscope, is a list of stacks with one weight each; each metric becomes
 * one.
 */
#include "analysis/sum.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "profile/metric_about.h"
#include "writers/calls.h"
#include "writers/timed_rows.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 256 }; /* of a profile */

struct speedscope {
	struct allo_write_job *w;
	const struct allo_profile *profile;
	struct allo_calls calls;  /* each number is a frame of speedscope */
	ALLO_VEC(uint32_t) stack; /* numbers of the current stack, the innermost first */
	struct allo_timed_rows timed;
};

static void speedscope_done(struct speedscope *s)
{
	allo_calls_done(&s->calls);
	allo_vec_done(&s->stack);
	allo_timed_rows_done(&s->timed);
}

/* Frames. */

/* The source file or, if unknown, the module. */
static struct allo_text file_of(const struct speedscope *s, const struct allo_call_key *call)
{
	const struct allo_profile *profile = s->profile;
	struct allo_text file = allo_line_file(profile, call->line);

	if (file.len == 0 && call->module)
		file = allo_profile_text(profile, profile->modules.at[call->module].path);
	return file;
}

static void put_frame(const struct speedscope *s, struct allo_json_out *json, uint32_t number)
{
	const struct allo_call_key *call = &s->calls.calls.at[number];
	struct allo_text file = file_of(s, call);
	char scratch[ALLO_NAME_SCRATCH];

	ALLO_ASSERT(number < s->calls.calls.len);
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_calls_name(&s->calls, s->profile, number, scratch));
	if (file.len > 0) {
		allo_json_out_key(json, "file");
		allo_json_out_text(json, file);
	}
	if (call->line.line > 0) {
		allo_json_out_key(json, "line");
		allo_json_out_u64(json, call->line.line);
	}
	if (call->line.column > 0) {
		allo_json_out_key(json, "col");
		allo_json_out_u64(json, call->line.column);
	}
	allo_json_out_end(json);
}

/* Profiles. */

/* The samples of one of speedscope's profiles. */
struct part {
	size_t metric;
	const struct allo_timed_row *rows; /* NULL: all samples, in their order */
	size_t count;
};

static size_t sample_of(const struct part *part, size_t i)
{
	return part->rows ? part->rows[i].sample : i;
}

static uint64_t weight_of(const struct speedscope *s, const struct part *part, size_t sample)
{
	return allo_js_weight(s->w, &s->profile->metrics.at[part->metric],
			      allo_profile_row(s->profile, sample)[part->metric]);
}

/* Writes the outermost caller first, unlike in our lists. */
static bool put_stack(struct speedscope *s, allo_stack_id stack)
{
	const struct allo_profile *profile = s->profile;
	struct allo_output *out = s->w->out;

	s->stack.len = 0;
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		allo_frame_id frame = profile->stacks.at[stack].frame;

		if (!allo_vec_append(&s->stack, allo_calls_of(&s->calls, frame),
				     allo_frame_call_count(&profile->frames.at[frame])))
			return false;
	}
	allo_output_byte(out, '[');
	for (size_t i = s->stack.len; i-- > 0;) {
		allo_output_u64(out, s->stack.at[i]);
		if (i > 0)
			allo_output_byte(out, ',');
	}
	allo_output_byte(out, ']');
	return true;
}

/* Leaves out stacks without weight, which speedscope would read and skip. */
static bool put_samples(struct speedscope *s, const struct part *part)
{
	const char *separator = "";

	allo_output_string(s->w->out, "\"samples\":[");
	for (size_t i = 0; i < part->count; i++) {
		size_t sample = sample_of(part, i);
		const uint64_t *row = allo_profile_row(s->profile, sample);

		/* put_weights() notes negative values. */
		if (allo_value_of(&s->profile->metrics.at[part->metric], row[part->metric]) <= 0)
			continue;
		allo_output_string(s->w->out, separator);
		separator = ",\n";
		if (!put_stack(s, s->profile->sample_stacks.at[sample]))
			return false;
	}
	allo_output_byte(s->w->out, ']');
	return true;
}

/* Writes the weights and returns their sum. */
static allo_sum put_weights(const struct speedscope *s, const struct part *part)
{
	const char *separator = "";
	allo_sum sum = 0;

	allo_output_string(s->w->out, ",\n\"weights\":[");
	for (size_t i = 0; i < part->count; i++) {
		uint64_t weight = weight_of(s, part, sample_of(part, i));

		if (weight == 0)
			continue;
		allo_output_string(s->w->out, separator);
		allo_output_u64(s->w->out, weight);
		separator = ",";
		sum += weight;
	}
	allo_output_byte(s->w->out, ']');
	return sum;
}

/* The unit, one of those that speedscope knows. */
static const char *unit_of(const struct allo_profile *profile, const struct allo_metric *metric)
{
	static const char *const units[] = { "bytes", "nanoseconds", "microseconds", "milliseconds",
					     "seconds" };
	struct allo_text unit = allo_profile_text(profile, metric->unit);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (allo_text_equal(unit, allo_text_of(units[i])))
			return units[i];
	}
	return "none";
}

static void put_part_head(const struct speedscope *s, struct allo_text name)
{
	allo_output_string(s->w->out, "{\"type\":\"sampled\",\"name\":");
	allo_json_out_quoted(s->w->out, name);
	allo_output_byte(s->w->out, ',');
}

static bool put_part(struct speedscope *s, const struct part *part)
{
	struct allo_output *out = s->w->out;
	const struct allo_metric *metric = &s->profile->metrics.at[part->metric];
	allo_sum sum;

	allo_output_printf(out, "\"unit\":\"%s\",\n", unit_of(s->profile, metric));
	if (!put_samples(s, part))
		return false;
	sum = put_weights(s, part);
	allo_output_string(out, ",\n\"startValue\":0,\"endValue\":");
	allo_output_u64(out, allo_sum_number(sum).magnitude);
	allo_output_byte(out, '}');
	return true;
}

/* "peak_bytes: live when the program held most" */
static bool put_metric(struct speedscope *s, size_t index)
{
	const struct allo_metric *metric = &s->profile->metrics.at[index];
	struct allo_text own = allo_profile_text(s->profile, metric->name);
	char scratch[ALLO_ABOUT_SIZE];
	const char *about = metric->meaning ? allo_metric_about(s->profile, index, scratch) : "";
	bool is_after = index > 0 && s->profile->metrics.at[index - 1].is_before;
	struct part part = { .metric = index, .count = allo_profile_sample_count(s->profile) };
	char name[NAME_SIZE];
	int len = snprintf(name, sizeof(name), "%.*s%s%s%s", ALLO_TEXT_ARG(own),
			   metric->is_before ? " before"
			   : is_after        ? " after"
					     : "",
			   about[0] ? ": " : "", about);

	put_part_head(s, (struct allo_text){ name, (size_t)len });
	return put_part(s, &part);
}

/* Threads, if samples have times.  Without durations, their weights are the default metric. */

/* Writes a thread over time; a gap has an empty stack. */
static bool put_timeline(struct speedscope *s, const struct part *part)
{
	const struct allo_timed_row *last = &part->rows[part->count - 1];
	struct allo_output *out = s->w->out;
	const char *separator = "";

	ALLO_ASSERT(part->rows && part->count > 0);
	allo_output_string(out, "\"unit\":\"nanoseconds\",\n\"samples\":[");
	for (size_t i = 0; i < part->count; i++) {
		const struct allo_timed_row *row = &part->rows[i];

		if (row->length_ns == 0)
			continue;
		allo_output_string(out, separator);
		separator = ",\n";
		if (!put_stack(s, row->sample == ALLO_TIMED_GAP
					  ? 0
					  : s->profile->sample_stacks.at[row->sample]))
			return false;
	}
	allo_output_string(out, "],\n\"weights\":[");
	separator = "";
	for (size_t i = 0; i < part->count; i++) {
		if (part->rows[i].length_ns == 0)
			continue;
		allo_output_string(out, separator);
		allo_output_u64(out, part->rows[i].length_ns);
		separator = ",";
	}
	allo_output_printf(out, "],\n\"startValue\":%llu,\"endValue\":%llu}",
			   (unsigned long long)part->rows[0].start_ns,
			   (unsigned long long)(last->start_ns + last->length_ns));
	return true;
}

static bool put_thread(struct speedscope *s, const struct allo_timed_thread *timed)
{
	struct allo_thread thread = timed->id ? s->profile->threads.at[timed->id]
					      : (struct allo_thread){ 0 };
	struct allo_text own = allo_profile_text(s->profile, thread.name);
	struct part part = { .metric = allo_default_metric(s->profile),
			     .rows = s->timed.rows.at + timed->first,
			     .count = timed->count };
	char name[NAME_SIZE];
	int len = snprintf(name, sizeof(name), "thread %llu of process %llu%s%.*s",
			   (unsigned long long)thread.tid, (unsigned long long)thread.pid,
			   own.len > 0 ? ": " : "", ALLO_TEXT_ARG(own));

	allo_output_string(s->w->out, ",\n");
	put_part_head(s, (struct allo_text){ name, (size_t)len });
	return timed->has_durations ? put_timeline(s, &part) : put_part(s, &part);
}

static void put_head(const struct speedscope *s)
{
	struct allo_json_out json = { .out = s->w->out, .pretty_depth = 1 };
	const char *title = s->w->options->title;
	struct allo_text name = title ? allo_text_of(title)
				      : allo_profile_text(s->profile, s->profile->meta.command);

	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "$schema");
	allo_json_out_string(&json, "https://www.speedscope.app/file-format-schema.json");
	allo_json_out_key(&json, "exporter");
	allo_json_out_string(&json, "allo@" ALLO_VERSION);
	if (name.len > 0) {
		allo_json_out_key(&json, "name");
		allo_json_out_text(&json, name);
	}
	allo_json_out_key(&json, "activeProfileIndex");
	allo_json_out_u64(&json, allo_default_metric(s->profile));
	allo_json_out_key(&json, "shared");
	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "frames");
	allo_json_out_begin(&json, '[');
	for (uint32_t i = 0; i < s->calls.calls.len; i++) {
		allo_output_byte(s->w->out, '\n');
		put_frame(s, &json, i);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	allo_output_string(s->w->out, ",\n\"profiles\":[");
}

static bool put_profiles(struct speedscope *s)
{
	for (size_t i = 0; i < s->profile->metrics.len; i++) {
		allo_output_string(s->w->out, i ? ",\n" : "\n");
		if (!put_metric(s, i))
			return false;
	}
	for (size_t i = 0; i < s->timed.threads.len; i++) {
		if (!put_thread(s, &s->timed.threads.at[i]))
			return false;
	}
	return true;
}

static bool write_speedscope(struct allo_write_job *w, const struct allo_profile *profile,
			     struct allo_error *err)
{
	ALLO_DEFER(speedscope_done) struct speedscope s = { .w = w, .profile = profile };

	s.calls.by_line = true;
	if (!allo_calls_cover(&s.calls, profile))
		return allo_fail_memory(err);
	if (!allo_timed_rows_init(&s.timed, profile, err))
		return false;
	put_head(&s);
	if (!put_profiles(&s))
		return allo_fail_memory(err);
	allo_output_string(w->out, "]}\n");
	return true;
}

const struct allo_writer allo_write_speedscope = {
	.name = "speedscope",
	.spells_stacks = true,
	.title = "speedscope's own format, for www.speedscope.app",
	.about = "One profile for each metric, which speedscope's selector lists at the top, "
		 "the preferred one first. Inlined calls are frames; frames differ by "
		 "function, line and column. If samples have times, each thread is a profile, "
		 "too, in the order of time, with gaps where it was not sampled. A comparison "
		 "becomes two profiles, before and after.\n\n"
		 "Negative values are left out. speedscope counts with doubles, so values "
		 "above 2^53 are cut to that.",
	.endings = ".speedscope.json",
	.marks = { { "www.speedscope.app/file-format-schema.json", NULL } },
	.holds = ALLO_HOLDS_METRICS | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_COLUMNS |
		 ALLO_HOLDS_INLINES | ALLO_HOLDS_TIMES | ALLO_HOLDS_COMMAND,
	.write = write_speedscope,
};
