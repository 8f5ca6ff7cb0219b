/* test_writers.c - writers/writers.h, and cases of writers that no input file can produce. */
#include "check.h"

#include "base/defer.h"
#include "writers/writers.h"

static void write_as(const char *form, const struct allo_profile *profile, struct allo_output *out)
{
	struct allo_output_options plain = { .packing = ALLO_PLAIN };
	struct allo_error err = { 0 };

	assert_true(allo_output_open_memory(out, &plain, &err));
	assert_true(allo_write(allo_writer_find(form, &err), profile, NULL, out, NULL, &err));
	assert_true(allo_output_finish(out, &err));
}

static void assert_holds(const struct allo_output *out, const char *part)
{
	assert_true(allo_text_find(allo_output_memory(out), allo_text_of(part)) != (size_t)-1);
}

/* Two samples with times, on threads 8 and 9 of process 7. */
static void fill_with_times(struct allo_profile *profile)
{
	struct allo_error err = { 0 };
	allo_stack_id stack = allo_profile_add_stack(
		profile, 0, allo_profile_add_named_frame(profile, ALLO_TEXT("main"), &err), &err);
	struct allo_label label = {
		.key = allo_profile_add_string(profile, ALLO_TEXT("re;quest"), &err),
		.text = allo_profile_add_string(profile, ALLO_TEXT("a;b"), &err),
	};

	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	for (uint64_t i = 0; i < 2; i++) {
		struct allo_thread thread = {
			7, 8 + i, i ? 0 : allo_profile_add_string(profile, ALLO_TEXT("io"), &err)
		};
		struct allo_when when = { 100 * i, 50 + i,
					  allo_profile_add_thread(profile, &thread, &err) };
		allo_labels_id labels = i ? allo_profile_add_labels(profile, &label, 1, &err) : 0;
		uint64_t *row = allo_profile_add_timed_sample(profile, stack, labels, &when, &err);

		assert_non_null(row);
		row[0] = 1000 + i;
	}
	assert_true(allo_profile_validate(profile, &err));
}

static void csv_has_times_and_labels(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	(void)state;
	fill_with_times(&profile);
	write_as("csv", &profile, &out);
	assert_text_equal(allo_output_memory(&out),
			  "alloc_bytes,labels,function,file,line,module,address,stack,"
			  "start_ns,duration_ns,pid,tid,thread\n"
			  "1000,,main,,,,,main,0,50,7,8,io\n"
			  "1001,re:quest=a:b,main,,,,,main,100,51,7,9,\n");
}

static void json_has_times_and_labels(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	(void)state;
	fill_with_times(&profile);
	write_as("json", &profile, &out);
	assert_holds(&out, "{\"pid\":7,\"tid\":8,\"name\":\"io\"},\n");
	assert_holds(&out, "[{\"key\":\"re;quest\",\"text\":\"a;b\"}]\n");
	assert_holds(&out, "{\"stack\":1,\"values\":[1000],\"duration_ns\":50,\"thread\":1},\n");
	assert_holds(&out, "{\"stack\":1,\"values\":[1001],\"labels\":1,\"start_ns\":100,"
			   "\"duration_ns\":51,\"thread\":2}\n");
}

static void samples_of_one_stack_are_one_line(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output folded = { .fd = -1 };
	ALLO_DEFER(allo_output_drop) struct allo_output dhat = { .fd = -1 };

	(void)state;
	fill_with_times(&profile);
	write_as("folded", &profile, &folded);
	assert_text_equal(allo_output_memory(&folded), "main 2001\n");
	write_as("dhat", &profile, &dhat);
	assert_holds(&dhat, " [{\"tb\":2001,\"tbk\":0,\"fs\":[1]}\n ]");
}

/* Frames of two modules print the same in DHAT where they have lines, and its viewer refuses
 * repeated locations. */
