/*
 * write_json.c - a complete profile as JSON; doc/formats/json.md describes the format.
 *
 * Tables have null at index 0, so that an id is an index and 0 means "none", as in struct
 * allo_profile.  Stacks, frames and functions without samples are left out.
 */
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "writers/writer.h"

#include <stdlib.h>

enum { VERSION = 1 };

struct json {
	struct allo_json_out out;
	const struct allo_profile *profile;
	/* New numbers by id; 0: left out. */
	uint32_t *stacks, *frames, *functions;
};

static void json_done(struct json *json)
{
	free(json->stacks);
	free(json->frames);
	free(json->functions);
}

/* Numbers. */

static void mark_used(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		json->stacks[profile->sample_stacks.at[i]] = 1;
	for (size_t i = profile->stacks.len; i-- > 1;) {
		if (json->stacks[i]) {
			json->stacks[profile->stacks.at[i].parent] = 1;
			json->frames[profile->stacks.at[i].frame] = 1;
		}
	}
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		for (uint32_t k = 0; json->frames[i] && k < frame->line_count; k++)
			json->functions[profile->lines.at[frame->first_line + k].function] = 1;
	}
}

/* Turns marks into numbers from 1. */
static void number(uint32_t *marks, size_t count)
{
	uint32_t used = 0;

	marks[0] = 0;
	for (size_t i = 1; i < count; i++)
		marks[i] = marks[i] ? ++used : 0;
}

static bool number_tables(struct json *json, struct allo_error *err)
{
	const struct allo_profile *profile = json->profile;

	json->stacks = calloc(profile->stacks.len + 1, sizeof(*json->stacks));
	json->frames = calloc(profile->frames.len + 1, sizeof(*json->frames));
	json->functions = calloc(profile->functions.len + 1, sizeof(*json->functions));
	if (!json->stacks || !json->frames || !json->functions)
		return allo_fail_memory(err);
	mark_used(json);
	number(json->stacks, profile->stacks.len);
	number(json->frames, profile->frames.len);
	number(json->functions, profile->functions.len);
	return true;
}

/* Members.  Empty and zero values are left out. */

static void put_string(struct json *json, const char *key, allo_string_id string)
{
	if (string == 0)
		return;
	allo_json_out_key(&json->out, key);
	allo_json_out_text(&json->out, allo_profile_text(json->profile, string));
}

static void put_number(struct json *json, const char *key, uint64_t number)
{
	if (number == 0)
		return;
	allo_json_out_key(&json->out, key);
	allo_json_out_u64(&json->out, number);
}

static void put_signed(struct json *json, const char *key, int64_t number)
{
	if (number == 0)
		return;
	allo_json_out_key(&json->out, key);
	allo_json_out_i64(&json->out, number);
}

static void put_flag(struct json *json, const char *key, bool flag)
{
	if (!flag)
		return;
	allo_json_out_key(&json->out, key);
	allo_json_out_bool(&json->out, true);
}

static void begin_table(struct json *json, const char *key)
{
	allo_json_out_key(&json->out, key);
	allo_json_out_begin(&json->out, '[');
	allo_json_out_null(&json->out);
}

/* Tables. */

static void put_meta(struct json *json)
{
	static const char *const clocks[] = {
		[ALLO_CLOCK_NS] = "nanoseconds", [ALLO_CLOCK_INSTRUCTIONS] = "instructions"
	};
	const struct allo_meta *meta = &json->profile->meta;

	allo_json_out_key(&json->out, "meta");
	allo_json_out_begin(&json->out, '{');
	if (meta->format) {
		allo_json_out_key(&json->out, "format");
		allo_json_out_string(&json->out, meta->format);
	}
	put_string(json, "dialect", meta->dialect);
	put_string(json, "producer", meta->producer);
	put_string(json, "command", meta->command);
	put_number(json, "pid", meta->pid);
	put_signed(json, "start_ns", meta->start_ns);
	if (meta->clock != ALLO_CLOCK_NONE) {
		allo_json_out_key(&json->out, "clock");
		allo_json_out_string(&json->out, clocks[meta->clock]);
	}
	put_number(json, "duration", meta->duration);
	put_number(json, "peak_time", meta->peak_time);
	put_number(json, "short_lived", meta->short_lived);
	put_string(json, "period_type", meta->period_type);
	put_string(json, "period_unit", meta->period_unit);
	put_signed(json, "period", meta->period);
	put_string(json, "mode", meta->mode);
	put_string(json, "verb", meta->verb);
	put_string(json, "drop_frames", meta->drop_frames);
	put_string(json, "keep_frames", meta->keep_frames);
	put_string(json, "doc_url", meta->doc_url);
	if (meta->default_metric > 0) {
		allo_json_out_key(&json->out, "default_metric");
		allo_json_out_u64(&json->out, meta->default_metric - 1);
	}
	allo_json_out_end(&json->out);
}

