/* test_library_build.c - liballotrope: profiles from scratch. */
#include "check_library.h"

/* Writes and reads a profile, which is freed. */
static struct allotrope_profile *through_pprof(struct allotrope_profile *profile)
{
	struct allotrope_write_options options = { .to = "pprof" };
	struct allotrope_profile *again = NULL;
	char *memory = NULL;
	size_t len = 0;

	assert_works((memory = allotrope_write_memory(profile, &options, &len, &err)));
	free_valid(profile);
	assert_works((again = allotrope_read_memory(memory, len, NULL, NULL, &err)));
	allotrope_free(memory);
	return again;
}

static void what_is_said_about_a_profile_comes_back(void **state)
{
	struct allotrope_meta meta = { .command = "./demo -x",
				       .producer = "a test",
				       .period_type = "space",
				       .period_unit = "bytes",
				       .drop_frames = "malloc",
				       .pid = 4711,
				       .start_ns = 1700000000000000123,
				       .duration = 1009,
				       .period = 524288,
				       .default_metric = 1 };
	struct allotrope_profile *profile = new_profile();

	(void)state;
	assert_misuse(allotrope_set_meta(profile, &meta, &err)); /* there is no metric yet */
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 0);
	assert_works(allotrope_set_meta(profile, &meta, &err));
	assert_works(allotrope_add_comment(profile, "gone", &err));
	allotrope_clear_comments(profile);
	assert_works(allotrope_add_comment(profile, "hello", &err));
	profile = through_pprof(profile);
	assert_true(allotrope_get_meta(profile, &meta));
	assert_string_equal(meta.format, "pprof");
	assert_string_equal(meta.command, "./demo -x");
	assert_string_equal(meta.producer, "a test");
	assert_string_equal(meta.period_type, "space");
	assert_string_equal(meta.period_unit, "bytes");
	assert_string_equal(meta.drop_frames, "malloc");
	assert_string_equal(meta.keep_frames, "");
	assert_int_equal(meta.pid, 4711);
	assert_int_equal(meta.start_ns, 1700000000000000123);
	assert_int_equal(meta.duration, 1009);
	assert_int_equal(meta.clock, ALLOTROPE_CLOCK_NS);
	assert_int_equal(meta.period, 524288);
	assert_int_equal(meta.default_metric, 1);
	assert_int_equal(allotrope_comment_count(profile), 1);
	assert_string_equal(allotrope_get_comment(profile, 0), "hello");
	assert_null(allotrope_get_comment(profile, 1));
	free_valid(profile);
}

static void metrics_are_known_by_name_and_unit(void **state)
{
	struct allotrope_profile *profile = new_profile();
	struct allotrope_metric metric;

	(void)state;
	assert_works(allotrope_add_metric(profile, "inuse_space", "bytes", &err) == 0);
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 1);
	assert_works(allotrope_add_metric(profile, "alloc_space", "pages", &err) == 2);
	assert_works(allotrope_add_metric(profile, "cache_misses", "count", &err) == 3);
	assert_works(allotrope_add_metric(profile, "live_bytes", "bytes", &err) == 0); /* again */
	assert_misuse(allotrope_add_metric(profile, "cache_hits", NULL, &err) != -1);
	assert_misuse(allotrope_add_metric(profile, "", "count", &err) != -1);
	assert_true(allotrope_get_metric(profile, 0, &metric));
	assert_string_equal(metric.name, "live_bytes");
	assert_string_equal(metric.meaning, "live_bytes");
	assert_true(metric.is_additive && !metric.is_signed && !metric.is_before);
	assert_true(
		allotrope_get_metric(profile, 2, &metric)); /* pprof means something else by it */
	assert_string_equal(metric.name, "alloc_space");
	assert_string_equal(metric.meaning, "");
	assert_works(allotrope_find_metric(profile, "tb", &err) == 1); /* DHAT's name */
	assert_works(allotrope_find_metric(profile, "cache_misses", &err) == 3);
	assert_works(allotrope_find_metric(profile, NULL, &err) == 0);
	assert_misuse(allotrope_find_metric(profile, "cache_hits", &err) != -1);
	free_valid(profile);
}

static void a_metric_that_comes_late_starts_at_zero(void **state)
{
	struct allotrope_profile *profile = profile_of("main 4\n");

	(void)state;
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 1);
	assert_int_equal(value_of(profile, 0, 0), 4);
	assert_int_equal(value_of(profile, 0, 1), 0);
	free_valid(profile);
}

