/*
 * profiles.h - random profiles, and the content of a profile as text that does not depend on
 * ids.
 */
#ifndef ALLO_TESTS_PROFILES_H
#define ALLO_TESTS_PROFILES_H

#include "check.h"
#include "random.h"

#include "base/io/output.h"
#include "profile/naming.h"
#include "profile/stack_builder.h"

#include <stdio.h>
#include <stdlib.h>

struct shape {
	uint32_t names, frames, samples, depth; /* at most */
	bool has_labels, has_times;
	bool has_malloc, has_startup; /* among the names */
	bool is_recursive;            /* all samples are of one recursion */
};

static const struct shape small_shape = { .names = 5, .frames = 8, .samples = 30, .depth = 6 };

static inline allo_string_id draw_string(struct allo_profile *profile, uint64_t *seed,
					 const char *what, uint32_t count, struct allo_error *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%u", what, draw(seed, count));
	return allo_profile_add_string(profile, allo_text_of(text), err);
}

static inline allo_string_id draw_name(struct allo_profile *profile, uint64_t *seed,
				       const struct shape *shape, struct allo_error *err)
{
	static const char *const startup[] = { "_start", "_start",
					       "rt::__rust_begin_short_backtrace" };

	if (shape->has_malloc && draw(seed, 3) == 0)
		return allo_profile_add_string(profile, ALLO_TEXT("malloc"), err);
	if (shape->has_startup && draw(seed, 3) == 0)
		return allo_profile_add_string(profile, allo_text_of(startup[draw(seed, 3)]), err);
	return draw_string(profile, seed, "f", shape->names, err);
}

/* With 0 to 3 lines, an address now and then, a module now and then. */
static inline allo_frame_id draw_frame(struct allo_profile *profile, uint64_t *seed,
				       const struct shape *shape, struct allo_error *err)
{
	struct allo_frame frame = { .address = draw(seed, 2) ? 16 * draw(seed, 4) : 0 };
	struct allo_line lines[3];
	uint32_t count = draw(seed, 4);

	if (draw(seed, 3) == 0) {
		struct allo_module module = { .path = draw_string(profile, seed, "/lib/m", 3,
								  err) };

		frame.module = allo_profile_add_module(profile, &module, err);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct allo_function function = {
			.name = draw_name(profile, seed, shape, err),
			.file = draw(seed, 2) ? draw_string(profile, seed, "src/", 3, err) : 0,
		};

		lines[i] = (struct allo_line){
			.function = allo_profile_add_function(profile, &function, err),
			.line = draw(seed, 3),
		};
	}
	return allo_profile_add_frame(profile, &frame, lines, count, err);
}

static inline allo_labels_id draw_labels(struct allo_profile *profile, uint64_t *seed,
					 struct allo_error *err)
{
	struct allo_label labels[2];
	uint32_t count = draw(seed, 3);

	memset(labels, 0, sizeof(labels)); /* compared by their bytes */
	for (uint32_t i = 0; i < count; i++) {
		labels[i].key = draw_string(profile, seed, "k", 2, err);
		if (draw(seed, 2))
			labels[i].text = draw_string(profile, seed, "v", 2, err);
		else
			labels[i].number = labels[i].is_number = 1;
	}
	return allo_profile_add_labels(profile, labels, count, err);
}

/* Metrics must be there already. */
static inline void draw_samples(struct allo_profile *profile, uint64_t *seed,
				const struct shape *shape)
{
	ALLO_VEC(allo_frame_id) frames = { 0 };
	struct allo_stack_builder builder = { 0 };
	struct allo_error err = { 0 };
	uint32_t count = draw(seed, shape->samples + 1);

	for (uint32_t i = 0; i < shape->frames; i++)
		*allo_vec_push(&frames) = draw_frame(profile, seed, shape, &err);
	for (uint32_t i = 0; i < count; i++) {
		allo_frame_id stack[64];
		uint32_t depth = draw(seed, shape->depth + 1);
		struct allo_when when = { .start_ns = i };
		allo_labels_id labels = shape->has_labels ? draw_labels(profile, seed, &err) : 0;
		allo_stack_id id;
		uint64_t *row;

		for (uint32_t k = 0; k < depth; k++)
			stack[k] = frames.at[draw(seed, shape->frames)];
		id = allo_stack_build(&builder, profile, stack, depth, &err);
		row = shape->has_times
			      ? allo_profile_add_timed_sample(profile, id, labels, &when, &err)
			      : allo_profile_add_sample(profile, id, labels, NULL, &err);
		assert_non_null(row);
		for (size_t m = 0; m < profile->metrics.len; m++)
			allo_profile_add_value(profile, m, &row[m], draw(seed, 100));
	}
	assert_false(allo_failed(&err));
	allo_stack_builder_done(&builder);
	allo_vec_done(&frames);
}

