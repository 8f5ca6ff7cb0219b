/* test_replay.c - replay, windows, rows and timelines against an oracle; see oracle.h. */
#include "base/defer.h"
#include "check.h"
#include "oracle.h"
#include "replay/block_rows.h"
#include "replay/heap.h"
#include "replay/packed/pack_recording.h"
#include "replay/recording_profile.h"
#include "scratch.h"

enum { ROUNDS = 60, LENGTH = 999000 };

/* A random part, and the window for it. */
static struct oracle_part draw_part(const struct opened *opened, uint64_t *seed,
				    struct allo_window *window, bool *threads)
{
	const struct oracle *oracle = &opened->oracle;
	struct oracle_part part = { .thread = ORACLE_NEVER };
	int a = (int)draw(seed, ORACLE_EVENTS), b = (int)draw(seed, ORACLE_EVENTS);

	if (draw(seed, 3))
		part.from = oracle->events[a < b ? a : b].ns + draw(seed, 2);
	if (draw(seed, 3))
		part.to = oracle->events[a < b ? b : a].ns + 1 + draw(seed, 2);
	if (draw(seed, 3) == 0)
		part.thread = (int)draw(seed, ORACLE_THREADS);
	*window = (struct allo_window){ .from_ns = part.from, .to_ns = part.to };
	if (part.thread != ORACLE_NEVER) {
		for (size_t i = 0; i < opened->recording.streams.len; i++)
			threads[i] = opened->recording.streams.at[i].thread ==
				     500 + (uint32_t)part.thread;
		window->threads = threads;
	}
	return part;
}

static uint64_t end_of(const struct oracle_part *part)
{
	return part->to > 0 && part->to < LENGTH ? part->to : LENGTH;
}

/* Sums of a site over the blocks of its stack. */
static void check_sums(const struct allo_heap *heap, size_t site, const struct oracle *oracle,
		       const struct oracle_part *part, unsigned stack)
{
	uint64_t bytes = 0, blocks = 0, lifetime = 0, temporary = 0;

	for (int i = 0; i < oracle->block_count; i++) {
		const struct oracle_block *block = &oracle->blocks[i];
		uint64_t first_ns = oracle->events[block->first].ns, end_ns = end_of(part);
		bool is_born = oracle_is_inside(oracle, part, block->born);

		if (oracle_stack(part, block) != stack || !oracle_is_wanted(part, block))
			continue;
		bytes += is_born ? block->size : 0;
		blocks += is_born;
		if (block->ended != ORACLE_NEVER && oracle_is_inside(oracle, part, block->ended)) {
			temporary += oracle_is_temporary(oracle, block);
			end_ns = oracle->events[block->ended].ns;
			if (block->resized_on)
				continue; /* its lifetime continues in the next block */
		}
		if (is_born && first_ns >= part->from)
			lifetime += end_ns - first_ns;
	}
	assert_int_equal(heap->sites[site].alloc_bytes, bytes);
	assert_int_equal(heap->blocks.made[site], blocks);
	assert_int_equal(heap->sites[site].temporary_blocks, temporary);
	/* Threads do not agree about blocks that another thread resizes. */
	if (part->thread == ORACLE_NEVER)
		assert_int_equal(heap->sites[site].lifetime_ns, lifetime);
}

static void check_held(const struct allo_heap *heap, const struct oracle *oracle,
		       const struct oracle_part *part, unsigned stack)
{
	const struct allo_site *site = &heap->sites[stack];
	int before, last;
	uint64_t blocks, bytes;

	oracle_borders(oracle, part, &before, &last);
	bytes = oracle_live(oracle, part, last, stack, &blocks);
	assert_int_equal(site->live_bytes, bytes);
	assert_int_equal(site->live_blocks, blocks);
	bytes = oracle_live(oracle, part, oracle_fullest(oracle, part, 0, false), stack, &blocks);
	assert_int_equal(allo_heap_peak(heap, site).bytes, bytes);
	assert_int_equal(allo_heap_peak(heap, site).blocks, blocks);
	bytes = oracle_live(oracle, part, oracle_fullest(oracle, part, stack, true), stack,
			    &blocks);
	assert_int_equal(site->max_bytes, bytes);
	assert_int_equal(site->max_blocks, blocks);
}

