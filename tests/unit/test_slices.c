/* test_slices.c - calls that begin and end, made of samples: slices.c. */
#include "profiles.h"

#include "base/defer.h"
#include "writers/slices.h"

struct drawn {
	struct allo_profile profile;
	struct allo_stack_builder builder;
	struct allo_slices slices;
	char told[2000]; /* "A(1 0" begins, ")1 5" ends: thread, time */
};

static void drawn_done(struct drawn *drawn)
{
	allo_profile_done(&drawn->profile);
	allo_stack_builder_done(&drawn->builder);
	allo_slices_done(&drawn->slices);
}

static void tell(struct drawn *drawn, struct allo_text name, const char *what,
		 allo_thread_id thread, uint64_t time)
{
	size_t used = strlen(drawn->told);

	snprintf(drawn->told + used, sizeof(drawn->told) - used, "%.*s%s%u@%llu ",
		 ALLO_TEXT_ARG(name), what, thread, (unsigned long long)time);
}

static void tell_begin(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	struct drawn *drawn = context;
	char scratch[ALLO_NAME_SCRATCH];

	tell(drawn, allo_slices_name(&drawn->slices, call, scratch), "(", thread, time);
}

static void tell_end(void *context, allo_thread_id thread, uint32_t call, uint64_t time)
{
	(void)call;
	tell(context, ALLO_TEXT(""), ")", thread, time);
}

static void begin(struct drawn *drawn)
{
	struct allo_error err = { 0 };

	drawn->slices.sink = (struct allo_slice_sink){ tell_begin, tell_end, drawn };
	assert_true(allo_profile_add_metric(&drawn->profile, ALLO_ALLOC_BYTES, NULL, &err));
}

/* A stack of functions of one letter each, the outermost first. */
static allo_stack_id stack_of(struct drawn *drawn, const char *names)
{
	struct allo_error err = { 0 };

	allo_stack_builder_begin(&drawn->builder);
	for (; *names; names++) {
		allo_frame_id frame = allo_profile_add_named_frame(
			&drawn->profile, (struct allo_text){ names, 1 }, &err);

		assert_true(allo_stack_builder_add(&drawn->builder, frame, &err));
	}
	return allo_stack_builder_end(&drawn->builder, &drawn->profile, &err);
}

static void add(struct drawn *drawn, const char *names, struct allo_when when)
{
	struct allo_error err = { 0 };

	assert_non_null(allo_profile_add_timed_sample(&drawn->profile, stack_of(drawn, names), 0,
						      &when, &err));
}

static void pass(struct drawn *drawn)
{
	struct allo_error err = { 0 };

	assert_true(allo_slices_add(&drawn->slices, &drawn->profile, &err));
	allo_profile_clear_samples(&drawn->profile);
	allo_stack_builder_forget(&drawn->builder);
}

static void assert_told(struct drawn *drawn, const char *expected)
{
	struct allo_error err = { 0 };

	pass(drawn);
	assert_true(allo_slices_end(&drawn->slices, &drawn->profile, &err));
	assert_string_equal(drawn->told, expected);
}

static void each_stack_has_its_own_width(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add(&drawn, "A", (struct allo_when){ .start_ns = 0, .duration_ns = 5 });
	add(&drawn, "B", (struct allo_when){ .start_ns = 5, .duration_ns = 3 });
	assert_told(&drawn, "A(0@0 )0@5 B(0@5 )0@8 ");
}

static void what_stacks_share_goes_on(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add(&drawn, "abc", (struct allo_when){ .start_ns = 0, .duration_ns = 10 });
	pass(&drawn); /* stacks are not the same ids in the next portion */
	add(&drawn, "abd", (struct allo_when){ .start_ns = 10, .duration_ns = 10 });
	add(&drawn, "a", (struct allo_when){ .start_ns = 20, .duration_ns = 10 });
	pass(&drawn);
	add(&drawn, "ab", (struct allo_when){ .start_ns = 30, .duration_ns = 10 });
	assert_told(&drawn, "a(0@0 b(0@0 c(0@0 )0@10 d(0@10 )0@20 )0@20 b(0@30 )0@40 )0@40 ");
}