static void entries_come_back_as_they_were_added(void **state)
{
	struct allotrope_profile *profile = new_profile();
	struct allotrope_module module = { .path = "/bin/x",
					   .build_id = "c0ffee",
					   .start = 0x1000,
					   .limit = 0x2000,
					   .offset = 64 };
	struct allotrope_function function = {
		.name = "f()", .system_name = "_Z1fv", .file = "f.cc", .start_line = 7
	};
	struct allotrope_frame frame = { .address = 0x1234, .is_folded = true };
	struct allotrope_line lines[2] = { { .line = 9, .column = 3 }, { .line = 20 } };
	struct allotrope_thread thread = { .name = "worker", .pid = 5, .tid = 6 };
	allotrope_frame_id id = 0;

	(void)state;
	assert_works(allotrope_add_module(profile, &module, &err) == 1);
	assert_works(allotrope_add_function(profile, &function, &err) == 1);
	function.file = "other.cc";
	assert_works(allotrope_add_function(profile, &function, &err) == 2);
	assert_works(allotrope_add_function(profile, &function, &err) == 2);
	lines[0].function = 2;
	lines[1].function = 1;
	assert_works((id = allotrope_add_frame(profile, &frame, lines, 2, &err)));
	assert_works(allotrope_add_thread(profile, &thread, &err) == 1);

	memset(&module, 0, sizeof(module));
	memset(&frame, 0, sizeof(frame));
	assert_true(allotrope_get_module(profile, 1, &module));
	assert_string_equal(module.path, "/bin/x");
	assert_string_equal(module.build_id, "c0ffee");
	assert_true(module.start == 0x1000 && module.limit == 0x2000 && module.offset == 64);
	assert_true(allotrope_get_function(profile, 1, &function));
	assert_string_equal(function.name, "f()");
	assert_string_equal(function.system_name, "_Z1fv");
	assert_string_equal(function.file, "f.cc");
	assert_int_equal(function.start_line, 7);
	assert_true(allotrope_get_frame(profile, id, &frame));
	assert_true(frame.address == 0x1234 && frame.module == 1 && frame.is_folded);
	assert_int_equal(frame.line_count, 2);
	assert_true(allotrope_get_line(profile, id, 0, &lines[1]));
	assert_true(lines[1].function == 2 && lines[1].line == 9 && lines[1].column == 3);
	assert_false(allotrope_get_line(profile, id, 2, &lines[1]));
	assert_true(allotrope_get_thread(profile, 1, &thread));
	assert_string_equal(thread.name, "worker");
	assert_true(thread.pid == 5 && thread.tid == 6);
	assert_int_equal(allotrope_module_count(profile), 1);
	assert_int_equal(allotrope_function_count(profile), 2);
	assert_int_equal(allotrope_frame_count(profile), 1);
	assert_int_equal(allotrope_thread_count(profile), 1);
	free_valid(profile);
}

/* Addresses and modules. */

static allotrope_module_id add_range(struct allotrope_profile *profile, const char *path,
				     uint64_t start, uint64_t limit)
{
	struct allotrope_module module = { .path = path, .start = start, .limit = limit };
	allotrope_module_id id = 0;

	assert_works((id = allotrope_add_module(profile, &module, &err)));
	return id;
}

static allotrope_module_id module_at(struct allotrope_profile *profile, uint64_t address)
{
	struct allotrope_frame frame;
	allotrope_stack_id stack = 0;

	assert_works((stack = allotrope_add_stack_of_addresses(profile, &address, 1, &err)));
	assert_true(allotrope_get_frame(profile, allotrope_stack_frame(profile, stack), &frame));
	assert_int_equal(frame.address, address);
	assert_int_equal(frame.line_count, 0);
	return frame.module;
}

static void addresses_find_their_modules(void **state)
{
	struct allotrope_profile *profile = new_profile();

	(void)state;
	/* In another order: 0x10000, 0x20000, ... with gaps between them. */
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t start = (1 + i * 619 % 1000) << 16;

		assert_int_equal(add_range(profile, "m", start, start + 0x8000), i + 1);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t start = (1 + i * 619 % 1000) << 16;

		assert_int_equal(module_at(profile, start), i + 1);
		assert_int_equal(module_at(profile, start + 0x7fff), i + 1);
		assert_int_equal(module_at(profile, start + 0x8000), 0);
		assert_int_equal(module_at(profile, start - 1), 0);
	}
	assert_int_equal(module_at(profile, UINT64_MAX), 0);
	free_valid(profile);
}

