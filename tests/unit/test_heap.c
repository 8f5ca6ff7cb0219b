/* test_heap.c - live blocks, totals and the peak. */
#include "base/defer.h"
#include "check.h"
#include "random.h"
#include "replay/heap.h"

#include <stdlib.h>

enum { SITES = 4, STREAMS = 3 };

/* A heap with stacks 1 to 3, without a recording. */
static void init(struct allo_heap *heap)
{
	static struct allo_recorded_node nodes[SITES] = { { .flags = ALLO_NODE_PARTIAL },
							  { .flags = ALLO_NODE_KNOWN },
							  { .flags = ALLO_NODE_KNOWN },
							  { .flags = ALLO_NODE_KNOWN |
								     ALLO_NODE_PARTIAL } };
	struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	recording.nodes.at = nodes;
	recording.nodes.len = SITES;
	recording.streams.len = STREAMS;
	assert_true(allo_heap_init(heap, &recording, &err));
}

static void apply(struct allo_heap *heap, size_t stream, struct allo_event event)
{
	struct allo_event_span span = { &event, 1 };
	struct allo_error err = { 0 };

	event.stream = stream & ALLO_STREAMS_MAX;
	assert_true(allo_heap_apply(heap, &span, &err));
}

static void allocate(struct allo_heap *heap, size_t stream, uint64_t ns, uint64_t pointer,
		     uint64_t size, uint32_t stack)
{
	apply(heap, stream,
	      (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
				   .ns = ns,
				   .pointer = pointer,
				   .size = size,
				   .stack = stack });
}

static void release(struct allo_heap *heap, size_t stream, uint64_t ns, uint64_t pointer)
{
	apply(heap, stream,
	      (struct allo_event){ .kind = ALLO_EVENT_FREE, .ns = ns, .pointer = pointer });
}

static void resize(struct allo_heap *heap, size_t stream, uint64_t ns, uint64_t old,
		   uint64_t pointer, uint64_t size, uint32_t stack)
{
	apply(heap, stream,
	      (struct allo_event){ .kind = ALLO_EVENT_RESIZE,
				   .ns = ns,
				   .old = old,
				   .pointer = pointer,
				   .size = size,
				   .stack = stack });
}

static void the_peak_is_exact(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 100, 1);
	allocate(&heap, 0, 20, 0x200, 50, 2);
	release(&heap, 0, 30, 0x100);
	allocate(&heap, 0, 40, 0x300, 60, 2);
	allocate(&heap, 0, 50, 0x400, 40, 1); /* 150 again: the first of equal peaks counts */
	release(&heap, 0, 60, 0x200);
	allo_heap_end(&heap, 100);
	assert_int_equal(heap.blocks.peak_bytes, 150);
	assert_int_equal(heap.blocks.peak_blocks, 2);
	assert_int_equal(heap.blocks.peak_ns, 20);
	assert_int_equal(allo_heap_peak(&heap, &heap.sites[1]).bytes, 100);
	assert_int_equal(allo_heap_peak(&heap, &heap.sites[2]).bytes, 50);
	assert_int_equal(allo_heap_peak(&heap, &heap.sites[2]).blocks, 1);
	assert_int_equal(heap.sites[2].max_bytes, 110);
	assert_int_equal(heap.sites[2].max_blocks, 2);
	assert_int_equal(heap.blocks.bytes, 100);
	assert_int_equal(heap.blocks.total_bytes, 250);
}

static void lifetimes_end_with_the_recording(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 1, 1);
	allocate(&heap, 0, 20, 0x200, 1, 1);
	release(&heap, 0, 50, 0x100);
	allo_heap_end(&heap, 100);
	assert_int_equal(heap.sites[1].lifetime_ns, 40 + 80);
}

static void a_realloc_counts_again_and_keeps_its_birth(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 100, 1);
	resize(&heap, 0, 20, 0x100, 0x500, 300, 2);
	resize(&heap, 0, 30, 0x500, 0x500, 200, 2);
	release(&heap, 0, 60, 0x500);
	allo_heap_end(&heap, 100);
	assert_int_equal(heap.blocks.allocations, 3);
	assert_int_equal(heap.blocks.resizes, 2);
	assert_int_equal(heap.blocks.total_bytes, 600);
	assert_int_equal(heap.blocks.peak_bytes, 300);
	assert_int_equal(heap.blocks.count, 0);
	assert_int_equal(heap.blocks.made[1], 1);
	assert_int_equal(heap.blocks.made[2], 2);
	assert_int_equal(heap.sites[2].alloc_bytes, 500);
	assert_int_equal(heap.sites[1].lifetime_ns + heap.sites[2].lifetime_ns, 50);
	assert_int_equal(heap.blocks.unknown_frees, 0);
}

static void a_late_free_does_nothing(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 100, 1);
	allocate(&heap, 1, 50, 0x100, 70, 2);
	assert_int_equal(heap.blocks.bytes, 70);
	release(&heap, 0, 51, 0x100);
	assert_int_equal(heap.blocks.bytes, 70);
	assert_int_equal(heap.blocks.late_frees, 1);
	release(&heap, 1, 60, 0x100);
	assert_int_equal(heap.blocks.bytes, 0);
	assert_int_equal(heap.blocks.unknown_frees, 0);
	assert_int_equal(heap.sites[1].lifetime_ns, 40);
	assert_int_equal(heap.sites[2].lifetime_ns, 10);
}

static void a_thread_frees_the_block_it_allocated_last(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 100, 1);
	allocate(&heap, 1, 50, 0x100, 70, 2);
	release(&heap, 1, 51, 0x100); /* this one frees the block of 70 */
	assert_int_equal(heap.blocks.bytes, 0);
	release(&heap, 0, 52, 0x100);
	assert_int_equal(heap.blocks.late_frees, 1);
	assert_int_equal(heap.blocks.unknown_frees, 0);
}

