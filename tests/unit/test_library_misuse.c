/* test_library_misuse.c - liballotrope: every call with arguments that make no sense. */
#include "check_library.h"

static struct allotrope_profile *profile;

static int make_profile(void **state)
{
	(void)state;
	profile = profile_of("main;parse 3\nmain 4\n");
	return 0;
}

/* Nothing that was refused has left anything behind. */
static int check_profile(void **state)
{
	(void)state;
	assert_int_equal(allotrope_sample_count(profile), 2);
	assert_int_equal(allotrope_sum(profile, 0), 7);
	assert_int_equal(allotrope_metric_count(profile), 1);
	assert_int_equal(allotrope_module_count(profile), 0);
	assert_int_equal(allotrope_function_count(profile), 2);
	assert_int_equal(allotrope_frame_count(profile), 2);
	assert_int_equal(allotrope_stack_count(profile), 2);
	assert_int_equal(allotrope_thread_count(profile), 0);
	assert_int_equal(allotrope_comment_count(profile), 0);
	free_valid(profile);
	return 0;
}

static bool keep_all(void *context, const struct allotrope_profile *of, size_t index)
{
	(void)context, (void)of, (void)index;
	return true;
}

static void there_must_be_a_profile(void **state)
{
	struct allotrope_write_options pprof = { .to = "pprof" };
	struct allotrope_sample sample = { 0 };
	size_t count;

	(void)state;
	assert_misuse(allotrope_write_file(NULL, "x.pb", NULL, &err));
	assert_misuse(allotrope_write_fd(NULL, 1, NULL, &pprof, &err));
	assert_misuse(allotrope_write_memory(NULL, &pprof, &count, &err));
	assert_misuse(allotrope_set_meta(NULL, &(struct allotrope_meta){ 0 }, &err));
	assert_misuse(allotrope_add_comment(NULL, "x", &err));
	assert_misuse(allotrope_find_metric(NULL, "x", &err) != -1);
	assert_misuse(allotrope_add_metric(NULL, "x", "y", &err) != -1);
	assert_misuse(allotrope_add_module(NULL, &(struct allotrope_module){ 0 }, &err));
	assert_misuse(
		allotrope_add_function(NULL, &(struct allotrope_function){ .name = "f" }, &err));
	assert_misuse(allotrope_add_frame(NULL, &(struct allotrope_frame){ 0 }, NULL, 0, &err));
	assert_misuse(allotrope_add_stack_of_frames(NULL, NULL, 0, &err));
	assert_misuse(allotrope_add_stack_of_addresses(NULL, NULL, 0, &err));
	assert_misuse(allotrope_add_names(NULL, NULL, &err));
	assert_misuse(allotrope_add_stack_of_calls(NULL, NULL, 0, &err));
	assert_misuse(allotrope_add_labels(NULL, NULL, 0, &err));
	assert_misuse(allotrope_add_thread(NULL, &(struct allotrope_thread){ 0 }, &err));
	assert_misuse(allotrope_add_sample(NULL, &sample, &err));
	assert_misuse(allotrope_set_values(NULL, 0, NULL, 0, &err));
	assert_misuse(allotrope_keep_samples(NULL, keep_all, NULL, &err));
	assert_misuse(allotrope_apply_filter(NULL, &(struct allotrope_filter){ 0 }, &err));
	assert_misuse(allotrope_select_metrics(NULL, NULL, 0, &err));
	assert_misuse(allotrope_merge(NULL, profile, &err));
	assert_misuse(allotrope_merge(profile, NULL, &err));
	assert_misuse(allotrope_diff(NULL, profile, ALLOTROPE_MATCH_FUNCTION, &err));
	assert_misuse(allotrope_diff(profile, NULL, ALLOTROPE_MATCH_FUNCTION, &err));
	assert_misuse(allotrope_validate(NULL, &err));
	assert_misuse(allotrope_top(NULL, NULL, &count, &err));
	allotrope_clear_comments(NULL);
	allotrope_clear_samples(NULL);
	allotrope_profile_free(NULL);
	allotrope_free(NULL);
}

