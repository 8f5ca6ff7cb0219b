/* test_program_notes.c - labels, marks and events of a program's own, in what is made of
 * recordings. */
#include "base/defer.h"
#include "check.h"
#include "recordings.h"
#include "replay/block_rows.h"
#include "replay/recording_profile.h"

#include <stdio.h>

struct opened {
	struct recorder recorder;
	struct allo_input in;
	struct allo_recording recording;
	struct allo_profile profile;
	struct allo_summary summary;
};

static void opened_done(struct opened *opened)
{
	allo_profile_done(&opened->profile);
	allo_recording_close(&opened->recording);
	allo_input_close(&opened->in);
	recorder_done(&opened->recorder);
}

static void open_notes(struct opened *opened, enum allo_wire_mode mode)
{
	struct allo_error err = { 0 };

	record_notes(&opened->recorder);
	recorder_head(&opened->recorder)->sampling.mode = mode;
	assert_true(allo_input_open_memory(&opened->in, "test.allo", opened->recorder.file,
					   recorder_size(&opened->recorder), &err));
	assert_true(allo_recording_open(&opened->recording, &opened->in, &err));
}

static void replay(struct opened *opened, const struct allo_replay *how)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_from_recording(&opened->profile, &opened->recording, how,
						&opened->summary, &err));
	assert_true(allo_profile_validate(&opened->profile, &err));
}

/* Whether a set of labels is these, "key=value" each, and no others. */
static bool are_labels(const struct allo_profile *profile, allo_labels_id id, const char *expected)
{
	const struct allo_label_set *set = id ? &profile->label_sets.at[id] : NULL;
	char text[256] = "";

	for (uint32_t i = 0; set && i < set->count; i++) {
		const struct allo_label *label = &profile->labels.at[set->first + i];
		size_t used = strlen(text);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s=", i ? " " : "",
					 ALLO_TEXT_ARG(allo_profile_text(profile, label->key)));
		if (label->is_number)
			snprintf(text + used, sizeof(text) - used, "%lld",
				 (long long)label->number);
		else
			snprintf(text + used, sizeof(text) - used, "%.*s",
				 ALLO_TEXT_ARG(allo_profile_text(profile, label->text)));
	}
	return strcmp(text, expected) == 0;
}

/* The value of the sample whose innermost frame is at an address. */
static uint64_t value_of(const struct opened *opened, uint64_t address, const char *labels,
			 enum allo_meaning meaning)
{
	const struct allo_profile *profile = &opened->profile;
	size_t metric;

	assert_true(allo_profile_find_metric(profile, meaning, &metric));
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		const struct allo_stack *stack = &profile->stacks.at[profile->sample_stacks.at[i]];

		if (profile->frames.at[stack->frame].address == address &&
		    are_labels(profile, allo_profile_labels_of(profile, i), labels))
			return allo_profile_row(profile, i)[metric];
	}
	fail_msg("no sample has %s", labels);
	return 0;
}

enum { MAIN_AT = 0x401015, HANDLE_AT = 0x40122f, LOG_AT = 0x40144f };

static void a_site_is_a_stack_and_its_labels(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	replay(&opened, NULL);
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=upload", ALLO_ALLOC_BYTES),
			 7 * 1009 + 53);
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=upload", ALLO_END_BYTES), 5 * 1009);
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=upload user=alice", ALLO_END_BLOCKS),
			 5);
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=download", ALLO_MAX_BYTES),
			 3 * 2003);
	assert_int_equal(value_of(&opened, MAIN_AT, "", ALLO_PEAK_BYTES), 101);
	assert_int_equal(value_of(&opened, LOG_AT, "", ALLO_END_BYTES), 61);
	assert_int_equal(opened.summary.stacks, 3);
	assert_int_equal(opened.summary.peak_bytes, 101 + 7 * 1009 + 5 * 307 + 3 * 2003 + 61);
}

static void a_block_stays_with_the_labels_that_it_was_first_allocated_under(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	replay(&opened, &(struct allo_replay){ .keeps_first = true });
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=upload", ALLO_END_BYTES),
			 5 * 1009 + 61);
}

static void threads_and_labels_are_both_told(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	replay(&opened, &(struct allo_replay){ .by_thread = true });
	assert_int_equal(value_of(&opened, HANDLE_AT,
				  "thread=4712 thread name=worker request=upload",
				  ALLO_ALLOC_BYTES),
			 7 * 1009);
	assert_int_equal(value_of(&opened, HANDLE_AT,
				  "thread=4711 thread name=server request=upload",
				  ALLO_ALLOC_BYTES),
			 53);
	assert_int_equal(value_of(&opened, HANDLE_AT,
				  "thread=4711 thread name=server request=download "
				  "event=cache miss",
				  ALLO_EVENT_UNITS),
			 34);
}

