/* test_earlier.c - replay/ring/earlier.h: the sums of a bounded recording, whole and damaged. */
#include "check.h"

#include "base/defer.h"
#include "replay/ring/earlier.h"

#include <stdlib.h>

enum { BLOCKS = 3, STREAMS = 2 };

static void free_earlier(struct allo_earlier **earlier)
{
	allo_earlier_free(*earlier);
}

static struct allo_earlier *make(void)
{
	struct allo_earlier *earlier = calloc(1, sizeof(*earlier));
	struct allo_earlier_site site = { 7, 2, 1000, 64000, 5, 6, 900, 30, 800, 20 };
	struct allo_earlier_own own = { 7, 0, 1, 11, 12 };
	uint32_t unseen = 3;

	assert_non_null(earlier);
	earlier->totals = (struct allo_earlier_totals){ .exact_ticks = 5000,
							.events = 3000,
							.allocations = 1000,
							.total_bytes = 64000,
							.last_stream = 9 };
	assert_true(allo_vec_append(&earlier->sites, &site, 1));
	assert_true(allo_vec_append(&earlier->own, &own, 1));
	assert_true(allo_vec_append(&earlier->unseen, &unseen, 1));
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct allo_event event = { .ns = 100 * i,
					    .pointer = 0x7000 - 32 * (uint64_t)i,
					    .size = i,
					    .stack = 7 + i,
					    .stream = i % STREAMS };

		assert_true(allo_vec_append(&earlier->kept, &event, 1));
	}
	for (uint32_t i = 0; i < STREAMS; i++) {
		struct allo_stream_start start = { .number = 4 + 2 * i,
						   .thread = 77,
						   .name = "worker",
						   .sequence = 5,
						   .events = 6 };

		assert_true(allo_vec_append(&earlier->starts, &start, 1));
	}
	earlier->starts.at[1].state = calloc(1, sizeof(*earlier->starts.at[1].state));
	assert_non_null(earlier->starts.at[1].state);
	earlier->starts.at[1].state->is_timed = true;
	earlier->starts.at[1].state->resized = 0x1230;
	earlier->starts.at[1].state->events.predictions[0].size = 1;
	earlier->starts.at[1].state->events.predictions[ALLO_PREDICTIONS - 1].stack = 4095;
	return earlier;
}

static struct allo_earlier *read(const uint8_t *bytes, size_t len)
{
	struct allo_error err = { 0 };

	return allo_earlier_read((struct allo_text){ (const char *)bytes, len }, &err);
}

static void what_was_written_is_read(void **state)
{
	ALLO_DEFER(free_earlier) struct allo_earlier *before = make(), *after = NULL;
	const struct allo_decoder_state *one, *other;
	allo_earlier_bytes bytes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_earlier_write(before, &bytes, &err));
	after = read(bytes.at, bytes.len);
	assert_non_null(after);
	assert_memory_equal(&after->totals, &before->totals, sizeof(after->totals));
	assert_int_equal(after->sites.len, 1);
	assert_memory_equal(after->sites.at, before->sites.at, sizeof(*after->sites.at));
	assert_memory_equal(after->own.at, before->own.at, sizeof(*after->own.at));
	assert_int_equal(after->unseen.at[0], 3);
	assert_int_equal(after->kept.len, BLOCKS);
	for (size_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(after->kept.at[i].ns, before->kept.at[i].ns);
		assert_int_equal(after->kept.at[i].pointer, before->kept.at[i].pointer);
		assert_int_equal(after->kept.at[i].stack, before->kept.at[i].stack);
		assert_int_equal(after->kept.at[i].stream, before->kept.at[i].stream);
	}
	assert_null(after->starts.at[0].state);
	one = after->starts.at[1].state;
	other = before->starts.at[1].state;
	assert_true(one->is_timed && !one->is_lost);
	assert_int_equal(one->resized, other->resized);
	assert_memory_equal(one->events.predictions, other->events.predictions,
			    sizeof(one->events.predictions));
	allo_vec_done(&bytes);
}

static void pages_before_a_start_are_covered(void **state)
{
	ALLO_DEFER(free_earlier) struct allo_earlier *earlier = make();

	(void)state;
	assert_true(allo_earlier_covers(earlier, 4, 4));
	assert_false(allo_earlier_covers(earlier, 4, 5));
	assert_true(allo_earlier_covers(earlier, 5, 9));   /* has ended */
	assert_false(allo_earlier_covers(earlier, 3, 0));  /* had no page yet */
	assert_false(allo_earlier_covers(earlier, 10, 0)); /* is newer */
	assert_false(allo_earlier_covers(NULL, 4, 0));
}

static void damaged_bytes_are_refused_or_harmless(void **state)
{
	ALLO_DEFER(free_earlier) struct allo_earlier *earlier = make();
	allo_earlier_bytes bytes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_earlier_write(earlier, &bytes, &err));
	for (size_t len = 0; len < bytes.len; len++)
		assert_null(read(bytes.at, len));
	for (size_t i = 0; i < bytes.len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes.at[i] ^= (uint8_t)(1u << bit);
			allo_earlier_free(read(bytes.at, bytes.len));
			bytes.at[i] ^= (uint8_t)(1u << bit);
		}
	}
	allo_vec_done(&bytes);
}

static void more_blocks_than_allocations_are_refused(void **state)
{
	ALLO_DEFER(free_earlier) struct allo_earlier *earlier = make();
	allo_earlier_bytes bytes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	earlier->totals.allocations = 999;
	assert_true(allo_earlier_write(earlier, &bytes, &err));
	assert_null(read(bytes.at, bytes.len));
	assert_false(allo_failed(&err));
	allo_vec_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(pages_before_a_start_are_covered),
		cmocka_unit_test(damaged_bytes_are_refused_or_harmless),
		cmocka_unit_test(more_blocks_than_allocations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