static void check_peak(const struct allo_heap *heap, const struct oracle *oracle,
		       const struct oracle_part *part)
{
	int fullest = oracle_fullest(oracle, part, 0, false);
	uint64_t blocks, bytes = oracle_live(oracle, part, fullest, 0, &blocks);

	assert_int_equal(heap->blocks.peak_bytes, bytes);
	assert_int_equal(heap->blocks.peak_blocks, blocks);
	if (fullest >= 0 && oracle->events[fullest].ns >= part->from)
		assert_int_equal(heap->blocks.peak_ns, oracle->events[fullest].ns);
	else
		assert_int_equal(heap->blocks.peak_ns, part->from);
}

/* The expected step of a timeline, from all its events. */
static void check_step(const struct allo_timeline *timeline, size_t index,
		       const struct oracle *oracle, const struct oracle_part *part)
{
	const struct allo_timeline_step *step = &timeline->steps.at[index];
	uint64_t from = timeline->from_ns + index * timeline->step_ns;
	uint64_t to = from + timeline->step_ns, max, max_blocks, blocks, bytes;
	uint64_t allocations = 0, alloc_bytes = 0;
	int at = -1;

	while (at + 1 < oracle->event_count && oracle->events[at + 1].ns < from)
		at++;
	max = oracle_live(oracle, part, at, 0, &max_blocks);
	for (at++; at < oracle->event_count && oracle->events[at].ns < to; at++) {
		if (!oracle_is_inside(oracle, part, at))
			continue;
		bytes = oracle_live(oracle, part, at, 0, &blocks);
		max = bytes > max ? bytes : max;
		max_blocks = blocks > max_blocks ? blocks : max_blocks;
		for (int i = 0; i < oracle->block_count; i++) {
			if (oracle->blocks[i].born != at ||
			    !oracle_is_wanted(part, &oracle->blocks[i]))
				continue;
			allocations++;
			alloc_bytes += oracle->blocks[i].size;
		}
	}
	assert_int_equal(step->max_bytes, max);
	assert_int_equal(step->max_blocks, max_blocks);
	assert_int_equal(step->allocations, allocations);
	assert_int_equal(step->alloc_bytes, alloc_bytes);
}

static void check_timeline(const struct allo_timeline *timeline, const struct oracle *oracle,
			   const struct oracle_part *part)
{
	int before, last;
	uint64_t blocks;

	oracle_borders(oracle, part, &before, &last);
	assert_in_range(timeline->steps.len, 1, timeline->most);
	assert_int_equal(timeline->end_ns, end_of(part));
	assert_true(timeline->from_ns + timeline->steps.len * timeline->step_ns >=
		    timeline->end_ns);
	assert_int_equal(timeline->steps.at[timeline->steps.len - 1].end_bytes,
			 oracle_live(oracle, part, last, 0, &blocks));
	for (size_t i = 0; i < timeline->steps.len; i++)
		check_step(timeline, i, oracle, part);
}

static void replay_agrees(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ALLO_DEFER(opened_done) struct opened opened;
		ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
		ALLO_DEFER(allo_timeline_done)
		struct allo_timeline timeline = { .most = 2 + round % 50 };
		struct allo_heap_options options = { .timeline = &timeline };
		bool threads[RECORDER_STREAMS] = { false };
		uint64_t seed = round, events;
		struct oracle_part part;
		struct allo_error err = { 0 };

		open_round(&opened, round);
		part = draw_part(&opened, &seed, &options.window, threads);
		part.by_first = options.keeps_first = !options.window.threads && round % 2;
		assert_true(allo_heap_replay(&heap, &opened.recording, &options, &events, &err));
		for (unsigned stack = 1; stack <= ORACLE_STACKS; stack++) {
			check_sums(&heap, stack, &opened.oracle, &part, stack);
			check_held(&heap, &opened.oracle, &part, stack);
		}
		check_peak(&heap, &opened.oracle, &part);
		check_timeline(&timeline, &opened.oracle, &part);
	}
}