static void events_of_its_own_are_further_metrics(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	size_t metric;

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	replay(&opened, NULL);
	assert_int_equal(opened.profile.metrics.len, 12);
	assert_int_equal(
		value_of(&opened, HANDLE_AT, "request=download event=cache miss", ALLO_EVENTS), 2);
	assert_int_equal(
		value_of(&opened, HANDLE_AT, "request=download event=cache miss", ALLO_ALLOC_BYTES),
		0);
	assert_int_equal(value_of(&opened, LOG_AT, "", ALLO_EVENT_UNITS), 5);
	assert_true(allo_profile_find_metric(&opened.profile, ALLO_PEAK_BYTES, &metric));
	assert_int_equal(opened.profile.meta.default_metric, metric + 1);
}

static void without_a_heap_they_are_all_there_is(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_AD_HOC);
	replay(&opened, NULL);
	assert_int_equal(opened.profile.metrics.len, 2);
	assert_int_equal(allo_profile_sample_count(&opened.profile), 2);
	assert_int_equal(value_of(&opened, LOG_AT, "", ALLO_EVENTS), 1);
	assert_int_equal(opened.profile.meta.default_metric, 2);
}

static void a_window_has_what_happened_within_it(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	/* Between the two events of 17 units. */
	replay(&opened, &(struct allo_replay){ .window = { .from_ns = 29500, .to_ns = 45000 } });
	assert_int_equal(
		value_of(&opened, HANDLE_AT, "request=download event=cache miss", ALLO_EVENT_UNITS),
		17);
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=download", ALLO_END_BYTES),
			 3 * 2003);
	assert_int_equal(opened.summary.own_events, 2);
	assert_int_equal(opened.summary.marks, 1);
	assert_int_equal(opened.summary.events, 5);
}

static void an_instant_has_no_events(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	replay(&opened, &(struct allo_replay){ .at = ALLO_AT_PEAK });
	assert_int_equal(opened.profile.metrics.len, 2);
	assert_int_equal(value_of(&opened, HANDLE_AT, "request=download", ALLO_LIVE_BYTES),
			 3 * 2003);
}

/* The labels of rows, by size of the block. */
struct seen {
	uint32_t labels[2048], first_labels[2048];
};

static bool see_rows(void *context, const struct allo_block_row *rows, size_t count,
		     struct allo_error *err)
{
	struct seen *seen = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		assert_in_range(rows[i].size, 1, 2047);
		seen->labels[rows[i].size] = rows[i].labels;
		seen->first_labels[rows[i].size] = rows[i].first_labels;
	}
	return true;
}

static void single_allocations_have_their_labels(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	struct allo_error err = { 0 };
	struct seen seen = { 0 };

	(void)state;
	open_notes(&opened, ALLO_MODE_EXACT);
	assert_true(allo_block_rows(&opened.recording, NULL, see_rows, &seen, &err));
	assert_int_equal(seen.labels[101], 0);
	assert_int_equal(seen.labels[1009], LABELS_UPLOAD);
	assert_int_equal(seen.labels[307], LABELS_ALICE);
	assert_int_equal(seen.labels[2003], LABELS_DOWNLOAD);
	assert_int_equal(seen.labels[53], LABELS_UPLOAD); /* whatever is outside of it */
	assert_int_equal(seen.labels[61], 0);
	assert_int_equal(seen.first_labels[61], LABELS_UPLOAD);
}

/* A block that its thread frees before it allocates again is temporary, whatever it says between.
 */
static void notes_do_nothing_to_blocks(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	struct allo_error err = { 0 };
	uint32_t thread;

	(void)state;
	record_tables(&opened.recorder);
	recorder_noted_text(&opened.recorder, 1, "a");
	recorder_noted_set(&opened.recorder, 1, 0, 1, 1);
	thread = recorder_thread(&opened.recorder, 1, "");
	recorder_alloc(&opened.recorder, thread, 2000, 0x1000, 10, NODE_MAIN);
	recorder_labels(&opened.recorder, thread, 3000, 1);
	recorder_mark(&opened.recorder, thread, 3000, 1);
	recorder_own_event(&opened.recorder, thread, 3000, 1, NODE_MAIN, 1000);
	recorder_free(&opened.recorder, thread, 4000, 0x1000);
	assert_true(allo_input_open_memory(&opened.in, "test.allo", opened.recorder.file,
					   recorder_size(&opened.recorder), &err));
	assert_true(allo_recording_open(&opened.recording, &opened.in, &err));
	replay(&opened, NULL);
	assert_int_equal(value_of(&opened, MAIN_AT, "", ALLO_TEMPORARY_BLOCKS), 1);
	assert_int_equal(opened.summary.peak_bytes, 10);
	assert_int_equal(opened.summary.allocations, 1);
	assert_int_equal(opened.summary.frees, 1);
	assert_int_equal(opened.summary.events, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_is_a_stack_and_its_labels),
		cmocka_unit_test(a_block_stays_with_the_labels_that_it_was_first_allocated_under),
		cmocka_unit_test(threads_and_labels_are_both_told),
		cmocka_unit_test(events_of_its_own_are_further_metrics),
		cmocka_unit_test(without_a_heap_they_are_all_there_is),
		cmocka_unit_test(a_window_has_what_happened_within_it),
		cmocka_unit_test(an_instant_has_no_events),
		cmocka_unit_test(single_allocations_have_their_labels),
		cmocka_unit_test(notes_do_nothing_to_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
