/* test_heaptrack_heap.c - readers/heaptrack_heap.h. */
#include "check.h"

#include "base/defer.h"
#include "readers/heaptrack_heap.h"

#include <stdlib.h>

static void heap_done(struct allo_heaptrack_heap *heap)
{
	allo_vec_done(&heap->infos);
}

static void add_info(struct allo_heaptrack_heap *heap, uint64_t size)
{
	struct allo_heaptrack_info info = { .size = size, .of_peak = heap->peaks };

	assert_true(allo_vec_append(&heap->infos, &info, 1));
}

/* Where reading stopped. */
static size_t read_events(struct allo_heaptrack_heap *heap, const char *text, uint64_t *lines)
{
	*lines = 0;
	return (size_t)(allo_heaptrack_read_events(heap, text, text + strlen(text), lines) - text);
}

static void the_first_of_equal_peaks_counts(void **state)
{
	ALLO_DEFER(heap_done) struct allo_heaptrack_heap heap = { 0 };
	uint64_t lines;

	(void)state;
	add_info(&heap, 10);
	add_info(&heap, 10);
	heap.time_ms = 5;
	read_events(&heap, "+ 0\n+ 0\n- 0\n", &lines);
	heap.time_ms = 9;
	read_events(&heap, "+ 1\n- 1\n- 0\n", &lines);
	assert_int_equal(heap.peak_bytes, 20);
	assert_int_equal(heap.peak_time_ms, 5);
	assert_int_equal(allo_heaptrack_live_at_peak(&heap, 0), 2);
	assert_int_equal(allo_heaptrack_live_at_peak(&heap, 1), 0);
}

static void a_block_that_is_freed_at_once_is_temporary(void **state)
{
	ALLO_DEFER(heap_done) struct allo_heaptrack_heap heap = { 0 };
	uint64_t lines;

	(void)state;
	add_info(&heap, 1);
	add_info(&heap, 1);
	add_info(&heap, 1);
	/* The third one follows a free, not its allocation. */
	read_events(&heap, "+ 1\n+ 2\n- 2\n- 1\n", &lines);
	assert_int_equal(heap.infos.at[2].temporary, 1);
	assert_int_equal(heap.infos.at[1].temporary, 0);
	/* heaptrack counts a free of number 0 after any free. */
	read_events(&heap, "+ 0\n+ 1\n- 1\n- 0\n", &lines);
	assert_int_equal(heap.infos.at[0].temporary, 1);
}

static void reading_stops_at_anything_odd(void **state)
{
	static const char *const odd[] = { "c 5\n", "\n",      "+\n",
					   "+ \n",  "+ 1\n",   "- 0\n",
					   "+ g\n", "+ 0 \n",  "+ 0 1 ff\n",
					   "+0\n",  "+ 0\r\n", "+ 10000000000000000\n",
					   "+ A\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		ALLO_DEFER(heap_done) struct allo_heaptrack_heap heap = { 0 };
		char text[64] = "+ 0\n- 0\n";
		uint64_t lines;

		add_info(&heap, 8);
		strcat(text, odd[i]);
		assert_int_equal(read_events(&heap, text, &lines), 8);
		assert_int_equal(lines, 2);
		assert_int_equal(heap.infos.at[0].allocated, 1);
	}
}

static void bytes_beyond_counting_are_refused(void **state)
{
	ALLO_DEFER(heap_done) struct allo_heaptrack_heap heap = { 0 };

	(void)state;
	add_info(&heap, UINT64_MAX);
	add_info(&heap, 1);
	assert_true(allo_heaptrack_allocate(&heap, 0));
	assert_false(allo_heaptrack_allocate(&heap, 1));
	assert_true(heap.live_bytes == UINT64_MAX);
	assert_int_equal(heap.infos.at[1].live, 0);
}

static void starting_over_forgets_all_but_the_sizes(void **state)
{
	ALLO_DEFER(heap_done) struct allo_heaptrack_heap heap = { 0 };

	(void)state;
	add_info(&heap, 100);
	assert_true(allo_heaptrack_allocate(&heap, 0));
	allo_heaptrack_start_over(&heap);
	assert_false(allo_heaptrack_free(&heap, 0));
	assert_true(allo_heaptrack_allocate(&heap, 0));
	assert_int_equal(heap.peak_bytes, 100);
	assert_int_equal(heap.infos.at[0].allocated, 1);
	assert_int_equal(allo_heaptrack_live_at_peak(&heap, 0), 1);
}

/* Against a heap that looks at everything whenever there is a new peak. */
static void counts_at_the_peak_are_exact(void **state)
{
	enum { INFOS = 40, EVENTS = 20000 };
	ALLO_DEFER(heap_done) struct allo_heaptrack_heap heap = { 0 };
	uint64_t live[INFOS] = { 0 }, at_peak[INFOS] = { 0 }, bytes = 0, peak = 0;

	(void)state;
	srand(7);
	for (int e = 0; e < EVENTS; e++) {
		/* Infos come as the events go by, and the heap grows and shrinks in turns. */
		uint64_t known = heap.infos.len, number;
		bool is_free = rand() % 100 < (e / 2000 % 2 ? 60 : 40);

		if (known < INFOS && rand() % 100 == 0)
			add_info(&heap, (uint64_t)(rand() % 5) * 16);
		if (known == 0)
			continue;
		number = (uint64_t)rand() % known;
		if (is_free && live[number] > 0) {
			assert_true(allo_heaptrack_free(&heap, number));
			live[number]--;
			bytes -= heap.infos.at[number].size;
		} else if (!is_free) {
			assert_true(allo_heaptrack_allocate(&heap, number));
			live[number]++;
			bytes += heap.infos.at[number].size;
		}
		if (bytes > peak) {
			peak = bytes;
			memcpy(at_peak, live, sizeof(live));
		}
	}
	assert_int_equal(heap.infos.len, INFOS);
	assert_int_equal(heap.peak_bytes, peak);
	for (uint64_t i = 0; i < INFOS; i++) {
		assert_int_equal(allo_heaptrack_live_at_peak(&heap, i), at_peak[i]);
		assert_int_equal(heap.infos.at[i].live, live[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_of_equal_peaks_counts),
		cmocka_unit_test(a_block_that_is_freed_at_once_is_temporary),
		cmocka_unit_test(reading_stops_at_anything_odd),
		cmocka_unit_test(bytes_beyond_counting_are_refused),
		cmocka_unit_test(starting_over_forgets_all_but_the_sizes),
		cmocka_unit_test(counts_at_the_peak_are_exact),
	};

	return cmocka_run_group_tests_name("heaptrack_heap", tests, NULL, NULL);
}