static void calls_that_do_not_go_on_begin_anew(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add(&drawn, "ab", (struct allo_when){ .start_ns = 0, .duration_ns = 10 });
	add(&drawn, "ab", (struct allo_when){ .start_ns = 10, .duration_ns = 10, .going_on = 2 });
	add(&drawn, "ab", (struct allo_when){ .start_ns = 20, .duration_ns = 10, .going_on = 3 });
	add(&drawn, "ab", (struct allo_when){ .start_ns = 30, .duration_ns = 10, .going_on = 1 });
	add(&drawn, "ab", (struct allo_when){ .start_ns = 40, .duration_ns = 10, .going_on = 9 });
	assert_told(&drawn, "a(0@0 b(0@0 )0@10 b(0@10 )0@30 )0@30 a(0@30 b(0@30 )0@50 )0@50 ");
}

static void gaps_are_gaps(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add(&drawn, "a", (struct allo_when){ .start_ns = 0, .duration_ns = 10 });
	add(&drawn, "a", (struct allo_when){ .start_ns = 15, .duration_ns = 10 });
	add(&drawn, "b", (struct allo_when){ .start_ns = 30, .duration_ns = 10 }); /* late */
	add(&drawn, "b", (struct allo_when){ .start_ns = 46, .duration_ns = 10 }); /* idle */
	add(&drawn, "b", (struct allo_when){ .start_ns = 57, .duration_ns = 1, .going_on = 2 });
	assert_told(&drawn, "a(0@0 )0@30 b(0@30 )0@40 b(0@46 )0@56 b(0@57 )0@58 ");
}

static void samples_of_a_portion_are_sorted(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add(&drawn, "a", (struct allo_when){ .start_ns = 100, .duration_ns = 10 });
	add(&drawn, "b", (struct allo_when){ .start_ns = 50, .duration_ns = 0, .going_on = 1 });
	add(&drawn, "c", (struct allo_when){ .start_ns = 50, .duration_ns = 10, .going_on = 1 });
	assert_told(&drawn, "b(0@50 )0@50 c(0@50 )0@60 a(0@100 )0@110 ");
}

static void time_does_not_run_backwards(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add(&drawn, "a", (struct allo_when){ .start_ns = 100, .duration_ns = 10 });
	pass(&drawn);
	add(&drawn, "b", (struct allo_when){ .start_ns = 50, .duration_ns = 10 });
	add(&drawn, "c", (struct allo_when){ .start_ns = UINT64_MAX - 5, .duration_ns = 10 });
	assert_told(&drawn, "a(0@100 )0@100 b(0@100 )0@110 c(0@18446744073709551610 "
			    ")0@18446744073709551615 ");
}

static void threads_have_stacks_of_their_own(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };
	struct allo_thread one = { .pid = 1, .tid = 7 }, other = { .pid = 1, .tid = 8 };
	struct allo_error err = { 0 };
	allo_thread_id first, second, renamed;

	(void)state;
	begin(&drawn);
	first = allo_profile_add_thread(&drawn.profile, &one, &err);
	second = allo_profile_add_thread(&drawn.profile, &other, &err);
	one.name = allo_profile_add_string(&drawn.profile, ALLO_TEXT("new"), &err);
	renamed = allo_profile_add_thread(&drawn.profile, &one, &err);
	add(&drawn, "a", (struct allo_when){ .start_ns = 0, .duration_ns = 4, .thread = first });
	add(&drawn, "a", (struct allo_when){ .start_ns = 1, .duration_ns = 4, .thread = second });
	add(&drawn, "ab", (struct allo_when){ .start_ns = 4, .duration_ns = 4, .thread = renamed });
	assert_told(&drawn, "a(1@0 a(2@1 b(1@4 )1@8 )1@8 )2@5 ");
}

static void numbers_of_threads_fit_32_bits_and_stay_apart(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };
	struct allo_thread one = { .pid = 1, .tid = UINT64_C(7) << 32 };
	struct allo_thread other = { .pid = 1, .tid = UINT64_C(8) << 32 };
	struct allo_error err = { 0 };
	allo_thread_id first = allo_profile_add_thread(&drawn.profile, &one, &err);
	allo_thread_id second = allo_profile_add_thread(&drawn.profile, &other, &err);

	(void)state;
	assert_int_equal(allo_slices_thread(&drawn.profile, 0).tid, 0);
	assert_int_equal(allo_slices_thread(&drawn.profile, first).pid, 1);
	assert_int_not_equal(allo_slices_thread(&drawn.profile, first).tid,
			     allo_slices_thread(&drawn.profile, second).tid);
}