static void without_a_profile_there_is_nothing_to_see(void **state)
{
	struct allotrope_sample sample;
	struct allotrope_meta meta;

	(void)state;
	assert_int_equal(allotrope_note_count(NULL), 0);
	assert_int_equal(allotrope_comment_count(NULL), 0);
	assert_int_equal(allotrope_metric_count(NULL), 0);
	assert_int_equal(allotrope_module_count(NULL), 0);
	assert_int_equal(allotrope_function_count(NULL), 0);
	assert_int_equal(allotrope_frame_count(NULL), 0);
	assert_int_equal(allotrope_stack_count(NULL), 0);
	assert_int_equal(allotrope_thread_count(NULL), 0);
	assert_int_equal(allotrope_sample_count(NULL), 0);
	assert_int_equal(allotrope_label_count(NULL, 1), 0);
	assert_int_equal(allotrope_sum(NULL, 0), 0);
	assert_int_equal(allotrope_stack_frame(NULL, 1), 0);
	assert_int_equal(allotrope_stack_parent(NULL, 1), 0);
	assert_int_equal(allotrope_get_calls(NULL, 1, NULL, 0), 0);
	assert_null(allotrope_get_comment(NULL, 0));
	assert_false(allotrope_get_meta(NULL, &meta));
	assert_false(allotrope_get_sample(NULL, 0, &sample));
	assert_int_equal(allotrope_error_text(NULL, NULL, 0), 0);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct allotrope_metric metric;
	struct allotrope_module module;
	struct allotrope_function function;
	struct allotrope_frame frame;
	struct allotrope_line line;
	struct allotrope_label label;
	struct allotrope_thread thread;
	struct allotrope_sample sample;
	struct allotrope_format format;

	(void)state;
	assert_false(allotrope_get_metric(profile, 1, &metric));
	assert_false(allotrope_get_sample(profile, 2, &sample));
	assert_false(allotrope_get_format(1000, &format));
	for (uint64_t id = 0; id <= UINT32_MAX; id = id ? id * 3 : 3) { /* 0, 3, 9, 27, ... */
		assert_false(allotrope_get_module(profile, (uint32_t)id, &module));
		assert_false(allotrope_get_function(profile, (uint32_t)id, &function));
		assert_false(allotrope_get_frame(profile, (uint32_t)id, &frame));
		assert_false(allotrope_get_line(profile, (uint32_t)id, 0, &line));
		assert_false(allotrope_get_label(profile, (uint32_t)id, 0, &label));
		assert_false(allotrope_get_thread(profile, (uint32_t)id, &thread));
		assert_int_equal(allotrope_stack_frame(profile, (uint32_t)id), 0);
		assert_int_equal(allotrope_stack_parent(profile, (uint32_t)id), 0);
		assert_int_equal(allotrope_get_calls(profile, (uint32_t)id, NULL, 0), 0);
	}
	assert_false(allotrope_get_line(profile, 1, 1, &line));
}

static void there_must_be_a_place_for_the_answer(void **state)
{
	struct allotrope_write_options pprof = { .to = "pprof" };

	(void)state;
	assert_false(allotrope_get_format(0, NULL));
	assert_false(allotrope_get_meta(profile, NULL));
	assert_false(allotrope_get_metric(profile, 0, NULL));
	assert_false(allotrope_get_function(profile, 1, NULL));
	assert_false(allotrope_get_frame(profile, 1, NULL));
	assert_false(allotrope_get_line(profile, 1, 0, NULL));
	assert_false(allotrope_get_sample(profile, 0, NULL));
	assert_misuse(allotrope_write_memory(profile, &pprof, NULL, &err));
	assert_misuse(allotrope_top(profile, NULL, NULL, &err));
}