static void check_same_site(const struct allo_heap *compact, size_t site,
			    const struct allo_heap *plain, size_t stack)
{
	const struct allo_site *a = &compact->sites[site], *b = &plain->sites[stack];
	struct allo_peak peak_a = allo_heap_peak(compact, a), peak_b = allo_heap_peak(plain, b);

	assert_int_equal(allo_heap_stack(compact, site), stack);
	assert_int_equal(compact->blocks.made[site], plain->blocks.made[stack]);
	assert_int_equal(a->alloc_bytes, b->alloc_bytes);
	assert_int_equal(a->live_bytes, b->live_bytes);
	assert_int_equal(a->live_blocks, b->live_blocks);
	assert_int_equal(a->max_bytes, b->max_bytes);
	assert_int_equal(a->max_blocks, b->max_blocks);
	assert_int_equal(peak_a.bytes, peak_b.bytes);
	assert_int_equal(peak_a.blocks, peak_b.blocks);
	assert_int_equal(a->lifetime_ns, b->lifetime_ns);
	assert_int_equal(a->temporary_blocks, b->temporary_blocks);
}

/* Each site has its live blocks in the table. */
static void check_live_blocks(const struct allo_heap *heap)
{
	uint64_t bytes[ORACLE_STACKS + 2] = { 0 };

	for (size_t i = 0; i < allo_block_places(&heap->blocks.table); i++) {
		const struct allo_live_block *block = &heap->blocks.table.at[i];

		assert_true(block->pointer == 0 || block->stack < heap->blocks.stack_count);
		if (block->pointer != 0)
			bytes[block->stack] += block->size;
	}
	for (size_t i = 0; i < heap->blocks.stack_count; i++)
		assert_int_equal(bytes[i], heap->sites[i].live_bytes);
}

/* It has the sites of any other heap, in the same order, and no more. */
static void a_compact_heap_has_the_same_sites(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ALLO_DEFER(opened_done) struct opened opened;
		ALLO_DEFER(allo_heap_done) struct allo_heap plain = { 0 };
		ALLO_DEFER(allo_heap_done) struct allo_heap compact = { 0 };
		struct allo_heap_options options = { 0 };
		bool threads[RECORDER_STREAMS] = { false };
		uint64_t seed = round, events, same_events;
		struct allo_error err = { 0 };
		size_t site = 0;

		open_round(&opened, round);
		draw_part(&opened, &seed, &options.window, threads);
		assert_true(allo_heap_replay(&plain, &opened.recording, &options, &events, &err));
		options.is_compact = true;
		assert_true(allo_heap_replay(&compact, &opened.recording, &options, &same_events,
					     &err));
		assert_int_equal(events, same_events);
		assert_in_range(compact.blocks.stack_count, 1, ORACLE_STACKS + 1);
		for (size_t stack = 0; stack < plain.blocks.stack_count; stack++) {
			if (!allo_heap_has_site(&plain, stack))
				continue;
			while (!allo_heap_has_site(&compact, site))
				site++;
			assert_in_range(site, 0, compact.blocks.stack_count - 1);
			check_same_site(&compact, site++, &plain, stack);
		}
		while (site < compact.blocks.stack_count)
			assert_false(allo_heap_has_site(&compact, site++));
		assert_int_equal(compact.blocks.partial_stacks, plain.blocks.partial_stacks);
		assert_int_equal(compact.blocks.missing_stacks, plain.blocks.missing_stacks);
		check_live_blocks(&compact);
	}
}

