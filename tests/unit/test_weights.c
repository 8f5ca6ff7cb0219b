/* test_weights.c - estimates of sampled recordings, against the true values. */
#include "base/defer.h"
#include "check.h"
#include "random.h"
#include "recorder.h"
#include "replay/heap.h"
#include "replay/summary.h"
#include "sanitized.h"

#include <math.h>

enum { SITES = 4, RATE = 512 << 10 };

static struct allo_recording recording_of(enum allo_wire_mode mode, uint64_t rate)
{
	static struct allo_recorded_node nodes[SITES] = { { .flags = ALLO_NODE_PARTIAL },
							  { .flags = ALLO_NODE_KNOWN },
							  { .flags = ALLO_NODE_KNOWN },
							  { .flags = ALLO_NODE_KNOWN } };
	struct allo_recording recording = { 0 };

	recording.nodes.at = nodes;
	recording.nodes.len = SITES;
	recording.streams.len = 1;
	recording.head.sampling = (struct allo_wire_sampling){ .mode = mode, .rate = rate };
	return recording;
}

/* A heap of stacks 1 to 3. */
static void init(struct allo_heap *heap, enum allo_wire_mode mode, uint64_t rate)
{
	struct allo_recording recording = recording_of(mode, rate);
	struct allo_error err = { 0 };

	assert_true(allo_heap_init(heap, &recording, &err));
}

static void apply(struct allo_heap *heap, struct allo_event event)
{
	struct allo_event_span span = { &event, 1 };
	struct allo_error err = { 0 };

	assert_true(allo_heap_apply(heap, &span, &err));
}

static void allocate(struct allo_heap *heap, uint64_t ns, uint64_t pointer, uint64_t size,
		     uint32_t stack)
{
	apply(heap, (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
					 .ns = ns,
					 .pointer = pointer,
					 .size = size,
					 .stack = stack });
}

static void release(struct allo_heap *heap, uint64_t ns, uint64_t pointer)
{
	apply(heap, (struct allo_event){ .kind = ALLO_EVENT_FREE, .ns = ns, .pointer = pointer });
}

static double whole(allo_parts parts)
{
	return (double)parts / (1 << ALLO_PARTS_SHIFT);
}

static void assert_near(double found, double expected)
{
	if (fabs(found - expected) > 1e-4 + 1e-5 * fabs(expected))
		fail_msg("%f is not %f", found, expected);
}

static double weight_of(uint64_t size, double rate)
{
	return 1 / (1 - exp(-(double)size / rate));
}

static void a_block_stands_for_blocks_of_its_size(void **state)
{
	const struct allo_weighing by_bytes = { true, true, 512 }, by_events = { true, false, 100 };
	struct allo_weight weight = allo_weigh(&by_bytes, 1024, 0);

	(void)state;
	assert_int_equal(allo_parts_round(weight.blocks), 1);
	assert_in_range(allo_parts_round(weight.bytes), 1180, 1190);
	assert_near(whole(weight.bytes), 1024 * weight_of(1024, 512));
	assert_near(whole(allo_weigh(&by_bytes, 16, 0).blocks), weight_of(16, 512));
	/* A block of 0 bytes has the weight of 1 byte, and adds 0 bytes. */
	assert_near(whole(allo_weigh(&by_bytes, 0, 0).blocks), weight_of(1, 512));
	assert_int_equal(allo_weigh(&by_bytes, 0, 0).bytes, 0);
	assert_near(whole(allo_weigh(&by_events, 7, 0).blocks), 100);
	assert_near(whole(allo_weigh(&by_events, 7, 0).bytes), 700);
}

static void the_interval_at_the_birth_of_a_block_counts(void **state)
{
	struct allo_rate_change changes[] = { { 100, 2048 }, { 200, 64 } };
	struct allo_recording recording = recording_of(ALLO_MODE_SAMPLED, 512);
	struct allo_weighing weighing;

	(void)state;
	recording.rate_changes.at = changes;
	recording.rate_changes.len = 2;
	weighing = allo_weighing_of(&recording);
	assert_near(allo_weigh(&weighing, 16, 0).weight, weight_of(16, 512));
	assert_near(allo_weigh(&weighing, 16, 99).weight, weight_of(16, 512));
	assert_near(allo_weigh(&weighing, 16, 100).weight, weight_of(16, 2048));
	assert_near(allo_weigh(&weighing, 16, 199).weight, weight_of(16, 2048));
	assert_near(allo_weigh(&weighing, 16, UINT64_MAX).weight, weight_of(16, 64));
}