static void what_is_to_be_done_must_be_given(void **state)
{
	size_t len;

	(void)state;
	assert_misuse(allotrope_read_file(NULL, NULL, &err));
	assert_misuse(allotrope_read_memory(NULL, 1, NULL, NULL, &err));
	assert_fails(allotrope_read_memory(NULL, 0, NULL, NULL, &err), ALLOTROPE_FORMAT);
	assert_fails(allotrope_read_fd(-1, NULL, NULL, &err), ALLOTROPE_IO);
	assert_misuse(allotrope_read_memory(
		"a 1", 3, NULL, &(struct allotrope_read_options){ .from = "nothing" }, &err));
	assert_misuse(allotrope_write_file(profile, NULL, NULL, &err));
	assert_misuse(allotrope_write_fd(profile, -1, NULL, NULL, &err));
	assert_misuse(allotrope_write_fd(profile, 1, NULL, NULL, &err)); /* in which format? */
	assert_misuse(allotrope_write_memory(profile, NULL, &len, &err));
	assert_misuse(allotrope_convert(NULL, "x.pb", NULL, NULL, &err));
	assert_misuse(allotrope_set_meta(profile, NULL, &err));
	assert_misuse(allotrope_add_comment(profile, NULL, &err));
	assert_misuse(allotrope_add_metric(profile, NULL, "bytes", &err) != -1);
	assert_misuse(allotrope_add_module(profile, NULL, &err));
	assert_misuse(allotrope_add_function(profile, NULL, &err));
	assert_misuse(
		allotrope_add_function(profile, &(struct allotrope_function){ .file = "f" }, &err));
	assert_misuse(allotrope_add_frame(profile, NULL, NULL, 0, &err));
	assert_misuse(allotrope_add_frame(profile, &(struct allotrope_frame){ 0 }, NULL, 1, &err));
	assert_misuse(allotrope_add_stack_of_frames(profile, NULL, 1, &err));
	assert_misuse(allotrope_add_stack_of_addresses(profile, NULL, 1, &err));
	assert_misuse(allotrope_add_stack_of_calls(profile, NULL, 1, &err));
	assert_misuse(allotrope_add_labels(profile, NULL, 1, &err));
	assert_misuse(
		allotrope_add_labels(profile, &(struct allotrope_label){ .text = "x" }, 1, &err));
	assert_misuse(allotrope_add_thread(profile, NULL, &err));
	assert_misuse(allotrope_add_sample(profile, NULL, &err));
	assert_misuse(allotrope_add_sample(profile, &(struct allotrope_sample){ 0 }, &err));
	assert_misuse(allotrope_set_values(profile, 0, NULL, 1, &err));
	assert_misuse(allotrope_keep_samples(profile, NULL, NULL, &err));
	assert_misuse(allotrope_apply_filter(profile, NULL, &err));
	assert_misuse(allotrope_select_metrics(profile, NULL, 1, &err));
	assert_misuse(allotrope_select_metrics(profile, (const char *const[]){ NULL }, 1, &err));
	assert_misuse(
		allotrope_select_metrics(profile, (const char *const[]){ "samples" }, 0, &err));
	assert_misuse(allotrope_merge(profile, profile, &err));
}

static void what_is_referred_to_must_exist(void **state)
{
	static const struct allotrope_call inlined = { .function = "f", .is_inlined = true };
	static const struct allotrope_call unnamed[] = { { .is_inlined = true },
							 { .function = "f" } };
	static const unsigned char bytes[65];
	const uint64_t values[2] = { 0 };
	struct allotrope_module backwards = { .start = 2, .limit = 1 };
	struct allotrope_module endless = { .build_id_bytes = bytes, .build_id_size = 65 };
	struct allotrope_module nothing = { .build_id_size = 1 };
	struct allotrope_frame in_module = { .module = 1 };
	struct allotrope_line of_function = { .function = 3 };
	struct allotrope_call call = { .function = "f", .module = 1 };
	struct allotrope_sample sample = { .values = values, .value_count = 1 };
	allotrope_frame_id frame = 3;

	(void)state;
	assert_misuse(allotrope_add_module(profile, &backwards, &err));
	assert_misuse(allotrope_add_module(profile, &endless, &err));
	assert_misuse(allotrope_add_module(profile, &nothing, &err));
	assert_misuse(allotrope_add_frame(profile, &in_module, NULL, 0, &err));
	in_module.module = 0;
	assert_misuse(allotrope_add_frame(profile, &in_module, &of_function, 1, &err));
	assert_misuse(allotrope_add_stack_of_frames(profile, &frame, 1, &err));
	assert_misuse(allotrope_add_stack_of_calls(profile, &call, 1, &err));
	assert_misuse(allotrope_add_stack_of_calls(profile, &inlined, 1, &err));
	assert_misuse(allotrope_add_stack_of_calls(profile, unnamed, 2, &err));
	sample.stack = 3;
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	sample.stack = 0;
	sample.labels = 1;
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	sample.labels = 0;
	sample.thread = 1;
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	sample.thread = 0;
	sample.value_count = 2;
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	sample.value_count = 1;
	sample.has_time = true; /* the others have none */
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	assert_misuse(allotrope_set_values(profile, 0, values, 2, &err));
	assert_misuse(allotrope_set_values(profile, 2, values, 1, &err));
}

