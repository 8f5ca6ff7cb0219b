/* test_facts.c - findings/facts.h, against blocks in plain arrays. */
#include "base/defer.h"
#include "check.h"
#include "findings/facts.h"
#include "random.h"

#include <stdlib.h>

enum { SITES = 6, STREAMS = 2, BLOCKS = 300, EVENTS = 40000 };

/* A heap with stacks 1 to 5, and facts that observe it. */
struct observed {
	struct allo_heap heap;
	struct allo_facts *facts;
};

static void init(struct observed *at)
{
	static struct allo_recorded_node nodes[SITES];
	struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	for (size_t i = 0; i < SITES; i++)
		nodes[i].flags = ALLO_NODE_KNOWN;
	recording.nodes.at = nodes;
	recording.nodes.len = SITES;
	recording.streams.len = STREAMS;
	assert_true(allo_heap_init(&at->heap, &recording, &err));
	at->facts = calloc(1, sizeof(*at->facts));
	assert_non_null(at->facts);
}

static void done(struct observed *at)
{
	allo_heap_done(&at->heap);
	if (at->facts)
		allo_facts_done(at->facts);
	free(at->facts);
}

static void apply(struct observed *at, struct allo_event event)
{
	struct allo_heap_observer observer = allo_facts_observer(at->facts);
	struct allo_event_span span = { &event, 1 };
	struct allo_outcomes outcomes;
	struct allo_error err = { 0 };

	assert_true(allo_heap_apply_with_outcomes(&at->heap, &span, &outcomes, &err));
	assert_true(observer.take(observer.context, &at->heap, &span, &outcomes, &err));
}

static void end(struct observed *at, uint64_t ns)
{
	struct allo_heap_observer observer = allo_facts_observer(at->facts);
	struct allo_error err = { 0 };

	assert_true(observer.end(observer.context, &at->heap, ns, &err));
}

/* The oracle: all blocks that were ever live, and counts that are obvious. */
struct block {
	uint64_t pointer, size, number;
	uint32_t site, steps;
};

struct oracle {
	struct block blocks[BLOCKS];
	size_t count;
	uint64_t next_pointer;
	uint64_t made[SITES], bytes[SITES], live[SITES], freed[SITES], reusable[SITES],
		empty[SITES];
	uint64_t grown[SITES], copied[SITES], longest[SITES], short_chains[SITES],
		long_chains[SITES];
};

static void count_chain(struct oracle *oracle, const struct block *block)
{
	oracle->short_chains[block->site] += block->steps >= ALLO_SHORT_CHAIN;
	oracle->long_chains[block->site] += block->steps >= ALLO_LONG_CHAIN;
}

static struct block make(struct oracle *oracle, uint64_t size, uint32_t site)
{
	oracle->bytes[site] += size;
	oracle->live[site] += size;
	oracle->empty[site] += size == 0;
	oracle->next_pointer += 16;
	return (struct block){ oracle->next_pointer, size, ++oracle->made[site], site, 0 };
}

static void allocate(struct oracle *oracle, struct observed *at, uint64_t ns, uint64_t *seed)
{
	uint64_t size = draw(seed, 4) == 0 ? 0 : draw(seed, 5000);
	struct block block = make(oracle, size, 1 + draw(seed, 3));

	oracle->blocks[oracle->count++] = block;
	apply(at, (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
				       .ns = ns,
				       .pointer = block.pointer,
				       .size = block.size,
				       .stack = block.site });
}

static void release(struct oracle *oracle, struct observed *at, uint64_t ns, uint64_t *seed)
{
	size_t index = draw(seed, (uint32_t)oracle->count);
	struct block block = oracle->blocks[index];

	oracle->blocks[index] = oracle->blocks[--oracle->count];
	oracle->live[block.site] -= block.size;
	oracle->freed[block.site]++;
	oracle->reusable[block.site] += block.number == oracle->made[block.site];
	count_chain(oracle, &block);
	apply(at,
	      (struct allo_event){ .kind = ALLO_EVENT_FREE, .ns = ns, .pointer = block.pointer });
}

static void resize(struct oracle *oracle, struct observed *at, uint64_t ns, uint64_t *seed)
{
	struct block *block = &oracle->blocks[draw(seed, (uint32_t)oracle->count)], old = *block;
	uint64_t size = draw(seed, 8000);
	uint32_t site = 4 + draw(seed, 2);

	oracle->live[old.site] -= old.size;
	*block = make(oracle, size, site);
	block->steps = old.steps + 1;
	if (size > old.size) {
		oracle->grown[site]++;
		oracle->copied[site] += old.size;
		if (block->steps > oracle->longest[site])
			oracle->longest[site] = block->steps;
	}
	apply(at, (struct allo_event){ .kind = ALLO_EVENT_RESIZE,
				       .ns = ns,
				       .old = old.pointer,
				       .pointer = block->pointer,
				       .size = size,
				       .stack = site });
}

