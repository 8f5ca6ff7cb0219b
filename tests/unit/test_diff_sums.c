/* test_diff_sums.c - analysis/diff.h, against sums made in the plainest way. */
#include "check.h"
#include "profiles.h"
#include "tally.h"

#include "analysis/diff.h"
#include "base/defer.h"

static struct tally tally;

static struct allo_text name_of(const struct allo_profile *profile, allo_function_id id)
{
	return allo_profile_text(profile, profile->functions.at[id].name);
}

static struct allo_text file_of(const struct allo_profile *profile, allo_function_id id)
{
	return allo_basename(allo_profile_text(profile, profile->functions.at[id].file));
}

/* Whether one of the first `count` functions has this name and file. */
static bool has_function(const struct allo_profile *profile, size_t count, struct allo_text name,
			 struct allo_text file)
{
	for (allo_function_id id = 1; id < count; id++) {
		if (allo_text_equal(name_of(profile, id), name) &&
		    allo_text_equal(file_of(profile, id), file))
			return true;
	}
	return false;
}

/* The number of files that have a function of this name in one profile only, and the last one. */
static size_t files_only_in(const struct allo_profile *profile, const struct allo_profile *other,
			    struct allo_text name, struct allo_text *last)
{
	size_t count = 0;

	for (allo_function_id id = 1; id < profile->functions.len; id++) {
		struct allo_text file = file_of(profile, id);

		if (!allo_text_equal(name_of(profile, id), name) ||
		    has_function(profile, id, name, file) ||
		    has_function(other, other->functions.len, name, file))
			continue;
		*last = file;
		count++;
	}
	return count;
}

/* The file of a function, in `after` if it has moved there. */
static struct allo_text file_after(const struct allo_profile *profile, allo_function_id id,
				   const struct allo_profile *after)
{
	struct allo_text file = file_of(profile, id), old = { 0 }, moved = { 0 };

	if (!after || name_of(profile, id).len == 0 ||
	    files_only_in(profile, after, name_of(profile, id), &old) != 1 ||
	    files_only_in(after, profile, name_of(profile, id), &moved) != 1)
		return file;
	return allo_text_equal(file, old) ? moved : file;
}

/* A frame by what has to match; in the comparison itself all of it is left.  `after` is the other
 * side of the first profile, or NULL. */
static void add_frame(char *path, size_t room, const struct allo_profile *profile, allo_frame_id id,
		      enum allo_match match, const struct allo_profile *after)
{
	const struct allo_frame *frame = &profile->frames.at[id];
	size_t used = strlen(path);

	for (uint32_t i = 0; i < frame->line_count; i++) {
		struct allo_line line = profile->lines.at[frame->first_line + i];

		used += (size_t)snprintf(path + used, room - used, ",%.*s %.*s:%u",
					 ALLO_TEXT_ARG(name_of(profile, line.function)),
					 ALLO_TEXT_ARG(file_after(profile, line.function, after)),
					 match == ALLO_MATCH_FUNCTION ? 0 : line.line);
	}
	if (frame->line_count == 0 || match == ALLO_MATCH_ADDRESS)
		used += (size_t)snprintf(path + used, room - used, "@%llx",
					 (unsigned long long)frame->address);
	if (frame->module)
		used += (size_t)snprintf(
			path + used, room - used, "[%.*s]",
			ALLO_TEXT_ARG(allo_profile_text(profile,
							profile->modules.at[frame->module].path)));
	snprintf(path + used, room - used, ">");
}

static void path_of(const struct allo_profile *profile, size_t sample, enum allo_match match,
		    const struct allo_profile *after, char path[4096])
{
	path[0] = '\0';
	for (allo_stack_id id = profile->sample_stacks.at[sample]; id;
	     id = profile->stacks.at[id].parent)
		add_frame(path, 4096, profile, profile->stacks.at[id].frame, match, after);
}

/* `after` is NULL for the second profile. */
static void tell(const struct allo_profile *profile, enum allo_match match,
		 const struct allo_profile *after)
{
	char path[4096];

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		int64_t value = (int64_t)allo_profile_row(profile, i)[0];
		struct tally_row *row;

		path_of(profile, i, match, after, path);
		row = tally_row(&tally, path);
		row->before += after ? value : 0;
		row->total += after ? 0 : value;
	}
}

