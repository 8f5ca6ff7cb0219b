#include "analysis/diff.h"

#include "analysis/sum.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

/* One of the two profiles. */
struct side {
	const struct allo_profile *from;
	struct allo_profile *into;
	enum allo_match match;
	allo_frame_id *frames; /* of `into`, by frame of `from` */
	allo_stack_id *stacks;
	size_t *columns;       /* of `into`, by metric of `from`; (size_t)-1: not compared */
	allo_string_id *files; /* of `into`, by function of `from`; see find_moved() */
};

static void side_done(struct side *side)
{
	free(side->frames);
	free(side->stacks);
	free(side->columns);
	free(side->files);
}

static bool side_init(struct side *side, struct allo_error *err)
{
	side->frames = calloc(side->from->frames.len + 1, sizeof(*side->frames));
	side->stacks = calloc(side->from->stacks.len + 1, sizeof(*side->stacks));
	side->columns = malloc((side->from->metrics.len + 1) * sizeof(*side->columns));
	side->files = calloc(side->from->functions.len + 1, sizeof(*side->files));
	if (!side->frames || !side->stacks || !side->columns || !side->files)
		return allo_fail_memory(err);
	for (size_t i = 0; i < side->from->metrics.len; i++)
		side->columns[i] = (size_t)-1;
	return true;
}

static allo_string_id copy_string(const struct side *side, allo_string_id id,
				  struct allo_error *err)
{
	return allo_profile_add_string(side->into, allo_profile_text(side->from, id), err);
}

/* The frame reduced to the parts that must match. */
static allo_frame_id copy_frame(const struct side *side, const struct allo_frame *frame,
				struct allo_error *err)
{
	bool by_address = side->match == ALLO_MATCH_ADDRESS || frame->line_count == 0;
	struct allo_frame copy = { .address = by_address
						      ? allo_frame_file_address(side->from, frame)
						      : 0 };
	struct allo_line *lines = calloc(frame->line_count + 1, sizeof(*lines));
	allo_frame_id id;

	if (!lines) {
		allo_fail_memory(err);
		return 0;
	}
	if (frame->module) {
		const struct allo_module *module = &side->from->modules.at[frame->module];
		/* The load address differs between runs. */
		struct allo_module same = { .path = copy_string(side, module->path, err) };

		copy.module = allo_profile_add_module(side->into, &same, err);
	}
	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &side->from->lines.at[frame->first_line + i];
		const struct allo_function *function = &side->from->functions.at[line->function];
		struct allo_function same = {
			.name = copy_string(side, function->name, err),
			.system_name = copy_string(side, function->system_name, err),
			.file = side->files[line->function],
		};

		lines[i].function = allo_profile_add_function(side->into, &same, err);
		if (side->match != ALLO_MATCH_FUNCTION)
			lines[i].line = line->line;
	}
	id = allo_failed(err)
		     ? 0
		     : allo_profile_add_frame(side->into, &copy, lines, frame->line_count, err);
	free(lines);
	return id;
}

/* Files of functions. */

/* Without folders: the build folder may differ. */
static bool copy_files(struct side *side, struct allo_error *err)
{
	for (size_t i = 1; i < side->from->functions.len; i++)
		side->files[i] = allo_profile_add_string(
			side->into,
			allo_basename(
				allo_profile_text(side->from, side->from->functions.at[i].file)),
			err);
	return !allo_failed(err);
}

/* A function of one side, by the strings of the result. */
struct function_place {
	allo_string_id name, file;
	bool is_before;
	allo_function_id function;
};

static int compare_places(const void *left, const void *right)
{
	const struct function_place *a = left, *b = right;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (int)a->is_before - (int)b->is_before;
}

static size_t add_places(const struct side *side, bool is_before, struct function_place *places,
			 struct allo_error *err)
{
	size_t count = side->from->functions.len;

	for (size_t i = 1; i < count; i++)
		places[i - 1] = (struct function_place){
			.name = copy_string(side, side->from->functions.at[i].name, err),
			.file = side->files[i],
			.is_before = is_before,
			.function = (allo_function_id)i,
		};
	return count > 0 ? count - 1 : 0;
}

/* The end of the places that have the same name and, with `by_file`, the same file as the first. */
static size_t end_of_run(const struct function_place *places, size_t first, size_t count,
			 bool by_file)
{
	size_t end = first;

	while (end < count && places[end].name == places[first].name &&
	       (!by_file || places[end].file == places[first].file))
		end++;
	return end;
}