static void a_later_module_takes_the_place_of_others(void **state)
{
	struct allotrope_profile *profile = new_profile();
	allotrope_module_id a, b, c, d;

	(void)state;
	a = add_range(profile, "a", 0x1000, 0x4000);
	b = add_range(profile, "b", 0x5000, 0x6000);
	assert_int_equal(module_at(profile, 0x2000), a);
	c = add_range(profile, "c", 0x2000, 0x3000); /* in the middle of a */
	assert_int_equal(module_at(profile, 0x1fff), a);
	assert_int_equal(module_at(profile, 0x2000), c);
	assert_int_equal(module_at(profile, 0x3000), a);
	d = add_range(profile, "d", 0x3800, 0x5800); /* over the end of a and the start of b */
	assert_int_equal(module_at(profile, 0x37ff), a);
	assert_int_equal(module_at(profile, 0x3800), d);
	assert_int_equal(module_at(profile, 0x5000), d);
	assert_int_equal(module_at(profile, 0x5800), b);
	assert_int_equal(add_range(profile, "a", 0x1000, 0x4000), a); /* back again */
	assert_int_equal(module_at(profile, 0x2000), a);
	assert_int_equal(module_at(profile, 0x4000), d);
	free_valid(profile);
}

static void modules_of_a_file_are_found_too(void **state)
{
	struct allotrope_profile *profile = new_profile(), *other = new_profile();

	(void)state;
	add_range(profile, "a", 0x1000, 0x2000);
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 0);
	profile = through_pprof(profile);
	assert_int_equal(module_at(profile, 0x1800), 1);
	add_range(other, "b", 0x3000, 0x4000);
	assert_works(allotrope_merge(profile, other, &err));
	assert_int_equal(module_at(profile, 0x3800), 2);
	free_valid(other);
	free_valid(profile);
}

/* A pprof file with a mapping from 0x5000 to 0x1000. */
static void a_module_that_ends_before_it_starts_has_no_addresses(void **state)
{
	static const char file[] = "\x0a\x04\x08\x01\x10\x02"
				   "\x1a\x0b\x08\x01\x10\x80\xa0\x01\x18\x80\x20\x28\x03"
				   "\x22\x07\x08\x01\x10\x01\x18\x80\x60"
				   "\x12\x04\x08\x01\x10\x05"
				   "\x32\x00\x32\x01"
				   "a"
				   "\x32\x05"
				   "count"
				   "\x32\x04"
				   "/bin";
	struct allotrope_profile *profile = NULL;
	allotrope_module_id real;

	(void)state;
	assert_works((profile = allotrope_read_memory(file, sizeof(file) - 1, NULL, NULL, &err)));
	assert_int_equal(allotrope_module_count(profile), 1);
	assert_int_equal(module_at(profile, 0x4800), 0);
	real = add_range(profile, "real", 0x4000, 0x6000);
	assert_int_equal(module_at(profile, 0x4800), real);
	assert_int_equal(module_at(profile, 0x5800), real);
	free_valid(profile);
}

static void a_build_id_may_be_bytes(void **state)
{
	static const unsigned char bytes[] = { 0x00, 0x1f, 0xa0, 0xff };
	struct allotrope_module module = { .build_id_bytes = bytes, .build_id_size = 4 };
	struct allotrope_profile *profile = new_profile();

	(void)state;
	assert_works(allotrope_add_module(profile, &module, &err));
	assert_true(allotrope_get_module(profile, 1, &module));
	assert_string_equal(module.build_id, "001fa0ff");
	free_valid(profile);
}

/* Stacks. */

static void stacks_list_the_leaf_first(void **state)
{
	static const uint64_t addresses[] = { 0x30, 0, 0x20, 0x10, 0 }; /* 0 is left out */
	struct allotrope_profile *profile = new_profile();
	allotrope_stack_id stack = 0;

	(void)state;
	assert_works((stack = allotrope_add_stack_of_addresses(profile, addresses, 5, &err)));
	for (uint64_t address = 0x30; address > 0; address -= 0x10) {
		struct allotrope_frame frame;

		assert_true(allotrope_get_frame(profile, allotrope_stack_frame(profile, stack),
						&frame));
		assert_int_equal(frame.address, address);
		stack = allotrope_stack_parent(profile, stack);
	}
	assert_int_equal(stack, 0);
	assert_int_equal(allotrope_stack_count(profile), 3);
	free_valid(profile);
}

