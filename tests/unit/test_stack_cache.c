/* test_stack_cache.c - capture/stacks/stack_cache.h: compares every stack with libgcc's, frame by
 * frame.
 */
#include "walk.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

static struct allo_stack_cache cache;
static unsigned looked;

/* Captures the caller's stack. */
static NOINLINE void capture(void)
{
	struct allo_registers caller = CALLER();
	const struct walk *walk = walk_from(caller.pc);

	assert_true(allo_stack_cache_capture(&cache, &caller));
	assert_false(cache.is_cut);
	assert_int_equal(cache.count, walk->count);
	for (size_t i = 0; i < walk->count; i++)
		assert_int_equal(cache.frames[cache.count - 1 - i].pc, walk->pcs[i]);
	assert_int_equal(cache.frames[cache.count - 1].sp, caller.sp);
	looked++;
}

void (*look)(void) = capture;

static int begin(void **state)
{
	(void)state;
	cache = (struct allo_stack_cache){ 0 };
	looked = 0;
	return allo_stack_cache_init(&cache, true) ? 0 : -1;
}

static void a_stack_is_the_same_twice(void **state)
{
	uint64_t hashes[2];

	(void)state;
	for (volatile unsigned i = 0; i < 2; i++) {
		capture();
		hashes[i] = cache.rest[cache.count - 1].hash;
	}
	assert_int_equal(hashes[0], hashes[1]);
	assert_int_equal(cache.joint, cache.count);
}

static void hashes_are_those_of_the_frames_from_the_outermost(void **state)
{
	uint64_t hash = 77;

	(void)state;
	allo_stack_cache_clear(&cache, 77);
	capture();
	for (unsigned i = 0; i < cache.count; i++) {
		hash = allo_stack_hash(hash, cache.frames[i].pc);
		assert_int_equal(cache.rest[i].hash, hash);
	}
}

static NOINLINE unsigned down(unsigned depth)
{
	unsigned sum = depth;

	if (depth == 0)
		capture();
	else
		sum += down(depth - 1);
	BARRIER();
	return sum;
}

static void only_new_frames_are_unwound(void **state)
{
	uint32_t count;

	(void)state;
	down(10);
	count = cache.count;
	down(40);
	assert_int_equal(cache.count, count + 30);
	/* Only the pc in this function differs; the frames outside of it have not changed. */
	assert_int_equal(cache.joint, count - 12);
}

static NOINLINE void called_from_two_places(void)
{
	capture();
	BARRIER();
}

static NOINLINE void call_from_one_of_two_places(bool is_second)
{
	if (is_second) {
		called_from_two_places();
		BARRIER();
	} else {
		KEEP_APART();
		called_from_two_places();
		KEEP_APART();
	}
}

/* All inner frames are the same, including their stack pointers. */
static void calls_from_two_places_at_one_depth_are_two_stacks(void **state)
{
	uint64_t hashes[4], sps[4];

	(void)state;
	for (volatile unsigned i = 0; i < 4; i++) {
		call_from_one_of_two_places(i % 2);
		hashes[i] = cache.rest[cache.count - 1].hash;
		sps[i] = cache.frames[cache.count - 1].sp;
	}
	assert_int_equal(sps[0], sps[1]);
	assert_int_not_equal(hashes[0], hashes[1]);
	assert_int_equal(hashes[0], hashes[2]);
	assert_int_equal(hashes[1], hashes[3]);
}

/* The same inner frames, but with a frame pointer to another frame. */
static NOINLINE void with_alloca(size_t size, unsigned depth)
{
	char *some = alloca(size);

	USE(some);
	if (depth > 0)
		with_alloca(size, depth - 1);
	else
		capture();
	BARRIER();
}

static void frames_that_grow_by_alloca_are_found_by_their_frame_pointers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		with_alloca(16 + i % 3 * 160, i % 4);
		with_alloca(16 + i % 2 * 160, i % 5);
	}
}