static void there_are_no_other_choices(void **state)
{
	struct allotrope_top_options by = { .by = (enum allotrope_by)99 };
	struct allotrope_top_options order = { .order = (enum allotrope_order)99 };
	struct allotrope_meta meta = { .clock = (enum allotrope_clock)99 };
	size_t count;

	(void)state;
	assert_misuse(allotrope_diff(profile, profile, (enum allotrope_match)99, &err));
	assert_misuse(allotrope_top(profile, &by, &count, &err));
	assert_misuse(allotrope_top(profile, &order, &count, &err));
	assert_misuse(allotrope_set_meta(profile, &meta, &err));
}

/* Fields of a later version, which we would ignore. */
static void reserved_fields_must_be_zero(void **state)
{
	struct allotrope_write_options writing = { .to = "pprof", .reserved = { 1 } };
	const uint64_t value = 1;
	struct allotrope_sample sample = { .values = &value, .value_count = 1, .reserved = { 1 } };
	struct allotrope_line line = { .function = 1, .reserved = 1 };
	size_t count;

	(void)state;
	assert_misuse(allotrope_read_memory(
		"a 1", 3, NULL, &(struct allotrope_read_options){ .reserved = { 1 } }, &err));
	assert_misuse(allotrope_write_file(profile, "x.pb", &writing, &err));
	assert_misuse(allotrope_write_fd(profile, 1, NULL, &writing, &err));
	assert_misuse(allotrope_write_memory(profile, &writing, &count, &err));
	assert_misuse(allotrope_set_meta(
		profile, &(struct allotrope_meta){ .reserved = { 0, 0, 0, 0, 0, 0, 0, 1 } }, &err));
	assert_misuse(allotrope_add_module(profile, &(struct allotrope_module){ .reserved = { 1 } },
					   &err));
	assert_misuse(allotrope_add_function(
		profile, &(struct allotrope_function){ .name = "f", .reserved = { 1 } }, &err));
	assert_misuse(allotrope_add_frame(profile, &(struct allotrope_frame){ .reserved = { 1 } },
					  NULL, 0, &err));
	assert_misuse(allotrope_add_frame(profile, &(struct allotrope_frame){ 0 }, &line, 1, &err));
	assert_misuse(allotrope_add_stack_of_calls(
		profile, &(struct allotrope_call){ .reserved = { 1 } }, 1, &err));
	assert_misuse(allotrope_add_labels(
		profile, &(struct allotrope_label){ .key = "k", .reserved = { 1 } }, 1, &err));
	assert_misuse(allotrope_add_thread(profile, &(struct allotrope_thread){ .reserved = { 1 } },
					   &err));
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	assert_misuse(allotrope_apply_filter(
		profile, &(struct allotrope_filter){ .reserved = { 1 } }, &err));
	assert_misuse(allotrope_top(profile, &(struct allotrope_top_options){ .reserved = { 1 } },
				    &count, &err));
}

/* Without an error object the answer is the same. */
static void nobody_has_to_ask_why(void **state)
{
	(void)state;
	assert_null(allotrope_read_file("/nowhere", NULL, NULL));
	assert_false(allotrope_write_file(profile, NULL, NULL, NULL));
	assert_int_equal(allotrope_add_metric(profile, NULL, NULL, NULL), -1);
	assert_int_equal(allotrope_add_module(profile, NULL, NULL), 0);
	assert_false(allotrope_validate(NULL, NULL));
	assert_true(allotrope_validate(profile, NULL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_profile, check_profile)
	const struct CMUnitTest tests[] = {
		TEST(there_must_be_a_profile),
		TEST(without_a_profile_there_is_nothing_to_see),
		TEST(what_is_not_there_is_not_found),
		TEST(there_must_be_a_place_for_the_answer),
		TEST(what_is_to_be_done_must_be_given),
		TEST(what_is_referred_to_must_exist),
		TEST(there_are_no_other_choices),
		TEST(reserved_fields_must_be_zero),
		TEST(nobody_has_to_ask_why),
	};

	return cmocka_run_group_tests_name("library_misuse", tests, NULL, NULL);
}