static void pairs_are_what_plain_sums_say(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 150; round++) {
		ALLO_DEFER(allo_profile_done)
		struct allo_profile a = { 0 }, b = { 0 }, diff = { 0 };
		enum allo_match match = (enum allo_match)(round % 3);
		struct shape shape = { .names = 3,
				       .frames = 8,
				       .samples = 40,
				       .depth = 5,
				       .has_labels = round % 5 == 0,
				       .has_times = round % 7 == 0 };
		struct allo_error err = { 0 };
		uint64_t seed = round;
		char path[4096];

		draw_profile(&a, &seed, &shape);
		draw_profile(&b, &seed, &shape);
		tell(&a, match, &b);
		tell(&b, match, NULL);
		assert_true(allo_diff_profiles(&a, &b, match, &diff, &err));
		assert_true(allo_profile_validate(&diff, &err));
		assert_int_equal(diff.metrics.len, 4);
		assert_true(diff.metrics.at[0].is_before && !diff.metrics.at[1].is_before);
		assert_int_equal(allo_profile_sample_count(&diff), tally.count);
		for (size_t i = 0; i < tally.count; i++) {
			const struct tally_row *row;

			path_of(&diff, i, match, NULL, path);
			row = tally_row(&tally, path);
			assert_int_equal(allo_profile_row(&diff, i)[0], row->before);
			assert_int_equal(allo_profile_row(&diff, i)[1], row->total);
		}
		tally_done(&tally);
	}
}

static void a_profile_does_not_differ_from_itself(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, diff = { 0 };
	struct allo_error err = { 0 };
	uint64_t seed = 83;

	(void)state;
	draw_profile(&a, &seed, &small_shape);
	assert_true(allo_diff_profiles(&a, &a, ALLO_MATCH_LINE, &diff, &err));
	for (size_t i = 0; i < diff.values.len; i += 2)
		assert_int_equal(diff.values.at[i], diff.values.at[i + 1]);
}

static void add_metric(struct allo_profile *profile, const char *name, bool is_before)
{
	struct allo_error err = { 0 };
	struct allo_metric metric = {
		.name = allo_profile_add_string(profile, allo_text_of(name), &err),
		.is_before = is_before,
	};

	assert_true(allo_profile_add_metric_like(profile, &metric, &err));
}

static void metrics_that_only_one_has_are_left_out(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 }, diff = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	add_metric(&a, "x", false);
	add_metric(&a, "y", false);
	add_metric(&b, "z", false);
	add_metric(&b, "y", false);
	b.meta.default_metric = 2;
	assert_true(allo_diff_profiles(&a, &b, ALLO_MATCH_LINE, &diff, &err));
	assert_int_equal(diff.metrics.len, 2);
	assert_text_equal(allo_profile_text(&diff, diff.metrics.at[1].name), "y");
	assert_int_equal(diff.meta.default_metric, 2);
}

static void without_a_common_metric_there_is_nothing_to_compare(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 }, diff = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	add_metric(&a, "x", false);
	add_metric(&b, "y", false);
	assert_false(allo_diff_profiles(&a, &b, ALLO_MATCH_LINE, &diff, &err));
	assert_int_equal(err.code, ALLO_USAGE);
}

/* Each side a comparison: what there is now in each is compared. */
static void comparisons_are_compared_by_what_there_is_now(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 }, diff = { 0 };
	struct allo_error err = { 0 };
	uint64_t *row;

	(void)state;
	for (int side = 0; side < 2; side++) {
		struct allo_profile *profile = side ? &b : &a;

		add_metric(profile, "x", true);
		add_metric(profile, "x", false);
		row = allo_profile_add_sample(profile, 0, 0, NULL, &err);
		row[0] = side ? 100 : 1;
		row[1] = side ? 200 : 2;
	}
	assert_true(allo_diff_profiles(&a, &b, ALLO_MATCH_LINE, &diff, &err));
	assert_int_equal(diff.metrics.len, 2);
	assert_int_equal(diff.values.at[0], 2);
	assert_int_equal(diff.values.at[1], 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_what_plain_sums_say),
		cmocka_unit_test(a_profile_does_not_differ_from_itself),
		cmocka_unit_test(metrics_that_only_one_has_are_left_out),
		cmocka_unit_test(without_a_common_metric_there_is_nothing_to_compare),
		cmocka_unit_test(comparisons_are_compared_by_what_there_is_now),
	};

	return cmocka_run_group_tests_name("diff_sums", tests, NULL, NULL);
}