/* A block is taken off with the weight that it was added with. */
static void blocks_outlive_changes_of_the_interval(void **state)
{
	struct allo_rate_change changes[] = { { 100, 2048 }, { 200, 64 } };
	struct allo_recording recording = recording_of(ALLO_MODE_SAMPLED, 512);
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	recording.rate_changes.at = changes;
	recording.rate_changes.len = 2;
	assert_true(allo_heap_init(&heap, &recording, &err));
	allocate(&heap, 50, 0x1000, 700, 1);
	allocate(&heap, 150, 0x2000, 700, 1);
	release(&heap, 160, 0x1000);
	assert_near(whole(heap.weighed[1].live.blocks), weight_of(700, 2048));
	allocate(&heap, 250, 0x3000, 700, 2);
	release(&heap, 260, 0x2000);
	assert_int_equal(heap.weighed[1].live.blocks, 0);
	assert_near(whole(heap.blocks.weighed.bytes), 700 * weight_of(700, 64));
	release(&heap, 270, 0x3000);
	assert_int_equal(heap.blocks.weighed.bytes, 0);
}

static void blocks_that_are_not_sampled_weigh_one(void **state)
{
	static const struct allo_wire_sampling all[] = {
		{ .mode = ALLO_MODE_EXACT },
		{ .mode = ALLO_MODE_EXACT, .rate = 512 },
		{ .mode = ALLO_MODE_SAMPLED },
		{ .mode = ALLO_MODE_EVENTS, .rate = 1 },
		{ .mode = ALLO_MODE_AD_HOC, .rate = 10 },
		{ .mode = 77, .rate = 10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct allo_weighing weighing = allo_weighing_by(&all[i]);
		struct allo_weight weight = allo_weigh(&weighing, UINT64_MAX, 0);

		assert_false(allo_is_sampled(&weighing));
		assert_int_equal(allo_parts_round(weight.blocks), 1);
		assert_int_equal(allo_parts_round(weight.bytes), UINT64_MAX);
	}
}

static void any_interval_and_size_fits(void **state)
{
	static const enum allo_wire_mode modes[] = { ALLO_MODE_SAMPLED, ALLO_MODE_EVENTS };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

		init(&heap, modes[i], UINT64_MAX);
		allocate(&heap, 0, 0x100, UINT64_MAX - 1, 1);
		allocate(&heap, 0, 0x200, 1, 1);
		allo_heap_end(&heap, UINT64_MAX);
		assert_int_equal(allo_live_blocks_totals(&heap.blocks).total_bytes, UINT64_MAX);
		assert_int_equal(allo_parts_round(heap.weighed[1].live.bytes), UINT64_MAX);
		release(&heap, 0, 0x100);
		release(&heap, 0, 0x200);
		assert_int_equal(allo_live_blocks_totals(&heap.blocks).bytes, 0);
		assert_true(heap.weighed[1].live.bytes == 0);
		assert_true(heap.weighed[1].live.bytes_variance == 0);
	}
}

/* Blocks by two stacks: many small ones weigh more than a large one. */
static void the_peak_is_that_of_the_estimates(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_block_totals totals;
	struct allo_weighed small, large;

	(void)state;
	init(&heap, ALLO_MODE_SAMPLED, 1000);
	allocate(&heap, 10, 0x100, 1800, 1); /* about 2156 bytes */
	release(&heap, 20, 0x100);
	allocate(&heap, 30, 0x200, 10, 2); /* about 1005 bytes each */
	allocate(&heap, 40, 0x300, 10, 2);
	allocate(&heap, 50, 0x400, 10, 2);
	release(&heap, 60, 0x200);
	release(&heap, 70, 0x300);
	allo_heap_end(&heap, 100);
	totals = allo_live_blocks_totals(&heap.blocks);
	small = allo_weighed_site_peak(&heap.weighed[2], heap.peaks);
	large = allo_weighed_site_peak(&heap.weighed[1], heap.peaks);
	assert_int_equal(heap.blocks.peak_ns, 50);
	assert_near(whole(small.bytes), 30 * weight_of(10, 1000));
	assert_near(whole(small.blocks), 3 * weight_of(10, 1000));
	assert_true(large.blocks == 0 && large.bytes == 0);
	assert_int_equal(totals.peak_bytes, 3015);
	assert_int_equal(totals.peak_blocks, 302);
	assert_int_equal(totals.blocks, 101);
	assert_int_equal(totals.allocations, 303);
	assert_int_equal(totals.frees, 202);
	assert_near(whole(heap.weighed[2].max.bytes), 30 * weight_of(10, 1000));
	assert_near(whole(heap.weighed[2].lifetime_ns), (30 + 30 + 50) * weight_of(10, 1000));
	assert_near(heap.weighed[2].live.bytes_variance,
		    100 * weight_of(10, 1000) * (weight_of(10, 1000) - 1));
}