static void dhat_points_that_print_the_same_are_added_up(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BLOCKS, NULL, &err));
	for (uint64_t i = 1; i <= 2; i++) {
		struct allo_function function = {
			.name = allo_profile_add_string(&profile, ALLO_TEXT("f"), &err),
			.file = allo_profile_add_string(&profile, ALLO_TEXT("a.c"), &err),
		};
		struct allo_line line = { allo_profile_add_function(&profile, &function, &err), 7,
					  0 };
		struct allo_frame frame = { .address = 0xabc, .is_folded = i == 2 };
		allo_stack_id stack = allo_profile_add_stack(
			&profile, 0, allo_profile_add_frame(&profile, &frame, &line, 1, &err),
			&err);
		uint64_t *row = allo_profile_add_sample(&profile, stack, 0, NULL, &err);

		assert_non_null(row);
		row[0] = 1000 * i;
		row[1] = i;
	}
	write_as("dhat", &profile, &out);
	assert_holds(&out, "\n [{\"tb\":3000,\"tbk\":3,\"fs\":[1]}\n ]");
	assert_holds(&out, "[\"[root]\"\n ,\"0xABC: f (a.c:7)\"\n ]");
}

static void an_empty_profile_can_be_written_in_every_form(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	for (size_t i = 0; allo_writers[i]; i++) {
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

		if (!allo_writers[i]->takes_rows)
			write_as(allo_writers[i]->name, &profile, &out);
	}
}

static void the_table_is_sorted(void **state)
{
	(void)state;
	for (size_t i = 1; allo_writers[i]; i++)
		assert_true(strcmp(allo_writers[i - 1]->name, allo_writers[i]->name) < 0);
}

static void a_file_is_recognised_by_its_marks(void **state)
{
	const struct allo_writer *callgrind = allo_writer_find("callgrind", NULL);

	(void)state;
	assert_ptr_equal(allo_writer_find_by_content(ALLO_TEXT("\n# callgrind format\n")),
			 callgrind);
	assert_ptr_equal(allo_writer_find_by_content(ALLO_TEXT("events: bytes\nfn=(1) main\n")),
			 callgrind);
	/* Both texts of a mark are needed. */
	assert_null(allo_writer_find_by_content(ALLO_TEXT("events: bytes\n")));
	assert_null(allo_writer_find_by_content(ALLO_TEXT("")));
}

static void lifetimes_in_nanoseconds_stay_exact(void **state)
{
	const struct {
		uint64_t lifetime;
		const char *unit, *point;
	} cases[] = {
		{ 5000, "\"tu\":\"\xc2\xb5s\"\n,\"Mtu\":\"s\"", "\"tl\":5," },
		{ 5001, "\"tu\":\"ns\"\n,\"Mtu\":\"ms\"", "\"tl\":5001," },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
		struct allo_error err = { 0 };
		uint64_t *row;

		profile.meta.clock = ALLO_CLOCK_NS;
		profile.meta.duration = 7000;
		assert_true(allo_profile_add_metric(&profile, ALLO_END_BYTES, NULL, &err));
		assert_true(allo_profile_add_metric(&profile, ALLO_LIFETIME, "nanoseconds", &err));
		row = allo_profile_add_sample(&profile, 0, 0, NULL, &err);
		assert_non_null(row);
		row[0] = 1009;
		row[1] = cases[i].lifetime;
		write_as("dhat", &profile, &out);
		assert_holds(&out, cases[i].unit);
		assert_holds(&out, cases[i].point);
		assert_holds(&out, i == 0 ? "\n,\"tuth\":10\n" : "\n,\"tuth\":10000\n");
		assert_holds(&out, i == 0 ? "\n,\"te\":7\n,\"tg\":7\n"
					  : "\n,\"te\":7000\n,\"tg\":7000\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_has_times_and_labels),
		cmocka_unit_test(json_has_times_and_labels),
		cmocka_unit_test(samples_of_one_stack_are_one_line),
		cmocka_unit_test(dhat_points_that_print_the_same_are_added_up),
		cmocka_unit_test(an_empty_profile_can_be_written_in_every_form),
		cmocka_unit_test(the_table_is_sorted),
		cmocka_unit_test(a_file_is_recognised_by_its_marks),
		cmocka_unit_test(lifetimes_in_nanoseconds_stay_exact),
	};

	return cmocka_run_group_tests_name("writers", tests, NULL, NULL);
}