static void calls_that_are_inlined_are_calls(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };
	struct allo_error err = { 0 };
	struct allo_line lines[2] = { 0 };
	struct allo_frame frame = { 0 };
	allo_stack_id stack;

	(void)state;
	begin(&drawn);
	stack = stack_of(&drawn, "a");
	for (int i = 0; i < 2; i++) {
		struct allo_function function = {
			.name = allo_profile_add_string(
				&drawn.profile, (struct allo_text){ i ? "real" : "inl", 3 }, &err),
		};

		lines[i].function = allo_profile_add_function(&drawn.profile, &function, &err);
	}
	stack = allo_profile_add_stack(
		&drawn.profile, stack,
		allo_profile_add_frame(&drawn.profile, &frame, lines, 2, &err), &err);
	assert_non_null(allo_profile_add_timed_sample(
		&drawn.profile, stack, 0, &(struct allo_when){ .duration_ns = 3 }, &err));
	assert_told(&drawn, "a(0@0 rea(0@0 inl(0@0 )0@3 )0@3 )0@3 ");
}

/* Another address of a function, another line: the call is the same. */
static void a_function_is_one_call_wherever_it_is(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };
	struct allo_error err = { 0 };
	struct allo_function function = { 0 };

	(void)state;
	begin(&drawn);
	function.name = allo_profile_add_string(&drawn.profile, ALLO_TEXT("f"), &err);
	for (uint64_t i = 0; i < 2; i++) {
		struct allo_line line = {
			.function = allo_profile_add_function(&drawn.profile, &function, &err),
			.line = (uint32_t)(10 + i),
		};
		struct allo_frame frame = { .address = 16 + i };
		allo_frame_id id = allo_profile_add_frame(&drawn.profile, &frame, &line, 1, &err);
		struct allo_when when = { .start_ns = 5 * i, .duration_ns = 5 };

		assert_non_null(allo_profile_add_timed_sample(
			&drawn.profile, allo_profile_add_stack(&drawn.profile, 0, id, &err), 0,
			&when, &err));
	}
	assert_told(&drawn, "f(0@0 )0@10 ");
}

static void add_untimed(struct drawn *drawn, const char *names, uint64_t value)
{
	struct allo_error err = { 0 };

	*allo_profile_add_sample(&drawn->profile, stack_of(drawn, names), 0, NULL, &err) = value;
}

static void without_times_values_are_widths(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };

	(void)state;
	begin(&drawn);
	add_untimed(&drawn, "ab", 1);
	add_untimed(&drawn, "c", 3);
	pass(&drawn);
	add_untimed(&drawn, "ad", 10);
	add_untimed(&drawn, "a", 5);
	add_untimed(&drawn, "e", 0);
	assert_told(&drawn, "a(0@0 d(0@0 )0@10 b(0@10 )0@11 )0@16 c(0@16 )0@19 ");
}

static void what_is_too_deep_is_left_out(void **state)
{
	ALLO_DEFER(drawn_done) struct drawn drawn = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id stack = 0;

	(void)state;
	begin(&drawn);
	drawn.slices.sink = (struct allo_slice_sink){ tell_begin, tell_end, &drawn };
	for (int i = 0; i < ALLO_SLICES_DEPTH + 10; i++)
		stack = allo_profile_add_stack(
			&drawn.profile, stack,
			allo_profile_add_named_frame(&drawn.profile, ALLO_TEXT("r"), &err), &err);
	assert_non_null(allo_profile_add_timed_sample(
		&drawn.profile, stack, 0, &(struct allo_when){ .duration_ns = 1 }, &err));
	assert_true(allo_slices_add(&drawn.slices, &drawn.profile, &err));
	assert_int_equal(drawn.slices.threads.at[0].calls.len, ALLO_SLICES_DEPTH);
	assert_true(allo_slices_end(&drawn.slices, &drawn.profile, &err));
	assert_int_equal(drawn.slices.threads.at[0].calls.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_has_its_own_width),
		cmocka_unit_test(what_stacks_share_goes_on),
		cmocka_unit_test(calls_that_do_not_go_on_begin_anew),
		cmocka_unit_test(gaps_are_gaps),
		cmocka_unit_test(samples_of_a_portion_are_sorted),
		cmocka_unit_test(time_does_not_run_backwards),
		cmocka_unit_test(threads_have_stacks_of_their_own),
		cmocka_unit_test(numbers_of_threads_fit_32_bits_and_stay_apart),
		cmocka_unit_test(calls_that_are_inlined_are_calls),
		cmocka_unit_test(a_function_is_one_call_wherever_it_is),
		cmocka_unit_test(without_times_values_are_widths),
		cmocka_unit_test(what_is_too_deep_is_left_out),
	};

	return cmocka_run_group_tests_name("slices", tests, NULL, NULL);
}
