/* test_web_writers.c - profiles that no reader makes, and numbers at the limit, for
 * write_speedscope.c.
 */
#include "check.h"

#include "base/defer.h"
#include "writers/writers.h"

struct written {
	struct allo_profile profile;
	struct allo_output out;
	struct allo_notes notes;
};

static void written_done(struct written *w)
{
	allo_profile_done(&w->profile);
	allo_output_drop(&w->out);
}

static void write_as(struct written *w, const char *format)
{
	struct allo_output_options options = { 0 };
	struct allo_error err = { 0 };

	assert_true(allo_profile_validate(&w->profile, &err));
	assert_true(allo_output_open_memory(&w->out, &options, &err));
	assert_true(allo_write(allo_writer_find(format, &err), &w->profile, NULL, &w->out,
			       &w->notes, &err));
	assert_true(allo_output_finish(&w->out, &err));
}

static void assert_contains(const struct written *w, const char *piece)
{
	if (allo_text_find(allo_output_memory(&w->out), allo_text_of(piece)) == (size_t)-1)
		fail_msg("%s is not in %.*s", piece, (int)allo_output_memory(&w->out).len,
			 allo_output_memory(&w->out).data);
}

static allo_stack_id stack_of(struct allo_profile *profile, const char *function)
{
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(profile, allo_text_of(function), &err);

	return allo_profile_add_stack(profile, 0, frame, &err);
}

static void add_sample(struct allo_profile *profile, const char *function, uint64_t value)
{
	struct allo_error err = { 0 };
	uint64_t *row = allo_profile_add_sample(profile, stack_of(profile, function), 0, NULL,
						&err);

	assert_non_null(row);
	*row = value;
}

static void add_timed(struct allo_profile *profile, const char *function, uint64_t start_ns,
		      allo_thread_id thread)
{
	struct allo_when when = { .start_ns = start_ns, .thread = thread };
	struct allo_error err = { 0 };
	uint64_t *row = allo_profile_add_timed_sample(profile, stack_of(profile, function), 0,
						      &when, &err);

	assert_non_null(row);
	*row = 1;
}

static void negative_and_huge_values_are_noted(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&w.profile, ALLO_ALLOC_BYTES, NULL, &err));
	w.profile.metrics.at[0].is_signed = true;
	add_sample(&w.profile, "freed", (uint64_t)-5);
	add_sample(&w.profile, "most", UINT64_C(1) << 53);
	add_sample(&w.profile, "more", (UINT64_C(1) << 53) + 1);
	write_as(&w, "speedscope");
	assert_int_equal(w.notes.of[ALLO_NOTE_NEGATIVE].count, 1);
	assert_int_equal(w.notes.of[ALLO_NOTE_ABOVE_2_53].count, 1);
	assert_contains(&w, "\"samples\":[[1],\n[2]],\n"
			    "\"weights\":[9007199254740992,9007199254740992],\n"
			    "\"startValue\":0,\"endValue\":18014398509481984");
}

static void the_same_holds_for_firefox(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&w.profile, ALLO_ALLOC_BYTES, NULL, &err));
	w.profile.metrics.at[0].is_signed = true;
	add_sample(&w.profile, "freed", (uint64_t)-5);
	add_sample(&w.profile, "more", (UINT64_C(1) << 53) + 1);
	write_as(&w, "firefox");
	assert_int_equal(w.notes.of[ALLO_NOTE_NEGATIVE].count, 1);
	assert_int_equal(w.notes.of[ALLO_NOTE_ABOVE_2_53].count, 1);
	assert_contains(&w, "\"length\":1,\"stack\":[1],\"time\":[0],\"weight\":[9007199254740992],"
			    "\"weightType\":\"bytes\",\"memoryAddress\":[2],\"threadId\":[1]");
}

static void nanoseconds_are_exact_milliseconds_for_firefox(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&w.profile, ALLO_LIFETIME, "nanoseconds", &err));
	add_sample(&w.profile, "long", UINT64_C(1234567890123456));
	add_sample(&w.profile, "short", 7);
	write_as(&w, "firefox");
	assert_contains(&w,
			"\"weight\":[1234567890.123456,0.000007],\"weightType\":\"tracing-ms\"");
}

static void threads_are_profiles_in_the_order_of_time(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };
	struct allo_error err = { 0 };
	struct allo_thread first = { .pid = 7, .tid = 8 }, second = { .pid = 7, .tid = 9 };
	allo_thread_id a, b;

	(void)state;
	assert_true(allo_profile_add_metric(&w.profile, ALLO_ALLOC_BLOCKS, NULL, &err));
	second.name = allo_profile_add_string(&w.profile, ALLO_TEXT("worker"), &err);
	a = allo_profile_add_thread(&w.profile, &first, &err);
	b = allo_profile_add_thread(&w.profile, &second, &err);
	add_timed(&w.profile, "f0", 300, a);
	add_timed(&w.profile, "f1", 200, b);
	add_timed(&w.profile, "f2", 100, a);
	write_as(&w, "speedscope");
	assert_contains(&w, "\"name\":\"alloc_blocks: ever allocated\",\"unit\":\"none\",\n"
			    "\"samples\":[[0],\n[1],\n[2]]");
	assert_contains(&w, "\"name\":\"thread 8 of process 7\",\"unit\":\"none\",\n"
			    "\"samples\":[[2],\n[0]]");
	assert_contains(&w, "\"name\":\"thread 9 of process 7: worker\",\"unit\":\"none\",\n"
			    "\"samples\":[[1]]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(negative_and_huge_values_are_noted),
		cmocka_unit_test(the_same_holds_for_firefox),
		cmocka_unit_test(nanoseconds_are_exact_milliseconds_for_firefox),
		cmocka_unit_test(threads_are_profiles_in_the_order_of_time),
	};

	return cmocka_run_group_tests_name("web_writers", tests, NULL, NULL);
}