static void compare_growth(const struct oracle *oracle, const struct allo_facts *facts, size_t site)
{
	static const struct allo_growth_facts none;
	uint32_t index = facts->sites.at[site].growth;
	const struct allo_growth_facts *growth = index ? &facts->growths.at[index - 1] : &none;

	assert_int_equal(growth->steps, oracle->grown[site]);
	assert_int_equal(growth->copied_bytes, oracle->copied[site]);
	assert_int_equal(growth->longest, oracle->longest[site]);
	assert_int_equal(growth->short_chains, oracle->short_chains[site]);
	assert_int_equal(growth->long_chains, oracle->long_chains[site]);
}

static void compare(const struct oracle *oracle, const struct allo_facts *facts)
{
	for (size_t i = 1; i < SITES; i++) {
		const struct allo_site_facts *site = &facts->sites.at[i];

		assert_int_equal(site->node, i);
		assert_int_equal(site->blocks, oracle->made[i]);
		assert_int_equal(site->bytes, oracle->bytes[i]);
		assert_int_equal(site->live_bytes, oracle->live[i]);
		assert_int_equal(site->freed_blocks, oracle->freed[i]);
		assert_int_equal(site->reusable_blocks, oracle->reusable[i]);
		assert_int_equal(site->empty_blocks, oracle->empty[i]);
		assert_true(site->curve > 0);
		assert_int_equal(facts->curves.at[site->curve - 1].filled, facts->steps);
		assert_int_equal(facts->curves.at[site->curve - 1].live[facts->steps - 1],
				 oracle->live[i]);
		compare_growth(oracle, facts, i);
	}
}

static void random_events_give_the_facts_of_the_blocks(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		ALLO_DEFER(done) struct observed at = { 0 };
		struct oracle *oracle = calloc(1, sizeof(*oracle));
		uint64_t random = seed, ns = 0;

		assert_non_null(oracle);
		init(&at);
		for (int i = 0; i < EVENTS; i++) {
			uint64_t choice = draw(&random, 4);

			ns += draw(&random, 5000);
			if (oracle->count == 0 || (choice < 2 && oracle->count < BLOCKS))
				allocate(oracle, &at, ns, &random);
			else if (choice == 2)
				resize(oracle, &at, ns, &random);
			else
				release(oracle, &at, ns, &random);
		}
		end(&at, ns);
		for (size_t i = 0; i < oracle->count; i++)
			count_chain(oracle, &oracle->blocks[i]);
		compare(oracle, at.facts);
		free(oracle);
	}
}

/* Live bytes at known times. */
static void a_curve_has_the_live_bytes_at_each_time(void **state)
{
	enum { STEP_NS = 1000000 };
	ALLO_DEFER(done) struct observed at = { 0 };
	const struct allo_curve *curve;

	(void)state;
	init(&at);
	for (uint64_t i = 0; i < 100; i++)
		apply(&at, (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
						.ns = i * STEP_NS,
						.pointer = 16 + 16 * i,
						.size = 10000,
						.stack = 1 });
	end(&at, 100 * STEP_NS - 1);
	assert_in_range(at.facts->steps, ALLO_CURVE_STEPS / 2, ALLO_CURVE_STEPS);
	curve = &at.facts->curves.at[at.facts->sites.at[1].curve - 1];
	for (uint64_t i = 0; i < at.facts->steps; i++) {
		/* The last event that is before the end of the step. */
		uint64_t last = ((i + 1) * at.facts->step_ns - 1) / STEP_NS;

		assert_int_equal(curve->live[i], 10000 * ((last < 99 ? last : 99) + 1));
	}
}

static void a_majority_never_counts_too_many(void **state)
{
	static const uint64_t sizes[] = { 8, 16, 16, 16, 24, 16, 16 };
	ALLO_DEFER(done) struct observed at = { 0 };

	(void)state;
	init(&at);
	for (uint64_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		apply(&at, (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
						.ns = i,
						.pointer = 16 + 16 * i,
						.size = sizes[i],
						.stack = 1 });
	end(&at, 100);
	assert_int_equal(at.facts->sites.at[1].size.value, 16);
	assert_in_range(at.facts->sites.at[1].size.count, 3, 5);
	assert_int_equal(at.facts->sites.at[1].least_size, 8);
	assert_int_equal(at.facts->sites.at[1].most_size, 24);
	assert_int_equal(at.facts->sizes[16], 5);
}

/* Hostile files have any times. */
static void times_may_be_enormous_and_go_back(void **state)
{
	static const uint64_t times[] = { 0, UINT64_MAX, 5, UINT64_MAX / 2, UINT64_MAX - 1 };
	ALLO_DEFER(done) struct observed at = { 0 };

	(void)state;
	init(&at);
	for (uint64_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		apply(&at, (struct allo_event){ .kind = ALLO_EVENT_ALLOC,
						.ns = times[i],
						.pointer = 16 + 16 * i,
						.size = 10000,
						.stack = 1 });
	end(&at, 3);
	assert_in_range(at.facts->steps, 1, ALLO_CURVE_STEPS);
	assert_int_equal(at.facts->sites.at[1].live_bytes, 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_give_the_facts_of_the_blocks),
		cmocka_unit_test(a_curve_has_the_live_bytes_at_each_time),
		cmocka_unit_test(a_majority_never_counts_too_many),
		cmocka_unit_test(times_may_be_enormous_and_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