/* The functions of one name: if a single file has it only before, and a single one only after, the
 * former becomes the latter. */
static void match_moved(const struct function_place *places, size_t count, allo_string_id *files)
{
	size_t only_before = 0, only_after = 0, at_before = 0, at_after = 0, end;

	for (size_t i = 0; i < count; i = end) {
		end = end_of_run(places, i, count, true);
		if (places[i].is_before) {
			only_before++;
			at_before = i;
		} else if (!places[end - 1].is_before) {
			only_after++;
			at_after = i;
		}
	}
	if (only_before != 1 || only_after != 1 || places[0].name == 0)
		return;
	end = end_of_run(places, at_before, count, true);
	for (size_t i = at_before; i < end; i++)
		files[places[i].function] = places[at_after].file;
}

/* Gives functions of the base that have moved to another file their new file. */
static bool find_moved(struct side *before, const struct side *after, struct allo_error *err)
{
	size_t most = before->from->functions.len + after->from->functions.len, count, end;
	ALLO_DEFER(allo_free_pointer)
	struct function_place *places = calloc(most + 1, sizeof(*places));

	if (!places)
		return allo_fail_memory(err);
	count = add_places(before, true, places, err);
	count += add_places(after, false, places + count, err);
	if (allo_failed(err))
		return false;
	if (count > 0)
		qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; i < count; i = end) {
		end = end_of_run(places, i, count, false);
		match_moved(places + i, end - i, before->files);
	}
	return true;
}

static bool copy_stacks(struct side *side, struct allo_error *err)
{
	for (size_t i = 1; i < side->from->frames.len; i++) {
		side->frames[i] = copy_frame(side, &side->from->frames.at[i], err);
		if (side->frames[i] == 0)
			return false;
	}
	for (size_t i = 1; i < side->from->stacks.len; i++) {
		struct allo_stack stack = side->from->stacks.at[i];

		side->stacks[i] = allo_profile_add_stack(side->into, side->stacks[stack.parent],
							 side->frames[stack.frame], err);
		if (side->stacks[i] == 0)
			return false;
	}
	return true;
}

static bool copy_samples(const struct side *side, struct allo_error *err)
{
	for (size_t i = 0; i < allo_profile_sample_count(side->from); i++) {
		allo_stack_id stack = side->stacks[side->from->sample_stacks.at[i]];
		const uint64_t *values = allo_profile_row(side->from, i);
		uint64_t *row = allo_profile_add_sample(side->into, stack, 0, NULL, err);

		if (!row)
			return false;
		for (size_t m = 0; m < side->from->metrics.len; m++) {
			size_t column = side->columns[m];

			if (column != (size_t)-1)
				allo_profile_add_value(
					side->into, column, &row[column],
					allo_profile_fit_value(side->into, column,
							       &side->from->metrics.at[m],
							       values[m]));
		}
	}
	return true;
}

static bool same_metric(const struct allo_profile *a, size_t i, const struct allo_profile *b,
			size_t k)
{
	const struct allo_metric *x = &a->metrics.at[i], *y = &b->metrics.at[k];

	/* Of a profile that is a comparison itself, the `after` values count. */
	if (x->is_before || y->is_before)
		return false;
	if (!allo_text_equal(allo_profile_text(a, x->unit), allo_profile_text(b, y->unit)))
		return false;
	if (x->meaning != y->meaning)
		return false;
	return x->meaning != ALLO_MEANS_OTHER ||
	       allo_text_equal(allo_profile_text(a, x->name), allo_profile_text(b, y->name));
}

static bool add_pair(struct side *before, size_t i, struct side *after, size_t k,
		     struct allo_error *err)
{
	const struct allo_metric *metric = &after->from->metrics.at[k];
	struct allo_metric pair = {
		.meaning = metric->meaning,
		.name = copy_string(after, metric->name, err),
		.unit = copy_string(after, metric->unit, err),
		.is_signed = metric->is_signed || before->from->metrics.at[i].is_signed,
		.is_before = true,
	};

	before->columns[i] = after->into->metrics.len;
	after->columns[k] = after->into->metrics.len + 1;
	if (allo_failed(err) || !allo_profile_add_metric_like(after->into, &pair, err))
		return false;
	pair.is_before = false;
	return allo_profile_add_metric_like(after->into, &pair, err);
}