/* The samples of all threads add up to those of the program. */
static void threads_add_up(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ALLO_DEFER(opened_done) struct opened opened;
		ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
		struct allo_heap_options options = { .by_thread = true };
		uint64_t events;
		struct allo_error err = { 0 };

		open_round(&opened, round);
		assert_true(allo_heap_replay(&heap, &opened.recording, &options, &events, &err));
		assert_int_equal(events, ORACLE_EVENTS);
		for (size_t i = 1; i < heap.ids->keys.at.len; i++) {
			struct allo_site_key key = heap.ids->keys.at.at[i];
			struct oracle_part part = {
				.thread = (int)opened.recording.streams.at[key.stream].thread - 500
			};
			int fullest = oracle_fullest(
				&opened.oracle, &(struct oracle_part){ .thread = ORACLE_NEVER }, 0,
				false);
			uint64_t blocks, bytes = oracle_live(&opened.oracle, &part, fullest,
							     key.stack, &blocks);

			check_sums(&heap, i, &opened.oracle, &part, key.stack);
			assert_int_equal(allo_heap_peak(&heap, &heap.sites[i]).bytes, bytes);
			assert_int_equal(allo_heap_peak(&heap, &heap.sites[i]).blocks, blocks);
		}
	}
}

/* A missing stack counts only in windows with its allocations. */
static void missing_stacks_are_those_of_the_window(void **state)
{
	(void)state;
	for (unsigned form = 0; form < 4; form++) {
		ALLO_DEFER(opened_done) struct opened opened = { 0 };
		ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
		struct allo_heap_options options = { .by_thread = form % 2,
						     .window.from_ns = form / 2 ? 2500 : 0 };
		struct recorder *recorder = &opened.recorder;
		struct allo_error err = { 0 };
		uint64_t events;
		uint32_t stream;

		record_tables(recorder);
		stream = recorder_thread(recorder, 500, "");
		for (unsigned i = 0; i < 5; i++)
			recorder_alloc(recorder, stream, 2000 + 1000 * i, 0x1000 + 16 * i, 1, 777);
		open_recorded(&opened);
		assert_true(allo_heap_replay(&heap, &opened.recording, &options, &events, &err));
		assert_int_equal(opened.recording.gaps.missing_stacks, form / 2 ? 3 : 5);
	}
}

/* Rows. */

struct seen {
	struct opened *opened;
	struct oracle_part part;
	int count;
	uint64_t last_free_ns, last_number;
};

static const struct oracle_block *block_of(const struct oracle *oracle, uint64_t number)
{
	assert_in_range(number, 1, oracle->block_count);
	return &oracle->blocks[number - 1];
}

static void check_row(const struct seen *seen, const struct allo_block_row *row)
{
	const struct oracle *oracle = &seen->opened->oracle;
	const struct oracle_block *block = block_of(oracle, row->number);
	const struct allo_stream *streams = seen->opened->recording.streams.at;
	bool has_ended = block->ended != ORACLE_NEVER;

	assert_int_equal(row->alloc_ns, oracle->events[block->born].ns);
	assert_int_equal(row->first_ns, oracle->events[block->first].ns);
	assert_int_equal(row->size, block->size);
	assert_int_equal(row->pointer, block->pointer);
	assert_int_equal(row->stack, block->stack);
	assert_int_equal(row->first_stack, block->first_stack);
	assert_int_equal(streams[row->alloc_stream].thread, 500 + block->thread);
	assert_int_equal(row->free_ns, has_ended ? oracle->events[block->ended].ns : ALLO_NEVER);
	if (has_ended)
		assert_int_equal(streams[row->free_stream].thread,
				 500 + oracle->events[block->ended].thread);
	else
		assert_int_equal(row->free_stream, ALLO_NO_STREAM);
	assert_int_equal((row->flags & ALLO_ROW_RESIZED_ON) != 0, block->resized_on);
	assert_int_equal((row->flags & ALLO_ROW_RESIZED) != 0, block->first != block->born);
	assert_int_equal((row->flags & ALLO_ROW_TEMPORARY) != 0,
			 oracle_is_temporary(oracle, block));
}

static bool see_rows(void *context, const struct allo_block_row *rows, size_t count,
		     struct allo_error *err)
{
	struct seen *seen = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		check_row(seen, &rows[i]);
		assert_true(rows[i].free_ns >= seen->last_free_ns);
		if (rows[i].free_ns == ALLO_NEVER && seen->last_free_ns == ALLO_NEVER)
			assert_true(rows[i].number > seen->last_number);
		seen->last_free_ns = rows[i].free_ns;
		seen->last_number = rows[i].number;
		seen->count++;
	}
	return true;
}

