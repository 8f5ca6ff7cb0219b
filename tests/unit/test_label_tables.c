/* test_label_tables.c - texts and label sets, and damaged facts. */
#include "base/defer.h"
#include "check.h"
#include "recorder.h"
#include "replay/recording/recording.h"

#include <stdio.h>

struct opened {
	struct recorder recorder;
	struct allo_input in;
	struct allo_recording recording;
};

static void opened_done(struct opened *opened)
{
	allo_recording_close(&opened->recording);
	allo_input_close(&opened->in);
	recorder_done(&opened->recorder);
}

static void open_recorded(struct opened *opened)
{
	struct allo_error err = { 0 };

	assert_true(allo_input_open_memory(&opened->in, "test.allo", opened->recorder.file,
					   recorder_size(&opened->recorder), &err));
	assert_true(allo_recording_open(&opened->recording, &opened->in, &err));
}

/* The labels of a set as "key=value key=value". */
static const char *labels_of(const struct opened *opened, uint32_t number)
{
	static char text[512];
	const struct allo_recording *recording = &opened->recording;
	const struct allo_noted_set *set = &recording->label_sets.at[number];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < set->count; i++) {
		struct allo_noted_label label = recording->labels.at[set->first + i];

		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%.*s=%.*s", i > 0 ? " " : "",
			ALLO_TEXT_ARG(allo_recording_text(recording, label.key)),
			ALLO_TEXT_ARG(allo_recording_text(recording, label.value)));
	}
	return text;
}

static void a_set_inherits_the_labels_of_its_parent(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	recorder_init(&opened.recorder);
	recorder_noted_text(&opened.recorder, 1, "request");
	recorder_noted_text(&opened.recorder, 2, "user");
	recorder_noted_text(&opened.recorder, 3, "7");
	recorder_noted_text(&opened.recorder, 4, "8");
	recorder_noted_text(&opened.recorder, 5, "");
	recorder_noted_set(&opened.recorder, 1, 0, 2, 3);
	recorder_noted_set(&opened.recorder, 2, 1, 1, 4);
	recorder_noted_set(&opened.recorder, 3, 2, 2, 5); /* the user changes */
	open_recorded(&opened);
	assert_string_equal(labels_of(&opened, 1), "user=7");
	assert_string_equal(labels_of(&opened, 2), "request=8 user=7");
	assert_string_equal(labels_of(&opened, 3), "request=8 user=");
	assert_int_equal(opened.recording.gaps.damaged_pages, 0);
	assert_true(allo_recording_has_labels(&opened.recording));
}

static void equal_sets_are_found(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	const struct allo_recording *recording = &opened.recording;

	(void)state;
	recorder_init(&opened.recorder);
	recorder_noted_text(&opened.recorder, 1, "a");
	recorder_noted_text(&opened.recorder, 2, "b");
	recorder_noted_text(&opened.recorder, 3, "a"); /* a duplicate */
	recorder_noted_set(&opened.recorder, 1, 0, 1, 2);
	recorder_noted_set(&opened.recorder, 2, 1, 2, 1);
	recorder_noted_set(&opened.recorder, 3, 0, 2, 3); /* in the other order */
	recorder_noted_set(&opened.recorder, 4, 3, 3, 2);
	recorder_noted_set(&opened.recorder, 5, 4, 1, 2); /* its parent has the label already */
	open_recorded(&opened);
	assert_int_equal(allo_recording_same_set(recording, 2), 2);
	assert_int_equal(allo_recording_same_set(recording, 4), 2);
	assert_int_equal(allo_recording_same_set(recording, 5), 2);
	assert_int_equal(allo_recording_same_set(recording, 3), 3);
	assert_int_equal(recording->labels.len, 4);
	assert_int_equal(allo_recording_same_text(recording, 3), 1);
}