static void calls_come_back_and_are_the_same_stack(void **state)
{
	static const struct allotrope_call given[] = {
		{ .function = "innermost", .file = "a.h", .line = 1, .is_inlined = true },
		{ .function = "middle", .file = "b.h", .line = 2, .column = 7, .is_inlined = true },
		{ .function = "outer",
		  .system_name = "_outer",
		  .file = "c.c",
		  .start_line = 3,
		  .line = 5,
		  .is_folded = true,
		  .address = 0x1500 },
		{ .address = 0x1700 },
		{ .function = "main", .file = "c.c", .line = 9 },
	};
	struct allotrope_profile *profile = new_profile();
	struct allotrope_call got[5];
	allotrope_stack_id stack = 0;

	(void)state;
	add_range(profile, "m", 0x1000, 0x2000);
	assert_works((stack = allotrope_add_stack_of_calls(profile, given, 5, &err)));
	assert_int_equal(allotrope_stack_count(profile), 3);
	assert_int_equal(allotrope_get_calls(profile, stack, NULL, 0), 5);
	assert_int_equal(allotrope_get_calls(profile, stack, got, 5), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(got[i].function, given[i].function ? given[i].function : "");
		assert_string_equal(got[i].file, given[i].file ? given[i].file : "");
		assert_int_equal(got[i].line, given[i].line);
		assert_int_equal(got[i].column, given[i].column);
		assert_int_equal(got[i].is_inlined, given[i].is_inlined);
		assert_int_equal(got[i].is_folded, i < 3);
		assert_int_equal(got[i].address, i < 3 ? 0x1500 : given[i].address);
		assert_int_equal(got[i].module, i < 4 ? 1 : 0);
	}
	assert_string_equal(got[2].system_name, "_outer");
	assert_int_equal(got[2].start_line, 3);
	assert_works(allotrope_add_stack_of_calls(profile, got, 5, &err) == stack);
	free_valid(profile);
}

/* Labels and samples. */

static void labels_are_texts_or_numbers(void **state)
{
	static const struct allotrope_label given[] = {
		{ .key = "request", .text = "/a" },
		{ .key = "size", .unit = "bytes", .number = -64 },
	};
	struct allotrope_profile *profile = new_profile();
	struct allotrope_sample sample;
	struct allotrope_label label;
	allotrope_labels_id labels = 0;

	(void)state;
	assert_works((labels = allotrope_add_labels(profile, given, 2, &err)));
	assert_works(allotrope_add_labels(profile, given, 2, &err) == labels);
	assert_works(allotrope_add_labels(profile, NULL, 0, &err) == 0);
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 0);
	assert_works(add_value(profile, stack_of(profile, "f"), labels, 5, &err));
	profile = through_pprof(profile);
	assert_true(allotrope_get_sample(profile, 0, &sample));
	assert_int_equal(allotrope_label_count(profile, sample.labels), 2);
	assert_true(allotrope_get_label(profile, sample.labels, 0, &label));
	assert_string_equal(label.key, "request");
	assert_string_equal(label.text, "/a");
	assert_true(allotrope_get_label(profile, sample.labels, 1, &label));
	assert_null(label.text);
	assert_string_equal(label.unit, "bytes");
	assert_int_equal(label.number, -64);
	assert_false(allotrope_get_label(profile, sample.labels, 2, &label));
	free_valid(profile);
}

static void equal_stacks_with_equal_labels_add_up(void **state)
{
	static const struct allotrope_label a = { .key = "k", .text = "a" },
					    b = { .key = "k", .text = "b" };
	struct allotrope_profile *profile = profile_of("f 1\n");
	allotrope_labels_id with_a = 0, with_b = 0;
	allotrope_stack_id f = stack_of(profile, "f"), g = stack_of(profile, "g");

	(void)state;
	assert_works((with_a = allotrope_add_labels(profile, &a, 1, &err)));
	assert_works((with_b = allotrope_add_labels(profile, &b, 1, &err)));
	assert_works(add_value(profile, f, 0, 10, &err));
	assert_works(add_value(profile, f, with_a, 100, &err));
	assert_works(add_value(profile, f, with_b, 1000, &err));
	assert_works(add_value(profile, f, with_a, 200, &err));
	assert_works(add_value(profile, g, 0, 5, &err));
	assert_works(add_value(profile, 0, 0, 7, &err)); /* no stack is one, too */
	assert_int_equal(allotrope_sample_count(profile), 5);
	assert_int_equal(value_of(profile, 0, 0), 11);
	assert_int_equal(value_of(profile, 1, 0), 300);
	assert_int_equal(value_of(profile, 2, 0), 1000);
	assert_int_equal(allotrope_sum(profile, 0), 1323);
	free_valid(profile);
}