/* Blocks that were live at any time of a part. */
static int count_wanted(const struct oracle *oracle, const struct oracle_part *part)
{
	int count = 0;

	for (int i = 0; i < oracle->block_count; i++) {
		const struct oracle_block *block = &oracle->blocks[i];
		uint64_t born_ns = oracle->events[block->born].ns;

		count += oracle_is_wanted(part, block) && (part->to == 0 || born_ns < part->to) &&
			 (block->ended == ORACLE_NEVER || born_ns >= part->from ||
			  oracle->events[block->ended].ns > part->from);
	}
	return count;
}

static void rows_agree(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ALLO_DEFER(opened_done) struct opened opened;
		bool threads[RECORDER_STREAMS] = { false };
		struct seen seen = { .opened = &opened };
		struct allo_window window;
		struct allo_error err = { 0 };
		uint64_t seed = round;

		open_round(&opened, round);
		seen.part = draw_part(&opened, &seed, &window, threads);
		assert_true(allo_block_rows(&opened.recording, &window, see_rows, &seen, &err));
		assert_int_equal(seen.count, count_wanted(&opened.oracle, &seen.part));
	}
}

static bool refuse_rows(void *context, const struct allo_block_row *rows, size_t count,
			struct allo_error *err)
{
	(void)rows;
	(void)count;
	++*(int *)context;
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "full");
}

static void the_receiver_of_rows_can_stop(void **state)
{
	ALLO_DEFER(opened_done) struct opened opened;
	struct allo_error err = { 0 };
	int calls = 0;

	(void)state;
	open_round(&opened, 1);
	assert_false(allo_block_rows(&opened.recording, NULL, refuse_rows, &calls, &err));
	assert_int_equal(calls, 1);
	assert_string_equal(err.message, "full");
}

/* Two threads hand an address to each other while their clocks differ: each free comes up to a
 * hundred nanoseconds after the next allocation by the other thread. */
enum { HANDOVERS = 200, HANDED_SIZE = 1000 };

static void record_late_frees(struct recorder *recorder)
{
	uint64_t seed = 7, ticks = 2000;
	uint32_t streams[2];

	record_tables(recorder);
	for (unsigned i = 0; i < 2; i++) {
		streams[i] = recorder_thread(recorder, 500 + i, "");
		recorder_escape(recorder, streams[i], ALLO_ESCAPE_TIMED);
	}
	recorder_alloc(recorder, streams[0], ticks, 0x1000, HANDED_SIZE, 1);
	for (unsigned i = 0; i < HANDOVERS; i++) {
		unsigned from = i % 2;

		ticks += 200;
		/* Thread `from` frees it and the other one gets it, but by their clocks the
		 * order is reversed. */
		recorder_free(recorder, streams[from], ticks + draw(&seed, 50), 0x1000);
		recorder_alloc(recorder, streams[!from], ticks - draw(&seed, 50), 0x1000,
			       HANDED_SIZE, 2 - from);
	}
}

/* The live blocks are exactly the expected ones. */
static void check_late_frees(struct allo_recording *recording)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_error err = { 0 };
	uint64_t events;

	assert_true(allo_heap_replay(&heap, recording, &(struct allo_heap_options){ 0 }, &events,
				     &err));
	assert_int_equal(events, 1 + 2 * HANDOVERS);
	assert_int_equal(heap.blocks.peak_bytes, HANDED_SIZE);
	assert_int_equal(heap.blocks.count, 1);
	assert_int_equal(heap.blocks.unknown_frees, 0);
	assert_int_equal(heap.blocks.allocations, 1 + HANDOVERS);
}