static NOINLINE void realigned(unsigned depth)
{
	char some[64] __attribute__((aligned(64)));
	char *more = alloca(16 + depth);

	USE(some);
	USE(more);
	if (depth > 0)
		realigned(depth - 1);
	else
		capture();
	BARRIER();
}

static void realigned_frames_are_followed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		realigned(i % 6);
}

static void random_call_sequences_give_the_right_stacks(void **state)
{
	(void)state;
	for (uint64_t random = 1; random <= 20; random++)
		go_about(random, 1000);
	assert_int_equal(looked, 20000);
}

static void a_cleared_cache_finds_the_stack_again(void **state)
{
	(void)state;
	down(20);
	allo_stack_cache_clear(&cache, 1);
	down(20);
	assert_int_equal(cache.joint, 0);
}

static void *go_deep(void *unused)
{
	(void)unused;
	down(100000);
	down(99990);
	down(100000);
	return NULL;
}

static void run_on_a_large_stack(void *(*function)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 64 << 20), 0);
	assert_int_equal(pthread_create(&thread, &attributes, function, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attributes);
}

static void recursion_may_be_100000_deep(void **state)
{
	(void)state;
	run_on_a_large_stack(go_deep);
	assert_true(cache.count > 100000);
	assert_int_equal(looked, 3);
}

/* A deep recursion from one of two places, without libgcc, which would take so long that the cache
 * verifies everything. */

static NOINLINE unsigned dive(unsigned depth)
{
	unsigned sum = depth;

	if (depth == 0) {
		struct allo_registers here = CALLER();

		assert_true(allo_stack_cache_capture(&cache, &here));
	} else {
		sum += dive(depth - 1);
	}
	BARRIER();
	return sum;
}

static NOINLINE uint64_t dive_from_one_of_two_places(bool is_second, unsigned depth)
{
	if (is_second) {
		dive(depth);
		BARRIER();
	} else {
		KEEP_APART();
		dive(depth);
		KEEP_APART();
	}
	return cache.rest[cache.count - 1].hash;
}

static void *dive_from_two_places(void *unused)
{
	static const unsigned depths[] = { ALLO_STACK_SHORT - 9, ALLO_STACK_SHORT + 100, 5000,
					   20000 };
	uint64_t random = 1;

	(void)unused;
	for (unsigned i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		uint64_t hashes[2];

		/* The first two captures begin with an empty cache. */
		for (volatile unsigned round = 0; round < 200; round++) {
			bool place = (random = random * 6364136223846793005 + 1) >> 63;
			uint64_t hash;

			if (round < 2) {
				allo_stack_cache_clear(&cache, 0);
				place = round;
			}
			hash = dive_from_one_of_two_places(place, depths[i]);
			if (round < 2)
				hashes[round] = hash;
			assert_int_equal(hash, hashes[place]);
		}
		assert_int_not_equal(hashes[0], hashes[1]);
	}
	return NULL;
}

static void deep_stacks_of_two_places_are_told_apart(void **state)
{
	(void)state;
	run_on_a_large_stack(dive_from_two_places);
}

/* Two stacks: one switches to the other and back. */

static ucontext_t outside, inside;

static void run_inside(void)
{
	for (;;) {
		down(5);
		swapcontext(&inside, &outside);
	}
}

static NOINLINE void make_context(char *stack, size_t size)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside; /* in place of a return address */
	makecontext(&inside, run_inside, 0);
}

static void a_switched_stack_ends_at_its_first_frame(void **state)
{
	static char stack[1 << 16];

	(void)state;
	make_context(stack, sizeof(stack));
	for (unsigned i = 0; i < 5; i++) {
		swapcontext(&outside, &inside);
		assert_true(cache.frames[cache.count - 1].sp - (uint64_t)stack < sizeof(stack));
		down(i);
		assert_false(cache.frames[cache.count - 1].sp - (uint64_t)stack < sizeof(stack));
	}
	assert_int_equal(looked, 10);
}

static void an_unmapped_stack_is_not_read(void **state)
{
	size_t size = 1 << 16;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(stack != MAP_FAILED);
	make_context(stack, size);
	swapcontext(&outside, &inside);
	assert_int_equal(munmap(stack, size), 0);
	down(5);
	assert_int_equal(looked, 2);
}