static void missing_texts_and_sets_give_no_labels(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	const struct allo_recording *recording = &opened.recording;

	(void)state;
	recorder_init(&opened.recorder);
	recorder_noted_set(&opened.recorder, 7, 5, 1, 2); /* its parent and its texts follow */
	recorder_noted_set(&opened.recorder, 5, 4, 2, 1); /* set 4 never follows */
	recorder_noted_set(&opened.recorder, 9, 7, 1, 3); /* nor does text 3 */
	recorder_noted_set(&opened.recorder, 10, 0, 3, 1);
	recorder_noted_text(&opened.recorder, 2, "two");
	recorder_noted_text(&opened.recorder, 1, "one");
	recorder_noted_text(&opened.recorder, 2, "another two");
	recorder_noted_set(&opened.recorder, 5, 0, 1, 1);
	open_recorded(&opened);
	assert_string_equal(labels_of(&opened, 5), "two=one");
	assert_string_equal(labels_of(&opened, 7), "one=two two=one");
	assert_int_equal(allo_recording_same_set(recording, 9), 7);
	assert_int_equal(allo_recording_same_set(recording, 10), 0);
	assert_int_equal(allo_recording_same_set(recording, 4), 0);
	assert_int_equal(allo_recording_same_set(recording, UINT64_MAX), 0);
	assert_int_equal(recording->gaps.damaged_pages, 0);
}

/* Writes a damaged fact, and a valid one after it in the page. */
static void assert_damaged(enum allo_fact fact, const uint64_t *numbers, size_t count)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };
	uint8_t rest[ALLO_EVENT_MAX], *at = rest;

	recorder_init(&opened.recorder);
	for (size_t i = 0; i < count; i++)
		at = allo_varint_put(at, numbers[i]);
	recorder_fact(&opened.recorder, fact, rest, (size_t)(at - rest));
	recorder_noted_text(&opened.recorder, 1, "not read");
	open_recorded(&opened);
	assert_int_equal(opened.recording.gaps.damaged_pages, 1);
	assert_int_equal(opened.recording.texts.len, 0);
	assert_int_equal(opened.recording.label_sets.len, 0);
}

static void invalid_facts_are_damage(void **state)
{
	(void)state;
	assert_damaged(ALLO_FACT_TEXT, (const uint64_t[]){ 0 }, 1);
	assert_damaged(ALLO_FACT_TEXT, NULL, 0);
	assert_damaged(ALLO_FACT_TEXT, (const uint64_t[]){ UINT32_MAX },
		       1); /* must not take memory */
	assert_damaged(ALLO_FACT_LABELS, (const uint64_t[]){ 0, 0, 1, 1 }, 4);
	assert_damaged(ALLO_FACT_LABELS, (const uint64_t[]){ 1, 1, 1, 1 }, 4); /* its own parent */
	assert_damaged(ALLO_FACT_LABELS, (const uint64_t[]){ 1, 2, 1, 1 }, 4);
	assert_damaged(ALLO_FACT_LABELS, (const uint64_t[]){ 1, 0, 1 }, 3);
	assert_damaged(ALLO_FACT_LABELS, (const uint64_t[]){ 1, 0, 1, UINT64_MAX }, 4);
	assert_damaged(ALLO_FACT_LABELS, (const uint64_t[]){ (uint64_t)1 << 40, 0, 1, 1 }, 4);
}

static void labels_of_a_set_are_limited(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened = { 0 };

	(void)state;
	recorder_init(&opened.recorder);
	for (uint64_t i = 1; i <= 100; i++) {
		char text[8];

		snprintf(text, sizeof(text), "%02d", (int)i);
		recorder_noted_text(&opened.recorder, i, text);
		recorder_noted_set(&opened.recorder, i, i - 1, i, i);
	}
	open_recorded(&opened);
	assert_int_equal(opened.recording.label_sets.at[32].count, 32);
	assert_int_equal(allo_recording_same_set(&opened.recording, 100), 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_inherits_the_labels_of_its_parent),
		cmocka_unit_test(equal_sets_are_found),
		cmocka_unit_test(missing_texts_and_sets_give_no_labels),
		cmocka_unit_test(invalid_facts_are_damage),
		cmocka_unit_test(labels_of_a_set_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