static void put_comments(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	allo_json_out_key(&json->out, "comments");
	allo_json_out_begin(&json->out, '[');
	for (size_t i = 0; i < profile->comments.len; i++)
		allo_json_out_text(&json->out, allo_profile_text(profile, profile->comments.at[i]));
	allo_json_out_end(&json->out);
}

static void put_metrics(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	allo_json_out_key(&json->out, "metrics");
	allo_json_out_begin(&json->out, '[');
	for (size_t i = 0; i < profile->metrics.len; i++) {
		const struct allo_metric *metric = &profile->metrics.at[i];
		const struct allo_metric_kind *kind = &allo_metric_kinds[metric->meaning];

		allo_json_out_begin(&json->out, '{');
		allo_json_out_key(&json->out, "name");
		allo_json_out_text(&json->out, allo_profile_text(profile, metric->name));
		put_string(json, "unit", metric->unit);
		if (metric->meaning != ALLO_MEANS_OTHER) {
			allo_json_out_key(&json->out, "meaning");
			allo_json_out_string(&json->out, kind->name);
		}
		allo_json_out_key(&json->out, "adds_up");
		allo_json_out_bool(&json->out, kind->is_additive);
		put_flag(json, "signed", metric->is_signed);
		put_flag(json, "before", metric->is_before);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_modules(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	begin_table(json, "modules");
	for (size_t i = 1; i < profile->modules.len; i++) {
		const struct allo_module *module = &profile->modules.at[i];

		allo_json_out_begin(&json->out, '{');
		put_string(json, "path", module->path);
		put_string(json, "build_id", module->build_id);
		put_number(json, "start", module->start);
		put_number(json, "limit", module->limit);
		put_number(json, "offset", module->offset);
		put_flag(json, "has_functions", module->has_functions);
		put_flag(json, "has_files", module->has_files);
		put_flag(json, "has_lines", module->has_lines);
		put_flag(json, "has_inlines", module->has_inlines);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_functions(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	begin_table(json, "functions");
	for (size_t i = 1; i < profile->functions.len; i++) {
		const struct allo_function *function = &profile->functions.at[i];

		if (json->functions[i] == 0)
			continue;
		allo_json_out_begin(&json->out, '{');
		put_string(json, "name", function->name);
		put_string(json, "system_name", function->system_name);
		put_string(json, "file", function->file);
		put_number(json, "start_line", function->start_line);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_lines(struct json *json, const struct allo_frame *frame)
{
	if (frame->line_count == 0)
		return;
	allo_json_out_key(&json->out, "lines");
	allo_json_out_begin(&json->out, '[');
	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &json->profile->lines.at[frame->first_line + i];

		allo_json_out_begin(&json->out, '[');
		allo_json_out_u64(&json->out, json->functions[line->function]);
		allo_json_out_u64(&json->out, line->line);
		allo_json_out_u64(&json->out, line->column);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_frames(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	begin_table(json, "frames");
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		if (json->frames[i] == 0)
			continue;
		allo_json_out_begin(&json->out, '{');
		put_number(json, "address", frame->address);
		put_number(json, "module", frame->module);
		put_lines(json, frame);
		put_flag(json, "folded", frame->is_folded);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_stacks(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	begin_table(json, "stacks");
	for (size_t i = 1; i < profile->stacks.len; i++) {
		struct allo_stack stack = profile->stacks.at[i];

		if (json->stacks[i] == 0)
			continue;
		ALLO_ASSERT(json->stacks[stack.parent] < json->stacks[i]);
		ALLO_ASSERT(json->frames[stack.frame] > 0);
		allo_json_out_begin(&json->out, '[');
		allo_json_out_u64(&json->out, json->stacks[stack.parent]);
		allo_json_out_u64(&json->out, json->frames[stack.frame]);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_label(struct json *json, const struct allo_label *label)
{
	allo_json_out_begin(&json->out, '{');
	allo_json_out_key(&json->out, "key");
	allo_json_out_text(&json->out, allo_profile_text(json->profile, label->key));
	if (label->is_number) {
		allo_json_out_key(&json->out, "number");
		allo_json_out_i64(&json->out, label->number);
		put_string(json, "unit", label->unit);
	} else {
		allo_json_out_key(&json->out, "text");
		allo_json_out_text(&json->out, allo_profile_text(json->profile, label->text));
	}
	allo_json_out_end(&json->out);
}

static void put_label_sets(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	begin_table(json, "label_sets");
	for (size_t i = 1; i < profile->label_sets.len; i++) {
		struct allo_label_set set = profile->label_sets.at[i];

		allo_json_out_begin(&json->out, '[');
		for (uint32_t k = 0; k < set.count; k++)
			put_label(json, &profile->labels.at[set.first + k]);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static void put_threads(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	begin_table(json, "threads");
	for (size_t i = 1; i < profile->threads.len; i++) {
		allo_json_out_begin(&json->out, '{');
		put_number(json, "pid", profile->threads.at[i].pid);
		put_number(json, "tid", profile->threads.at[i].tid);
		put_string(json, "name", profile->threads.at[i].name);
		put_string(json, "process_name", profile->threads.at[i].process_name);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

/* Samples. */

static void put_values(struct json *json, size_t sample)
{
	const uint64_t *row = allo_profile_row(json->profile, sample);

	allo_json_out_key(&json->out, "values");
	allo_json_out_begin(&json->out, '[');
	for (size_t i = 0; i < json->profile->metrics.len; i++) {
		if (json->profile->metrics.at[i].is_signed)
			allo_json_out_i64(&json->out, (int64_t)row[i]);
		else
			allo_json_out_u64(&json->out, row[i]);
	}
	allo_json_out_end(&json->out);
}

static void put_accesses(struct json *json, size_t sample)
{
	struct allo_accesses runs = allo_profile_accesses_of(json->profile, sample);

	if (runs.count == 0)
		return;
	allo_json_out_key(&json->out, "accesses");
	allo_json_out_begin(&json->out, '[');
	for (uint32_t i = 0; i < runs.count; i++)
		allo_json_out_i64(&json->out, json->profile->access_runs.at[runs.first + i]);
	allo_json_out_end(&json->out);
}

static void put_samples(struct json *json)
{
	const struct allo_profile *profile = json->profile;

	allo_json_out_key(&json->out, "samples");
	allo_json_out_begin(&json->out, '[');
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		allo_json_out_begin(&json->out, '{');
		allo_json_out_key(&json->out, "stack");
		allo_json_out_u64(&json->out, json->stacks[profile->sample_stacks.at[i]]);
		put_values(json, i);
		put_number(json, "labels", allo_profile_labels_of(profile, i));
		if (i < profile->sample_times.len) {
			put_number(json, "start_ns", profile->sample_times.at[i].start_ns);
			put_number(json, "duration_ns", profile->sample_times.at[i].duration_ns);
			put_number(json, "thread", profile->sample_times.at[i].thread);
			put_number(json, "going_on", profile->sample_times.at[i].going_on);
		}
		put_accesses(json, i);
		allo_json_out_end(&json->out);
	}
	allo_json_out_end(&json->out);
}

static bool write_json(struct allo_write_job *w, const struct allo_profile *profile,
		       struct allo_error *err)
{
	ALLO_DEFER(json_done)
	struct json json = { .out = { .out = w->out, .pretty_depth = 2 }, .profile = profile };

	if (!number_tables(&json, err))
		return false;
	allo_json_out_begin(&json.out, '{');
	allo_json_out_key(&json.out, "allotrope");
	allo_json_out_u64(&json.out, VERSION);
	put_meta(&json);
	put_comments(&json);
	put_metrics(&json);
	put_modules(&json);
	put_functions(&json);
	put_frames(&json);
	put_stacks(&json);
	put_label_sets(&json);
	put_threads(&json);
	put_samples(&json);
	allo_json_out_end(&json.out);
	return true;
}

const struct allo_writer allo_write_json = {
	.name = "json",
	.title = "all that a profile holds as JSON, for scripts",
	.about = "One object with tables of metrics, modules, functions, frames, stacks and "
		 "samples that refer to each other by index, and everything known about the "
		 "run. Numbers are exact integers of up to 64 bits. doc/formats/json.md "
		 "describes the format; the number under \"allotrope\" grows when it changes.",
	.endings = ".json",
	.marks = { { "\"allotrope\": 1", NULL } },
	.holds = ~0u,
	.write = write_json,
};