/* Samples at all depths of a recursion through a few frames, and of short branches off it. */
static inline void draw_recursion(struct allo_profile *profile, uint64_t *seed,
				  const struct shape *shape)
{
	allo_stack_id *stacks = calloc(2 * (size_t)shape->depth, sizeof(*stacks)), at = 0;
	allo_frame_id frames[8];
	struct allo_error err = { 0 };
	uint32_t count = 0;

	for (uint32_t i = 0; i < 8; i++)
		frames[i] = draw_frame(profile, seed, shape, &err);
	while (count < 2 * shape->depth) {
		at = allo_profile_add_stack(profile, at, frames[draw(seed, 6)], &err);
		stacks[count++] = at;
		/* The last two frames are those of branches. */
		stacks[count++] = allo_profile_add_stack(profile, at, frames[6 + draw(seed, 2)],
							 &err);
	}
	for (uint32_t i = 0; i < shape->samples; i++) {
		allo_labels_id labels = draw_labels(profile, seed, &err);
		uint64_t *row = allo_profile_add_sample(profile, stacks[draw(seed, count)], labels,
							NULL, &err);

		assert_non_null(row);
		for (size_t m = 0; m < profile->metrics.len; m++)
			allo_profile_add_value(profile, m, &row[m], draw(seed, 100));
	}
	assert_false(allo_failed(&err));
	free(stacks);
}

/* A profile with one sample of another, whose tables it uses. */
static inline struct allo_profile view_sample(const struct allo_profile *profile, size_t sample)
{
	struct allo_profile view = *profile;

	view.sample_stacks.at += sample;
	view.sample_stacks.len = 1;
	view.values.at += sample * profile->metrics.len;
	return view;
}

/* With alloc_bytes and alloc_blocks. */
static inline void draw_profile(struct allo_profile *profile, uint64_t *seed,
				const struct shape *shape)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BLOCKS, NULL, &err));
	if (shape->is_recursive)
		draw_recursion(profile, seed, shape);
	else
		draw_samples(profile, seed, shape);
	assert_true(allo_profile_validate(profile, &err));
}

/* "f1 src/2:7" for each line, the innermost first; then the address and the module. */
static inline void dump_frame(struct allo_output *out, const struct allo_profile *profile,
			      allo_frame_id id)
{
	const struct allo_frame *frame = &profile->frames.at[id];

	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &profile->lines.at[frame->first_line + i];
		const struct allo_function *function = &profile->functions.at[line->function];

		allo_output_text(out, allo_profile_text(profile, function->name));
		allo_output_byte(out, ' ');
		allo_output_text(out, allo_profile_text(profile, function->file));
		allo_output_printf(out, ":%u:%u,", line->line, line->column);
	}
	allo_output_printf(out, "@%llx", (unsigned long long)frame->address);
	if (frame->module) {
		allo_output_byte(out, '[');
		allo_output_text(
			out, allo_profile_text(profile, profile->modules.at[frame->module].path));
		allo_output_byte(out, ']');
	}
}

static inline void dump_sample(struct allo_output *out, const struct allo_profile *profile,
			       size_t sample)
{
	struct allo_label_set labels = { 0 };
	const uint64_t *row = allo_profile_row(profile, sample);

	for (allo_stack_id id = profile->sample_stacks.at[sample]; id;
	     id = profile->stacks.at[id].parent) {
		dump_frame(out, profile, profile->stacks.at[id].frame);
		allo_output_string(out, " < ");
	}
	if (allo_profile_labels_of(profile, sample))
		labels = profile->label_sets.at[allo_profile_labels_of(profile, sample)];
	for (uint32_t i = 0; i < labels.count; i++) {
		const struct allo_label *label = &profile->labels.at[labels.first + i];

		allo_output_byte(out, '{');
		allo_output_text(out, allo_profile_text(profile, label->key));
		allo_output_byte(out, '=');
		allo_output_text(out, allo_profile_text(profile, label->text));
		allo_output_printf(out, "%lld}", (long long)label->number);
	}
	if (profile->sample_times.len > 0)
		allo_output_printf(out, " at %llu",
				   (unsigned long long)profile->sample_times.at[sample].start_ns);
	for (size_t m = 0; m < profile->metrics.len; m++)
		allo_output_printf(out, " %llu", (unsigned long long)row[m]);
}

static inline int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A line a sample, sorted, to be freed. */
static inline char *dump_profile(const struct allo_profile *profile)
{
	static const struct allo_output_options plain = { .packing = ALLO_PLAIN };
	size_t count = allo_profile_sample_count(profile), len = 1;
	char **lines = calloc(count + 1, sizeof(*lines)), *all;
	struct allo_error err = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct allo_output out;

		assert_true(allo_output_open_memory(&out, &plain, &err));
		dump_sample(&out, profile, i);
		assert_true(allo_output_finish(&out, &err));
		lines[i] = strndup(allo_output_memory(&out).data, allo_output_memory(&out).len);
		len += strlen(lines[i]) + 1;
		allo_output_drop(&out);
	}
	qsort(lines, count, sizeof(*lines), compare_strings);
	all = calloc(1, len);
	for (size_t i = 0; i < count; i++) {
		strcat(strcat(all, lines[i]), "\n");
		free(lines[i]);
	}
	free(lines);
	return all;
}

static inline void assert_profiles_equal(const struct allo_profile *a, const struct allo_profile *b)
{
	char *x = dump_profile(a), *y = dump_profile(b);

	assert_string_equal(x, y);
	free(x);
	free(y);
}

#endif
