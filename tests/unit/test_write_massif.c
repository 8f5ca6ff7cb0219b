/* test_write_massif.c - write_massif.c at its limits: sums that do not fit, and long histories. */
#include "check.h"

#include "base/defer.h"
#include "readers/readers.h"
#include "writers/writers.h"

struct written {
	struct allo_profile profile, again;
	struct allo_output out;
	struct allo_notes notes;
};

static void written_done(struct written *w)
{
	allo_profile_done(&w->profile);
	allo_profile_done(&w->again);
	allo_output_drop(&w->out);
}

/* "main" has called `function`. */
static void add_sample(struct written *w, const char *function, uint64_t value)
{
	struct allo_error err = { 0 };
	allo_frame_id outer = allo_profile_add_named_frame(&w->profile, ALLO_TEXT("main"), &err);
	allo_frame_id inner = allo_profile_add_named_frame(&w->profile, allo_text_of(function),
							   &err);
	allo_stack_id stack = allo_profile_add_stack(
		&w->profile, allo_profile_add_stack(&w->profile, 0, outer, &err), inner, &err);
	uint64_t *row = allo_profile_add_sample(&w->profile, stack, 0, NULL, &err);

	assert_non_null(row);
	*row = value;
}

static void write_and_read(struct written *w)
{
	struct allo_output_options options = { 0 };
	struct allo_read_options reading = { .from = "massif", .wants_history = true };
	struct allo_error err = { 0 };
	struct allo_text text;

	assert_true(allo_profile_validate(&w->profile, &err));
	assert_true(allo_output_open_memory(&w->out, &options, &err));
	assert_true(allo_write(allo_writer_find("massif", &err), &w->profile, NULL, &w->out,
			       &w->notes, &err));
	assert_true(allo_output_finish(&w->out, &err));
	text = allo_output_memory(&w->out);
	if (!allo_read_memory("again", text.data, text.len, &reading, &w->again, &err))
		fail_msg("%s in %.*s", err.message, (int)text.len, text.data);
}

static void sums_beyond_64_bits_are_cut_to_what_can_be_read(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&w.profile, ALLO_PEAK_BYTES, NULL, &err));
	add_sample(&w, "f", UINT64_MAX);
	add_sample(&w, "g", UINT64_MAX - 1);
	add_sample(&w, "h", UINT64_MAX - 2);
	write_and_read(&w);
	assert_int_equal(w.notes.of[ALLO_NOTE_SATURATED].count, 1);
	assert_int_equal(allo_profile_sample_count(&w.again), 1);
	assert_int_equal(allo_profile_row(&w.again, 0)[0], UINT64_MAX);
}

/* The peak may be any moment, the first and the last as well. */
static void the_peak_of_a_long_history_is_among_its_snapshots(void **state)
{
	enum { LENGTH = 1001, HIGH = 100000 };

	(void)state;
	for (size_t peak = 0; peak < LENGTH; peak += 125) {
		ALLO_DEFER(written_done) struct written w = { 0 };
		struct allo_error err = { 0 };
		const struct allo_level *read;
		size_t peaks = 0;

		w.profile.meta.clock = ALLO_CLOCK_INSTRUCTIONS;
		assert_true(allo_profile_add_metric(&w.profile, ALLO_PEAK_BYTES, NULL, &err));
		add_sample(&w, "f", HIGH);
		for (size_t i = 0; i < LENGTH; i++) {
			struct allo_level moment = { i, i == peak ? HIGH : i, 0 };

			assert_true(allo_vec_append(&w.profile.history, &moment, 1));
		}
		write_and_read(&w);
		assert_in_range(w.again.history.len, 99, 100);
		read = w.again.history.at;
		assert_int_equal(read[0].time, 0);
		assert_int_equal(read[w.again.history.len - 1].time, LENGTH - 1);
		for (size_t i = 0; i < w.again.history.len; i++) {
			peaks += read[i].live_bytes == HIGH;
			assert_int_equal(read[i].live_bytes,
					 read[i].time == peak ? HIGH : read[i].time);
		}
		assert_int_equal(peaks, 1);
		assert_int_equal(w.again.meta.peak_time, peak);
	}
}

static void a_history_of_something_else_is_not_used(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };
	struct allo_level moment = { 5, 7, 1 };
	struct allo_error err = { 0 };

	(void)state;
	w.profile.meta.clock = ALLO_CLOCK_INSTRUCTIONS;
	w.profile.meta.duration = 9;
	assert_true(allo_profile_add_metric(&w.profile, ALLO_PEAK_BYTES, NULL, &err));
	add_sample(&w, "f", 11);
	assert_true(allo_vec_append(&w.profile.history, &moment, 1));
	write_and_read(&w);
	assert_int_equal(w.again.history.len, 2);
	assert_int_equal(w.again.history.at[1].time, 9);
	assert_int_equal(w.again.history.at[1].live_bytes, 11);
}

static void nothing_is_a_snapshot_of_nothing(void **state)
{
	ALLO_DEFER(written_done) struct written w = { 0 };

	(void)state;
	write_and_read(&w);
	assert_int_equal(allo_profile_sample_count(&w.again), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_beyond_64_bits_are_cut_to_what_can_be_read),
		cmocka_unit_test(the_peak_of_a_long_history_is_among_its_snapshots),
		cmocka_unit_test(a_history_of_something_else_is_not_used),
		cmocka_unit_test(nothing_is_a_snapshot_of_nothing),
	};

	return cmocka_run_group_tests_name("write_massif", tests, NULL, NULL);
}
