/* test_thread_totals.c - totals of threads, and instants, against oracle.h. */
#include "base/defer.h"
#include "check.h"
#include "oracle.h"
#include "replay/block_rows.h"
#include "replay/thread_totals.h"

enum { ROUNDS = 60 };

/* The expected totals of a thread, block by block. */
static struct allo_thread_total count_plainly(const struct oracle *oracle,
					      const struct oracle_part *part, unsigned thread)
{
	struct allo_thread_total total = { 0 };

	for (int i = 0; i < oracle->block_count; i++) {
		const struct oracle_block *block = &oracle->blocks[i];
		bool is_own = block->thread == thread, is_freed, by_own;

		is_freed = block->ended != ORACLE_NEVER &&
			   oracle_is_inside(oracle, part, block->ended);
		by_own = is_freed && oracle->events[block->ended].thread == thread;
		if (is_own && oracle_is_inside(oracle, part, block->born)) {
			total.allocations++;
			total.alloc_bytes += block->size;
		}
		total.frees += by_own;
		total.frees_of_others += by_own && !is_own;
		total.freed_by_others += is_freed && is_own && !by_own;
		total.temporary_blocks += by_own && is_own && oracle_is_temporary(oracle, block);
	}
	return total;
}

static void check_thread(const struct allo_thread_total *found, const struct oracle *oracle,
			 const struct oracle_part *part, unsigned thread)
{
	struct oracle_part own = { part->from, part->to, (int)thread };
	struct allo_thread_total expected = count_plainly(oracle, part, thread);
	int before, last, fullest = oracle_fullest(oracle, part, 0, false);
	uint64_t blocks;

	oracle_borders(oracle, part, &before, &last);
	assert_int_equal(found->allocations, expected.allocations);
	assert_int_equal(found->alloc_bytes, expected.alloc_bytes);
	assert_int_equal(found->frees, expected.frees);
	assert_int_equal(found->frees_of_others, expected.frees_of_others);
	assert_int_equal(found->freed_by_others, expected.freed_by_others);
	assert_int_equal(found->temporary_blocks, expected.temporary_blocks);
	assert_int_equal(found->live_bytes, oracle_live(oracle, &own, last, 0, &blocks));
	assert_int_equal(found->live_blocks, blocks);
	assert_int_equal(found->peak_bytes, oracle_live(oracle, &own, fullest, 0, &blocks));
	assert_int_equal(found->peak_blocks, blocks);
	assert_int_equal(
		found->max_bytes,
		oracle_live(oracle, &own, oracle_fullest(oracle, &own, 0, false), 0, &blocks));
}

static void check_totals(struct opened *opened, const struct oracle_part *part)
{
	ALLO_DEFER(allo_thread_totals_done) struct allo_thread_totals totals = { 0 };
	struct allo_window window = { .from_ns = part->from, .to_ns = part->to };
	struct allo_error err = { 0 };
	size_t seen = 0;

	assert_true(allo_thread_totals_of(&totals, &opened->recording, &window, &err));
	for (size_t i = 0; i < totals.threads.len; i++) {
		const struct allo_stream *stream = &opened->recording.streams.at[i];

		if (stream->kind != ALLO_STREAM_EVENTS || stream->thread < 500)
			continue;
		check_thread(&totals.threads.at[i], &opened->oracle, part, stream->thread - 500);
		seen++;
	}
	assert_int_equal(seen, ORACLE_THREADS);
}

static void totals_are_sums_over_blocks(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		ALLO_DEFER(opened_done) struct opened opened;
		uint64_t random = seed;
		int a = (int)draw(&random, ORACLE_EVENTS), b = (int)draw(&random, ORACLE_EVENTS);
		struct oracle_part all = { .thread = ORACLE_NEVER }, part = all;

		open_round(&opened, seed);
		part.from = opened.oracle.events[a < b ? a : b].ns;
		part.to = opened.oracle.events[a < b ? b : a].ns + 1;
		check_totals(&opened, &all);
		check_totals(&opened, &part);
	}
}

/* Instants. */

struct counted {
	uint64_t bytes, blocks;
};

static bool count_rows(void *context, const struct allo_block_row *rows, size_t count,
		       struct allo_error *err)
{
	struct counted *counted = context;

	(void)err;
	for (size_t i = 0; i < count; i++)
		counted->bytes += rows[i].size;
	counted->blocks += count;
	return true;
}

static void check_moment(struct opened *opened, const struct allo_instant *moment,
			 const bool *threads, const struct oracle_part *part, int event)
{
	struct counted counted = { 0 };
	struct allo_error err = { 0 };
	uint64_t blocks;

	assert_true(allo_block_rows_at(&opened->recording, moment, threads, count_rows, &counted,
				       &err));
	assert_int_equal(counted.bytes, oracle_live(&opened->oracle, part, event, 0, &blocks));
	assert_int_equal(counted.blocks, blocks);
}

static void a_peak_is_the_first_instant_with_most_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		ALLO_DEFER(opened_done) struct opened opened;
		struct oracle_part part = { .thread = (int)(seed % 4) - 1 };
		bool threads[RECORDER_STREAMS] = { false }, *wanted = NULL;
		struct allo_instant moment;
		struct allo_error err = { 0 };

		open_round(&opened, seed);
		if (part.thread != ORACLE_NEVER) {
			wanted = threads;
			for (size_t i = 0; i < opened.recording.streams.len; i++)
				threads[i] = opened.recording.streams.at[i].thread ==
					     500 + (uint32_t)part.thread;
		}
		assert_true(allo_instant_of_peak(&moment, &opened.recording, wanted, &err));
		check_moment(&opened, &moment, wanted, &part,
			     oracle_fullest(&opened.oracle, &part, 0, false));
	}
}

static void a_time_is_the_instant_after_its_last_event(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened;
	struct oracle_part part = { .thread = ORACLE_NEVER };
	struct allo_instant moment;
	struct allo_error err = { 0 };

	(void)state;
	open_round(&opened, 7);
	for (int i = 0; i < ORACLE_EVENTS; i += 13) {
		assert_true(allo_instant_at(&moment, &opened.recording, opened.oracle.events[i].ns,
					    &err));
		check_moment(&opened, &moment, NULL, &part, i);
	}
	assert_true(allo_instant_at(&moment, &opened.recording, UINT64_MAX, &err));
	check_moment(&opened, &moment, NULL, &part, ORACLE_EVENTS - 1);
	assert_true(allo_instant_at(&moment, &opened.recording, 0, &err));
	assert_int_equal(moment.born, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_sums_over_blocks),
		cmocka_unit_test(a_peak_is_the_first_instant_with_most_bytes),
		cmocka_unit_test(a_time_is_the_instant_after_its_last_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