/* Its sampling is independent of the old block. */
static void a_resized_block_has_a_new_weight(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap, ALLO_MODE_SAMPLED, 1000);
	allocate(&heap, 10, 0x100, 100, 1);
	apply(&heap, (struct allo_event){ .kind = ALLO_EVENT_RESIZE,
					  .ns = 30,
					  .old = 0x100,
					  .pointer = 0x100,
					  .size = 300,
					  .stack = 2 });
	release(&heap, 70, 0x100);
	allo_heap_end(&heap, 100);
	assert_near(whole(heap.weighed[1].lifetime_ns), 20 * weight_of(100, 1000));
	assert_near(whole(heap.weighed[2].lifetime_ns), 40 * weight_of(300, 1000));
	assert_true(heap.weighed[1].live.blocks == 0 && heap.weighed[2].live.bytes == 0);
	assert_int_equal(heap.sites[2].temporary_blocks, 0);
}

static void a_window_starts_with_the_live_blocks(void **state)
{
	ALLO_DEFER(recorder_done) struct recorder recorder;
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	const struct allo_heap_options options = { .window.from_ns = 320 };
	struct allo_block_totals totals;
	struct allo_error err = { 0 };
	uint32_t stack, thread;
	uint64_t events;

	(void)state;
	recorder_init(&recorder);
	recorder_head(&recorder)->sampling = (struct allo_wire_sampling){
		ALLO_MODE_EVENTS, 0, 10, 0, 0, 0
	};
	stack = recorder_node(&recorder, 0, 0x1000, 0);
	thread = recorder_thread(&recorder, 4711, "main");
	recorder_alloc(&recorder, thread, 1128, 0x100, 100, stack);
	recorder_alloc(&recorder, thread, 1512, 0x200, 30, stack);
	recorder_free(&recorder, thread, 1640, 0x100);
	allo_input_open_memory(&in, "memory", recorder.file, recorder_size(&recorder), &err);
	assert_true(allo_recording_open(&recording, &in, &err));
	assert_true(allo_heap_replay(&heap, &recording, &options, &events, &err));
	totals = allo_live_blocks_totals(&heap.blocks);
	assert_int_equal(totals.allocations, 10);
	assert_int_equal(totals.total_bytes, 300);
	assert_int_equal(totals.peak_bytes, 1300);
	assert_int_equal(totals.frees, 10);
	assert_int_equal(totals.bytes, 300);
	assert_int_equal(allo_parts_round(heap.weighed[stack].alloc.bytes), 300);
	assert_int_equal(allo_parts_round(heap.weighed[stack].max.bytes), 1300);
	assert_int_equal(allo_parts_round(heap.weighed[stack].lifetime_ns), 10 * (999000 - 512));
}

/*
 * Samples a program many times.  One stack allocates blocks of four sizes and frees every second
 * one after the peak; another stack allocates and frees before the peak.
 */

struct kind {
	uint64_t size, count;
};

struct program {
	enum allo_wire_mode mode;
	uint64_t rate;
	struct kind kinds[4];
};

enum { KINDS = 4, RUNS = IS_SANITIZED ? 1000 : 3000, ESTIMATES = 6 };

/* Blocks and bytes of stack 1: allocated, at the peak, at the end. */
struct estimates {
	double value[ESTIMATES], variance[ESTIMATES];
};

static double chance_of(const struct program *program, uint64_t size)
{
	return program->mode == ALLO_MODE_SAMPLED ? -expm1(-(double)size / (double)program->rate)
						  : 1 / (double)program->rate;
}

/* The number of blocks before the next sampled one. */
static uint64_t draw_gap(uint64_t *seed, double chance)
{
	double random = (draw(seed, 1u << 31) + 0.5) / (1u << 31);
	double gap = floor(log(random) / log1p(-chance));

	return gap < 1e15 ? (uint64_t)gap : (uint64_t)1e15;
}

/* Allocates the sampled ones of some blocks. */
static void allocate_some(struct allo_heap *heap, uint64_t *seed, const struct program *program,
			  size_t kind, uint64_t count, uint32_t stack)
{
	uint64_t size = program->kinds[kind].size;
	double chance = chance_of(program, size);

	for (uint64_t i = draw_gap(seed, chance); i < count; i += 1 + draw_gap(seed, chance))
		allocate(heap, 1, ((uint64_t)kind << 32 | stack << 28 | i) << 4, size, stack);
}

static void free_some(struct allo_heap *heap, uint32_t stack, uint64_t of_two)
{
	const struct allo_block_table *table = &heap->blocks.table;

	for (size_t i = 0; i < allo_block_places(table); i++) {
		uint64_t pointer = table->at[i].pointer;

		if (pointer != 0 && table->at[i].stack == stack && (pointer >> 4 & 1) <= of_two)
			release(heap, 2, pointer);
	}
}