/* The same for one thread: the last block of the first thread remains. */
static void check_late_frees_of(struct allo_recording *recording, unsigned thread)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	bool threads[RECORDER_STREAMS] = { false };
	struct allo_heap_options options = { .window.threads = threads };
	struct allo_error err = { 0 };
	uint64_t events;

	for (size_t i = 0; i < recording->streams.len; i++)
		threads[i] = recording->streams.at[i].thread == 500 + thread;
	assert_true(allo_heap_replay(&heap, recording, &options, &events, &err));
	assert_int_equal(heap.blocks.allocations, HANDOVERS / 2 + (thread == 0));
	assert_int_equal(heap.blocks.peak_bytes, HANDED_SIZE);
	assert_int_equal(heap.blocks.count, thread == 0);
}

/* The recording, raw and packed. */
static void write_both(struct scratch *scratch, const struct recorder *recorder,
		       const char *paths[2])
{
	struct allo_error err = { 0 };

	paths[0] = scratch_write(scratch, "raw.allo", recorder->file, recorder_size(recorder));
	paths[1] = scratch_path(scratch, "packed.allo");
	assert_true(allo_recording_pack(paths[0], paths[1], NULL, &err));
}

static void late_frees_end_the_right_block(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *paths[2];

	(void)state;
	scratch_init(&scratch);
	record_late_frees(&recorder);
	write_both(&scratch, &recorder, paths);
	for (int i = 0; i < 2; i++) {
		ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };

		assert_true(allo_recording_open_file(&recording, paths[i], NULL, &err));
		check_late_frees(&recording);
		for (unsigned thread = 0; thread < 2; thread++)
			check_late_frees_of(&recording, thread);
	}
}

/* Two reallocs that return long after they have freed a block: one moves it, one only frees it.
 * Another thread gets the address meanwhile. */
static void record_long_reallocs(struct recorder *recorder)
{
	const uint64_t second = 1000000000;
	uint32_t slow, quick;

	record_tables(recorder);
	slow = recorder_thread(recorder, 500, "");
	quick = recorder_thread(recorder, 501, "");
	recorder_escape(recorder, slow, ALLO_ESCAPE_TIMED);
	recorder_escape(recorder, quick, ALLO_ESCAPE_TIMED);
	recorder_alloc(recorder, slow, 1000, 0x1000, 100, 1);
	recorder_resize(recorder, slow, 2000, 0x1000);
	recorder_alloc(recorder, quick, 3000, 0x1000, 70, 2);
	recorder_free(recorder, quick, 4000, 0x1000);
	recorder_alloc(recorder, slow, second, 0x2000, 200, 1);
	recorder_resize(recorder, slow, second + 2000, 0x2000);
	recorder_alloc(recorder, quick, second + 3000, 0x2000, 70, 2);
	recorder_resized(recorder, slow, 2 * second, ALLO_ESCAPE_GONE);
	recorder_free(recorder, quick, 2 * second + 1000, 0x2000);
}

static void blocks_of_long_reallocs_are_known(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(scratch_done) struct scratch scratch;
	struct allo_error err = { 0 };
	const char *paths[2];

	(void)state;
	scratch_init(&scratch);
	record_long_reallocs(&recorder);
	write_both(&scratch, &recorder, paths);
	for (int i = 0; i < 2; i++) {
		ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
		ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
		uint64_t events;

		assert_true(allo_recording_open_file(&recording, paths[i], NULL, &err));
		assert_true(allo_heap_replay(&heap, &recording, &(struct allo_heap_options){ 0 },
					     &events, &err));
		assert_int_equal(heap.blocks.allocations, 4);
		assert_int_equal(heap.blocks.late_frees, 2);
		assert_int_equal(heap.blocks.unknown_frees, 0);
		assert_int_equal(heap.blocks.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replay_agrees),
		cmocka_unit_test(a_compact_heap_has_the_same_sites),
		cmocka_unit_test(threads_add_up),
		cmocka_unit_test(missing_stacks_are_those_of_the_window),
		cmocka_unit_test(rows_agree),
		cmocka_unit_test(the_receiver_of_rows_can_stop),
		cmocka_unit_test(late_frees_end_the_right_block),
		cmocka_unit_test(blocks_of_long_reallocs_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
