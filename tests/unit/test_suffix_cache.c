/* test_suffix_cache.c - capture/stacks/suffix_cache.h: compares every hit with libgcc's stack. */
#include "walk.h"

#include "capture/stacks/suffix_cache.h"

static struct allo_stack_cache cache;
static struct allo_suffix_cache suffixes;
static struct allo_registers last; /* of the captured stack */
static unsigned found, looked;

/* Ids of stacks: arbitrary here, but different for different stacks. */
static uint32_t number_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

static uint32_t right_number(uint64_t pc)
{
	const struct walk *walk = walk_from(pc);
	uint64_t hash = 0;

	for (size_t i = walk->count; i-- > 0;)
		hash = allo_stack_hash(hash, walk->pcs[i]);
	return number_of(hash);
}

/* Captures the caller's stack as the runtime does. */
static NOINLINE void capture(void)
{
	struct allo_registers caller = CALLER();
	struct allo_suffix *suffix = allo_suffix_slot(&suffixes, caller.pc, caller.sp);
	uint32_t id = allo_suffix_find(suffix, &cache, &caller);

	looked++;
	last = caller;
	if (id) {
		found++;
	} else {
		assert_true(allo_stack_cache_capture(&cache, &caller));
		id = number_of(cache.rest[cache.count - 1].hash);
		allo_suffix_keep(suffix, &cache, id, &caller);
	}
	assert_int_equal(id, right_number(caller.pc));
}

void (*look)(void) = capture;

static int begin(void **state)
{
	(void)state;
	cache = (struct allo_stack_cache){ 0 };
	memset(&suffixes, 0, sizeof(suffixes));
	found = looked = 0;
	return allo_stack_cache_init(&cache, true) ? 0 : -1;
}

static NOINLINE void allocate(void)
{
	capture();
	BARRIER();
}

static NOINLINE void go_to_library(unsigned depth)
{
	if (depth > 0)
		go_to_library(depth - 1);
	else
		allocate();
	BARRIER();
}

/* Calls down into a library and returns, from two places. */
static void repeated_stacks_are_found(void **state)
{
	(void)state;
	for (volatile unsigned i = 0; i < 100; i++) {
		go_to_library(0);
		allocate();
	}
	assert_true(found > 190);
}

static void stacks_with_too_many_words_are_not_kept(void **state)
{
	(void)state;
	go_to_library(1);
	go_to_library(20);
	for (volatile unsigned i = 0; i < 3; i++)
		go_to_library(20 + i % 2);
	/* The first call comes from another place, so that all frames are new. */
	assert_int_equal(found, 0);
}

static NOINLINE void call_from_one_of_two_places(bool is_second)
{
	if (is_second) {
		go_to_library(1);
		BARRIER();
	} else {
		KEEP_APART();
		go_to_library(1);
		KEEP_APART();
	}
}

static void calls_from_two_places_at_one_depth_are_told_apart(void **state)
{
	(void)state;
	for (volatile unsigned i = 0; i < 20; i++)
		call_from_one_of_two_places(i % 3 == 0);
	assert_int_equal(looked, 20);
}

/*
 * `inner` sees the same stack pointer and return address with two frame pointers: `outer` grows by
 * as much as `middle` then does not.  So the second time the frame of `middle` is at another
 * address, and its old memory is still unchanged the third time.
 */

enum { STEP = 512 };

static NOINLINE void first_of_two(void)
{
	capture();
	BARRIER();
}

static NOINLINE void second_of_two(void)
{
	capture();
	BARRIER();
}

struct way {
	size_t growth;
	bool is_second_place, has_first, has_second;
};

static NOINLINE void inner(const struct way *way)
{
	if (way->has_first)
		first_of_two();
	if (way->has_second)
		second_of_two();
	BARRIER();
}

static NOINLINE void middle(const struct way *way, size_t size)
{
	USE(alloca(size));
	inner(way);
	BARRIER();
}

static NOINLINE void outer(const struct way *way, size_t size)
{
	if (way->growth)
		USE(alloca(way->growth));
	if (way->is_second_place) {
		middle(way, size);
		BARRIER();
	} else {
		KEEP_APART();
		middle(way, size);
		KEEP_APART();
	}
}

/* `more`: bytes that the compiler adds to the size of an alloca.  True if the guess was right. */
static bool go_three_ways(size_t more)
{
	const struct way ways[] = {
		{ 0, false, true, true },     /* caches second_of_two up to `inner` */
		{ STEP, false, true, false }, /* now `inner` is cached with another one */
		{ 0, true, false, true },     /* like the first call, but from the second place */
	};
	uint64_t sps[3];

	for (volatile unsigned i = 0; i < 3; i++) {
		outer(&ways[i], 4 * STEP - (ways[i].growth ? STEP + more : 0));
		sps[i] = last.sp;
	}
	return sps[0] == sps[1] && sps[0] == sps[2];
}

static void a_frame_pointer_to_another_frame_is_noticed(void **state)
{
	unsigned right = 0;

	for (size_t more = 0; more <= 64; more += 16) {
		begin(state);
		right += go_three_ways(more);
	}
	assert_int_equal(right, 1);
}

static void random_call_sequences_give_the_right_stacks(void **state)
{
	(void)state;
	for (uint64_t random = 1; random <= 20; random++)
		go_about(random, 1000);
	assert_int_equal(looked, 20000);
	assert_true(found > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(repeated_stacks_are_found, begin),
		cmocka_unit_test_setup(stacks_with_too_many_words_are_not_kept, begin),
		cmocka_unit_test_setup(calls_from_two_places_at_one_depth_are_told_apart, begin),
		cmocka_unit_test_setup(a_frame_pointer_to_another_frame_is_noticed, begin),
		cmocka_unit_test_setup(random_call_sequences_give_the_right_stacks, begin),
	};

	return cmocka_run_group_tests_name("suffixes", tests, NULL, NULL);
}