static void tell(struct estimates *estimates, size_t at, const struct allo_weighed *weighed)
{
	estimates->value[at] = whole(weighed->blocks);
	estimates->variance[at] = weighed->blocks_variance;
	estimates->value[at + 1] = whole(weighed->bytes);
	estimates->variance[at + 1] = weighed->bytes_variance;
}

static void sample(const struct program *program, uint64_t *seed, struct estimates *estimates)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_weighed peak;

	init(&heap, program->mode, program->rate);
	for (size_t kind = 0; kind < KINDS; kind++)
		allocate_some(&heap, seed, program, kind, program->kinds[kind].count / 4, 2);
	free_some(&heap, 2, 1);
	for (size_t kind = 0; kind < KINDS; kind++)
		allocate_some(&heap, seed, program, kind, program->kinds[kind].count, 1);
	free_some(&heap, 1, 0);
	for (size_t kind = 0; kind < KINDS; kind++)
		allocate_some(&heap, seed, program, kind, program->kinds[kind].count / 8, 2);
	allo_heap_end(&heap, 3);
	peak = allo_weighed_site_peak(&heap.weighed[1], heap.peaks);
	tell(estimates, 0, &heap.weighed[1].alloc);
	tell(estimates, 2, &peak);
	tell(estimates, 4, &heap.weighed[1].live);
}

static void find_truth(const struct program *program, double truth[ESTIMATES])
{
	for (size_t i = 0; i < KINDS; i++) {
		double count = (double)program->kinds[i].count;
		double odd = floor(count / 2);

		for (size_t at = 0; at < ESTIMATES; at += 2) {
			truth[at] += at < 4 ? count : odd;
			truth[at + 1] += (at < 4 ? count : odd) * (double)program->kinds[i].size;
		}
	}
}

static void check_estimates(const struct program *program)
{
	static const char *const names[] = { "blocks",     "bytes",      "peak blocks",
					     "peak bytes", "end blocks", "end bytes" };
	double truth[ESTIMATES] = { 0 }, sum[ESTIMATES] = { 0 }, squares[ESTIMATES] = { 0 };
	double variance[ESTIMATES] = { 0 };
	int covered[ESTIMATES] = { 0 };
	uint64_t seed = 20240229;

	find_truth(program, truth);
	for (int run = 0; run < RUNS; run++) {
		struct estimates estimates;

		sample(program, &seed, &estimates);
		for (size_t i = 0; i < ESTIMATES; i++) {
			double off = estimates.value[i] - truth[i];

			sum[i] += off;
			squares[i] += off * off;
			variance[i] += estimates.variance[i];
			covered[i] += fabs(off) <= 1.96 * sqrt(estimates.variance[i]);
		}
	}
	for (size_t i = 0; i < ESTIMATES; i++) {
		double off = sum[i] / RUNS, error = sqrt(squares[i] / RUNS / RUNS);
		double share = (double)covered[i] / RUNS;

		if (fabs(off) > 4 * error)
			fail_msg("%s: off by %g, and %g may be chance", names[i], off, error);
		if (share < 0.93 || share > 0.97)
			fail_msg("%s: %.1f%% of intervals hold the truth", names[i], 100 * share);
		/* The variance is an estimate, too: compare it with the real error. */
		if (fabs(variance[i] / squares[i] - 1) > 0.1)
			fail_msg("%s: a variance of %g, found was %g", names[i], variance[i] / RUNS,
				 squares[i] / RUNS);
	}
}

static void sampling_by_bytes_is_unbiased(void **state)
{
	static const struct program program = {
		ALLO_MODE_SAMPLED,
		RATE,
		{ { 16, 3000000 }, { 700, 50000 }, { 100 << 10, 400 }, { 4 << 20, 6 } },
	};

	(void)state;
	check_estimates(&program);
}

static void sampling_by_events_is_unbiased(void **state)
{
	static const struct program program = {
		ALLO_MODE_EVENTS,
		100,
		{ { 16, 20000 }, { 700, 10000 }, { 100 << 10, 20000 }, { 4 << 20, 16000 } },
	};

	(void)state;
	check_estimates(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_stands_for_blocks_of_its_size),
		cmocka_unit_test(the_interval_at_the_birth_of_a_block_counts),
		cmocka_unit_test(blocks_outlive_changes_of_the_interval),
		cmocka_unit_test(blocks_that_are_not_sampled_weigh_one),
		cmocka_unit_test(any_interval_and_size_fits),
		cmocka_unit_test(the_peak_is_that_of_the_estimates),
		cmocka_unit_test(a_resized_block_has_a_new_weight),
		cmocka_unit_test(a_window_starts_with_the_live_blocks),
		cmocka_unit_test(sampling_by_bytes_is_unbiased),
		cmocka_unit_test(sampling_by_events_is_unbiased),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