static void a_lost_free_hides_no_other_free(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	const uint64_t second = 1000000000;

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 100, 1);
	allocate(&heap, 1, 50, 0x100, 70, 2);
	release(&heap, 0, second, 0x100);
	assert_int_equal(heap.blocks.bytes, 0);
	assert_int_equal(heap.blocks.late_frees, 0);
}

static void a_late_realloc_keeps_its_birth(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 100, 1);
	allocate(&heap, 1, 50, 0x100, 70, 2);
	resize(&heap, 0, 51, 0x100, 0x900, 200, 3);
	assert_int_equal(heap.blocks.bytes, 270);
	release(&heap, 0, 61, 0x900);
	assert_int_equal(heap.sites[3].lifetime_ns, 51);
	assert_int_equal(heap.blocks.unknown_frees, 0);
}

static void unknown_frees_are_counted(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	release(&heap, 0, 10, 0x100);
	resize(&heap, 0, 20, 0x200, 0x300, 5, 1);
	release(&heap, 0, 30, 0);
	assert_int_equal(heap.blocks.unknown_frees, 3);
	assert_int_equal(heap.blocks.bytes, 5);
}

static void partial_stacks_are_counted(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 1, 1);
	allocate(&heap, 0, 10, 0x200, 1, 3);
	allocate(&heap, 0, 10, 0x300, 1, 0);
	allocate(&heap, 0, 10, 0x400, 1, 4000000000);
	allo_heap_end(&heap, 10);
	assert_int_equal(heap.blocks.partial_stacks, 3);
	assert_int_equal(heap.blocks.missing_stacks, 1);
	assert_int_equal(heap.blocks.made[0], 2);
}

static void temporary_blocks_end_before_the_next_allocation(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, 1, 1);
	allocate(&heap, 1, 10, 0x200, 1, 1);
	release(&heap, 0, 20, 0x100); /* temporary: the other block belongs to another thread */
	allocate(&heap, 0, 30, 0x300, 1, 1);
	release(&heap, 0, 40, 0x200);
	release(&heap, 1, 50, 0x300); /* by another thread */
	assert_int_equal(heap.sites[1].temporary_blocks, 1);
}

static void allocations_beyond_64_bits_are_not_counted(void **state)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };

	(void)state;
	init(&heap);
	allocate(&heap, 0, 10, 0x100, UINT64_MAX - 5, 1);
	allocate(&heap, 0, 10, 0x200, 6, 1);
	allocate(&heap, 0, 10, 0x300, 5, 1);
	assert_int_equal(heap.blocks.overflows, 1);
	assert_int_equal(heap.blocks.allocations, 2);
	assert_true(heap.blocks.total_bytes == UINT64_MAX);
	assert_true(heap.blocks.bytes == UINT64_MAX);
}

/* Compares with a simple table. */
static void random_events_match_a_simple_table(void **state)
{
	enum { POINTERS = 20000, EVENTS = 300000 };
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	struct allo_live_block *live = calloc(POINTERS, sizeof(*live));
	uint64_t seed = 7, bytes = 0, blocks = 0, peak = 0, at_peak[SITES] = { 0 };
	uint64_t held[SITES] = { 0 };

	(void)state;
	assert_non_null(live);
	init(&heap);
	for (uint64_t i = 1; i <= EVENTS; i++) {
		uint32_t index = draw(&seed, POINTERS);
		uint64_t pointer = 0x1000 + (uint64_t)index * 48, size = draw(&seed, 1000);
		uint32_t stack = draw(&seed, SITES);
		struct allo_live_block *block = &live[index];

		if (block->pointer) {
			release(&heap, 0, i, pointer);
			bytes -= block->size;
			held[block->stack] -= block->size;
			blocks--;
			block->pointer = 0;
			continue;
		}
		allocate(&heap, 0, i, pointer, size, stack);
		*block = (struct allo_live_block){ .pointer = pointer,
						   .size = size,
						   .stack = stack };
		bytes += size;
		held[stack] += size;
		blocks++;
		if (bytes > peak) {
			peak = bytes;
			memcpy(at_peak, held, sizeof(held));
		}
	}
	assert_int_equal(heap.blocks.bytes, bytes);
	assert_int_equal(heap.blocks.count, blocks);
	assert_int_equal(heap.blocks.peak_bytes, peak);
	assert_int_equal(heap.blocks.unknown_frees, 0);
	for (size_t i = 0; i < SITES; i++) {
		assert_int_equal(heap.sites[i].live_bytes, held[i]);
		assert_int_equal(allo_heap_peak(&heap, &heap.sites[i]).bytes, at_peak[i]);
	}
	free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_is_exact),
		cmocka_unit_test(lifetimes_end_with_the_recording),
		cmocka_unit_test(a_realloc_counts_again_and_keeps_its_birth),
		cmocka_unit_test(a_late_free_does_nothing),
		cmocka_unit_test(a_thread_frees_the_block_it_allocated_last),
		cmocka_unit_test(a_lost_free_hides_no_other_free),
		cmocka_unit_test(a_late_realloc_keeps_its_birth),
		cmocka_unit_test(unknown_frees_are_counted),
		cmocka_unit_test(partial_stacks_are_counted),
		cmocka_unit_test(temporary_blocks_end_before_the_next_allocation),
		cmocka_unit_test(allocations_beyond_64_bits_are_not_counted),
		cmocka_unit_test(random_events_match_a_simple_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