/* Signals. */

static void handle(int number)
{
	(void)number;
	down(3);
}

static void raise_at(unsigned depth)
{
	if (depth == 0)
		raise(SIGUSR1);
	else
		raise_at(depth - 1);
	BARRIER();
}

static void set_handler(int flags)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void a_handler_s_stack_continues_in_the_interrupted_one(void **state)
{
	(void)state;
	set_handler(0);
	for (unsigned i = 0; i < 5; i++) {
		raise_at(i);
		assert_true(cache.has_signal);
		down(i);
		assert_false(cache.has_signal);
	}
	assert_int_equal(looked, 10);
}

static void a_handler_may_use_an_alternate_stack(void **state)
{
	static char memory[1 << 16];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };

	(void)state;
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	set_handler(SA_ONSTACK);
	for (unsigned i = 0; i < 5; i++) {
		raise_at(i);
		assert_true(cache.frames[cache.count - 1].sp - (uint64_t)memory < sizeof(memory));
		down(i);
	}
	assert_int_equal(looked, 10);
}

/* Invalid registers. */

static void an_invalid_stack_pointer_is_refused(void **state)
{
	(void)state;
	assert_false(
		allo_stack_cache_capture(&cache, &(struct allo_registers){ .pc = 1, .sp = 8 }));
}

static void code_without_a_table_and_without_a_frame_pointer_cuts_the_stack(void **state)
{
	uint64_t somewhere[64] = { 0 };
	struct allo_registers r = { .pc = (uint64_t)somewhere, .sp = (uint64_t)somewhere, .fp = 3 };

	(void)state;
	assert_true(allo_stack_cache_capture(&cache, &r));
	assert_int_equal(cache.count, 1);
	assert_true(cache.is_cut);
}

static void a_cyclic_stack_ends(void **state)
{
	/* Each frame record points to itself or to an inner one. */
	uint64_t records[4] = { 0 };
	struct allo_registers r = { .sp = (uint64_t)records, .fp = (uint64_t)records };

	(void)state;
	r.pc = records[1] = records[3] = (uint64_t)records; /* not code: guessed by frame pointer */
	records[0] = (uint64_t)(records + 2);
	records[2] = (uint64_t)records;
	assert_true(allo_stack_cache_capture(&cache, &r));
	assert_int_equal(cache.count, 3);
	assert_true(cache.is_cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_stack_is_the_same_twice, begin),
		cmocka_unit_test_setup(hashes_are_those_of_the_frames_from_the_outermost, begin),
		cmocka_unit_test_setup(only_new_frames_are_unwound, begin),
		cmocka_unit_test_setup(calls_from_two_places_at_one_depth_are_two_stacks, begin),
		cmocka_unit_test_setup(frames_that_grow_by_alloca_are_found_by_their_frame_pointers,
				       begin),
		cmocka_unit_test_setup(realigned_frames_are_followed, begin),
		cmocka_unit_test_setup(random_call_sequences_give_the_right_stacks, begin),
		cmocka_unit_test_setup(a_cleared_cache_finds_the_stack_again, begin),
		cmocka_unit_test_setup(recursion_may_be_100000_deep, begin),
		cmocka_unit_test_setup(deep_stacks_of_two_places_are_told_apart, begin),
		cmocka_unit_test_setup(a_switched_stack_ends_at_its_first_frame, begin),
		cmocka_unit_test_setup(an_unmapped_stack_is_not_read, begin),
		cmocka_unit_test_setup(a_handler_s_stack_continues_in_the_interrupted_one, begin),
		cmocka_unit_test_setup(a_handler_may_use_an_alternate_stack, begin),
		cmocka_unit_test_setup(an_invalid_stack_pointer_is_refused, begin),
		cmocka_unit_test_setup(
			code_without_a_table_and_without_a_frame_pointer_cuts_the_stack, begin),
		cmocka_unit_test_setup(a_cyclic_stack_ends, begin),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