static bool add_pairs(struct side *before, struct side *after, struct allo_error *err)
{
	for (size_t k = 0; k < after->from->metrics.len; k++) {
		for (size_t i = 0; i < before->from->metrics.len; i++) {
			if (before->columns[i] == (size_t)-1 &&
			    same_metric(before->from, i, after->from, k)) {
				if (!add_pair(before, i, after, k, err))
					return false;
				break;
			}
		}
	}
	if (after->into->metrics.len > 0)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the two profiles have no metric in common");
	return allo_hint(err, "'allo info FILE' lists the metrics of a file");
}

static bool copy_meta(const struct side *before, const struct side *after, struct allo_error *err)
{
	const struct allo_meta *from = &after->from->meta;
	struct allo_meta *meta = &after->into->meta;
	/* If either profile has estimates, so has the result. */
	const struct side *sampled = before->from->meta.period > from->period ? before : after;

	meta->command = copy_string(after, from->command, err);
	meta->period_type = copy_string(sampled, sampled->from->meta.period_type, err);
	meta->period_unit = copy_string(sampled, sampled->from->meta.period_unit, err);
	meta->period = sampled->from->meta.period;
	meta->pid = from->pid;
	meta->part = from->part;
	if (from->default_metric > 0 && after->columns[from->default_metric - 1] != (size_t)-1)
		meta->default_metric = after->columns[from->default_metric - 1] + 1;
	return !allo_failed(err);
}

void allo_diff_map_done(struct allo_diff_map *map)
{
	free(map->stacks);
	free(map->metrics);
	*map = (struct allo_diff_map){ 0 };
}

static struct allo_diff_map take_map(struct side *side)
{
	struct allo_diff_map map = { side->stacks, side->columns };

	side->stacks = NULL;
	side->columns = NULL;
	return map;
}

bool allo_diff_profiles(const struct allo_profile *base, const struct allo_profile *changed,
			enum allo_match match, struct allo_profile *diff, struct allo_error *err)
{
	struct allo_diff_map maps[2] = { 0 };
	bool ok = allo_diff_profiles_mapped(base, changed, match, diff, maps, err);

	allo_diff_map_done(&maps[0]);
	allo_diff_map_done(&maps[1]);
	return ok;
}

bool allo_diff_profiles_mapped(const struct allo_profile *base, const struct allo_profile *changed,
			       enum allo_match match, struct allo_profile *diff,
			       struct allo_diff_map maps[2], struct allo_error *err)
{
	ALLO_DEFER(side_done) struct side before = { .from = base, .into = diff, .match = match };
	ALLO_DEFER(side_done) struct side after = { .from = changed, .into = diff, .match = match };

	/* The `after` profile comes first, so that its order is kept. */
	if (!side_init(&before, err) || !side_init(&after, err) ||
	    !add_pairs(&before, &after, err) || !copy_files(&after, err) ||
	    !copy_files(&before, err) || !find_moved(&before, &after, err) ||
	    !copy_stacks(&after, err) || !copy_samples(&after, err) || !copy_stacks(&before, err) ||
	    !copy_samples(&before, err) || !copy_meta(&before, &after, err))
		return false;
	maps[0] = take_map(&before);
	maps[1] = take_map(&after);
	return true;
}

/* Scales a part of one sum to another sum. */
static allo_sum scale(allo_sum part, allo_sum from, allo_sum to)
{
	const allo_sum most = (allo_sum)1 << 63;

	/* The product fits if both factors fit 64 bits. */
	if (part > -most && part < most && to < most)
		return part * to / from;
	return (allo_sum)((long double)part / (long double)from * (long double)to);
}

/* Scales running sums instead of single values, so that rounding errors do not add up. */
static void scale_column(struct allo_profile *profile, size_t metric, allo_sum from, allo_sum to)
{
	allo_sum sum = 0, scaled = 0;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		uint64_t *value = &profile->values.at[i * profile->metrics.len + metric];
		allo_sum before = scaled;

		sum += allo_value_of(&profile->metrics.at[metric], *value);
		scaled = scale(sum, from, to);
		*value = (uint64_t)(scaled - before);
	}
}

void allo_diff_normalize(struct allo_profile *diff)
{
	for (size_t i = 0; i + 1 < diff->metrics.len; i++) {
		allo_sum before = allo_metric_sum(diff, i), after = allo_metric_sum(diff, i + 1);

		/* A total of 0 cannot be scaled. */
		if (diff->metrics.at[i].is_before && before > 0 && after > 0)
			scale_column(diff, i, before, after);
	}
}