static void a_sample_may_be_added_to_its_own_profile(void **state)
{
	struct allotrope_profile *profile = profile_of("f 5\n");
	struct allotrope_sample sample;

	(void)state;
	for (uint64_t address = 1; address < 100; address++) {
		assert_true(allotrope_get_sample(profile, 0, &sample));
		assert_works((sample.stack = allotrope_add_stack_of_addresses(profile, &address, 1,
									      &err)));
		assert_works(allotrope_add_sample(profile, &sample, &err));
		assert_int_equal(value_of(profile, address, 0), 5);
	}
	free_valid(profile);
}

static void negative_values_make_a_metric_signed(void **state)
{
	struct allotrope_profile *profile = profile_of("f 18446744073709551615\ng 3\n");
	const int64_t minus = -5;
	struct allotrope_sample sample = { .signed_values = &minus, .value_count = 1 };
	struct allotrope_metric metric;

	(void)state;
	assert_int_equal(allotrope_sum(profile, 0), INT64_MAX); /* all that fits */
	sample.stack = stack_of(profile, "g");
	assert_works(allotrope_add_sample(profile, &sample, &err));
	assert_true(allotrope_get_metric(profile, 0, &metric));
	assert_true(metric.is_signed);
	assert_true(allotrope_get_sample(profile, 1, &sample));
	assert_int_equal(sample.signed_values[0], -2);
	assert_true(allotrope_get_sample(profile, 0, &sample));
	assert_int_equal(sample.signed_values[0], INT64_MAX);
	assert_int_equal(allotrope_note_count(profile), 1); /* and the loss is noted */
	free_valid(profile);
}

static void samples_with_times_stay_apart(void **state)
{
	struct allotrope_profile *profile = new_profile(), *plain = profile_of("f 1\n");
	struct allotrope_thread thread = { .tid = 3 };
	const uint64_t value = 1;
	struct allotrope_sample sample = { .values = &value,
					   .value_count = 1,
					   .has_time = true,
					   .start_ns = 5,
					   .duration_ns = 2 };

	(void)state;
	assert_misuse(allotrope_add_sample(profile, &sample, &err)); /* there is no metric yet */
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 0);
	assert_works((sample.thread = allotrope_add_thread(profile, &thread, &err)));
	assert_works(allotrope_add_sample(profile, &sample, &err));
	sample.start_ns = 9;
	assert_works(allotrope_add_sample(profile, &sample, &err));
	assert_int_equal(allotrope_sample_count(profile), 2);
	assert_true(allotrope_get_sample(profile, 1, &sample));
	assert_true(sample.has_time && sample.start_ns == 9 && sample.duration_ns == 2);
	assert_int_equal(sample.thread, 1);
	sample.has_time = false;
	assert_misuse(allotrope_add_sample(profile, &sample, &err));
	assert_misuse(allotrope_merge(profile, plain, &err));
	assert_misuse(allotrope_merge(plain, profile, &err));
	free_valid(plain);
	free_valid(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_about_a_profile_comes_back),
		cmocka_unit_test(metrics_are_known_by_name_and_unit),
		cmocka_unit_test(a_metric_that_comes_late_starts_at_zero),
		cmocka_unit_test(entries_come_back_as_they_were_added),
		cmocka_unit_test(addresses_find_their_modules),
		cmocka_unit_test(a_later_module_takes_the_place_of_others),
		cmocka_unit_test(modules_of_a_file_are_found_too),
		cmocka_unit_test(a_module_that_ends_before_it_starts_has_no_addresses),
		cmocka_unit_test(a_build_id_may_be_bytes),
		cmocka_unit_test(stacks_list_the_leaf_first),
		cmocka_unit_test(calls_come_back_and_are_the_same_stack),
		cmocka_unit_test(labels_are_texts_or_numbers),
		cmocka_unit_test(equal_stacks_with_equal_labels_add_up),
		cmocka_unit_test(a_sample_may_be_added_to_its_own_profile),
		cmocka_unit_test(negative_values_make_a_metric_signed),
		cmocka_unit_test(samples_with_times_stay_apart),
	};

	return cmocka_run_group_tests_name("library_build", tests, NULL, NULL);
}
