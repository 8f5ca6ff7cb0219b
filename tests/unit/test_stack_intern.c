/* test_stack_intern.c - capture/stacks/stack_intern.h, with a recording in a temporary folder. */
#include "scratch.h"

#include "capture/file/recorder.h"
#include "capture/settings.h"
#include "capture/stacks/stack_intern.h"
#include "capture/system.h"
#include "wire/stacks.h"

/* The frames have made-up addresses.  The tests read the nodes back from the file. */

static struct scratch scratch;
static struct allo_stack_cache cache;
static struct allo_intern_cache ids;

static int begin_all(void **state)
{
	(void)state;
	scratch_init(&scratch);
	allo_settings.has_file = true;
	strcpy(allo_settings.output, scratch_path(&scratch, "stacks.allo"));
	allo_recorder = allo_map_private(sizeof(*allo_recorder));
	if (!allo_recorder || !allo_recorder_begin(false) || !allo_stacks_begin() ||
	    !allo_stack_cache_init(&cache, true))
		return -1;
	allo_recorder->state = ALLO_RECORDER_ON;
	return 0;
}

static int end_all(void **state)
{
	(void)state;
	scratch_done(&scratch);
	return 0;
}

/* Another seed per test, so that tests do not share stacks. */
static int begin(void **state)
{
	(void)state;
	memset(&ids, 0, sizeof(ids));
	allo_stack_cache_clear(&cache, cache.seed + 1000);
	cache.is_cut = false;
	allo_settings.stack_depth = 0;
	return 0;
}

/* Puts a stack into the cache, the outermost frame first; a pc of 0 ends it. */
static void set_stack(const uint64_t *pcs)
{
	uint64_t hash = allo_stack_hash_root(cache.seed, cache.is_cut);

	for (cache.count = 0; pcs[cache.count]; cache.count++) {
		hash = allo_stack_hash(hash, pcs[cache.count]);
		cache.frames[cache.count] = (struct allo_cached_frame){ .pc = pcs[cache.count] };
		cache.rest[cache.count] = (struct allo_cached_frame_rest){
			.hash = hash, .rule = allo_rule(ALLO_RULE_SP, 16, 0)
		};
	}
}

#define STACK(...)                                                                                 \
	(set_stack((const uint64_t[]){ __VA_ARGS__, 0 }), allo_stack_intern(&ids, &cache, false))

/* A node as it is in the file. */
struct node {
	uint32_t parent;
	uint64_t pc;
	bool is_cut, is_guessed, is_exact;
	uint64_t generation;
};

enum { NODES_MAX = 200000 };
static struct node nodes[NODES_MAX];

static uint64_t take_varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;

	assert_true(allo_varint_take(at, end, &value));
	return value;
}

/* Reads a slot of nodes, the first of which has the id `next`; returns the id after the last. */
static uint32_t read_block(const struct allo_wire_slot *slot, uint64_t *generation)
{
	const uint8_t *at = (const uint8_t *)(slot + 1), *end = at + slot->used;
	uint32_t id = (uint32_t)slot->from[0];
	uint64_t pc = slot->from[1];
	struct node node = { 0 };

	while (at < end) {
		uint64_t distance = take_varint(&at, end);

		if (distance == 0) {
			uint8_t escape = *at++;

			if (escape == ALLO_STACK_GENERATION)
				*generation = take_varint(&at, end);
			node.is_cut |= escape == ALLO_STACK_CUT;
			node.is_guessed |= escape == ALLO_STACK_GUESSED;
			node.is_exact |= escape == ALLO_STACK_EXACT_PC;
			continue;
		}
		assert_true(distance <= id);
		pc += allo_unzigzag(take_varint(&at, end));
		node.parent = id - (uint32_t)distance;
		node.pc = pc;
		node.generation = *generation;
		assert_true(id < NODES_MAX);
		nodes[id++] = node;
		node = (struct node){ 0 };
	}
	return id;
}

/* Reads all nodes in the file; returns their number. */
static uint32_t read_nodes(void)
{
	size_t len;
	char *file = scratch_read(allo_recorder->path, &len);
	uint32_t next = 1;
	uint64_t generation = 0;

	for (uint32_t sequence = 0, more = 1; more; sequence++) {
		more = 0;
		for (size_t i = 1; i * ALLO_SLOT_SIZE < len && !more; i++) {
			const struct allo_wire_slot *slot = (const void *)(file +
									   i * ALLO_SLOT_SIZE);

			if (slot->magic != ALLO_SLOT_MAGIC || slot->kind != ALLO_STREAM_STACKS ||
			    slot->sequence != sequence)
				continue;
			assert_int_equal(slot->from[0], next);
			next = read_block(slot, &generation);
			more = 1;
		}
	}
	free(file);
	return next - 1;
}

static void assert_stack(uint32_t id, const uint64_t *pcs, size_t count)
{
	for (size_t i = count; i-- > 0; id = nodes[id].parent)
		assert_int_equal(nodes[id].pc, pcs[i]);
	assert_int_equal(id, 0);
}

static void equal_stacks_have_equal_ids_and_others_have_not(void **state)
{
	uint32_t one = STACK(1, 2, 3), other = STACK(1, 2, 4);

	(void)state;
	assert_int_not_equal(one, 0);
	assert_int_not_equal(other, 0);
	assert_int_not_equal(one, other);
	assert_int_equal(STACK(1, 2, 3), one);
	/* Also without the cache of this thread. */
	memset(&ids, 0, sizeof(ids));
	assert_int_equal(STACK(1, 2, 3), one);
	assert_int_equal(STACK(1, 2, 4), other);
}

static void a_stack_is_found_by_its_hash(void **state)
{
	uint32_t id = STACK(1, 2, 3);

	(void)state;
	assert_int_equal(allo_stack_find(cache.rest[2].hash), id);
	assert_int_equal(allo_stack_find(cache.rest[2].hash + 1), 0);
}

static void frames_are_written_from_the_outermost_on(void **state)
{
	const uint64_t pcs[] = { 0x7f0000001000, 0x401000, 0x7fffffffffff, 4096 };
	uint32_t id = STACK(0x7f0000001000, 0x401000, 0x7fffffffffff, 4096);

	(void)state;
	read_nodes();
	assert_stack(id, pcs, 4);
}

static void stacks_share_the_nodes_of_common_callers(void **state)
{
	uint32_t before = read_nodes();

	(void)state;
	STACK(1, 2, 3);
	STACK(1, 2, 3, 4);
	STACK(1, 2, 5);
	STACK(1, 2);
	assert_int_equal(read_nodes() - before, 5);
}

static void a_cut_stack_is_a_different_one_and_marked(void **state)
{
	uint32_t whole = STACK(1, 2, 3), cut;
	uint64_t cut_stacks = allo_recorder->head->counts.cut_stacks;

	(void)state;
	cache.is_cut = true;
	cut = STACK(1, 2, 3);
	assert_int_not_equal(cut, whole);
	assert_int_equal(allo_recorder->head->counts.cut_stacks, cut_stacks + 1);
	read_nodes();
	assert_false(nodes[cut].is_cut);
	assert_true(nodes[nodes[nodes[cut].parent].parent].is_cut);
	assert_false(nodes[nodes[nodes[whole].parent].parent].is_cut);
}

static void the_depth_limit_drops_outer_frames(void **state)
{
	const uint64_t pcs[] = { 3, 4 };
	uint32_t id;

	(void)state;
	allo_settings.stack_depth = 2;
	id = STACK(1, 2, 3, 4);
	assert_int_equal(STACK(9, 3, 4), id);
	assert_int_not_equal(STACK(3, 4), id); /* all of its frames */
	read_nodes();
	assert_stack(id, pcs, 2);
	assert_true(nodes[nodes[id].parent].is_cut);
}

static void how_a_frame_was_found_is_written(void **state)
{
	uint32_t id;

	(void)state;
	set_stack((const uint64_t[]){ 1, 2, 3, 4, 0 });
	cache.rest[1].rule = allo_rule(ALLO_RULE_NONE, 0, 0);
	cache.rest[3].rule = allo_rule(ALLO_RULE_SIGNAL, 0, 0);
	id = allo_stack_intern(&ids, &cache, false);
	read_nodes();
	assert_false(nodes[id].is_guessed || nodes[id].is_exact);
	id = nodes[id].parent;
	assert_true(nodes[id].is_exact && !nodes[id].is_guessed);
	id = nodes[id].parent;
	assert_false(nodes[id].is_guessed || nodes[id].is_exact);
	id = nodes[id].parent;
	assert_true(nodes[id].is_guessed && !nodes[id].is_exact);
}

static void nodes_have_the_generation_of_their_modules(void **state)
{
	uint32_t id = STACK(1, 2), later;

	(void)state;
	allo_generation++;
	cache.seed += 1;
	later = STACK(1, 2);
	read_nodes();
	assert_int_equal(nodes[later].generation, nodes[id].generation + 1);
}

/* Enough stacks to fill several tables and slots. */
static void a_hundred_thousand_stacks_have_distinct_ids(void **state)
{
	enum { COUNT = 100000 };
	static uint32_t numbers[COUNT];

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		numbers[i] = STACK(7, 0x1000 + i * 0x123457);
	read_nodes();
	for (uint64_t i = 0; i < COUNT; i++) {
		assert_int_equal(STACK(7, 0x1000 + i * 0x123457), numbers[i]);
		assert_stack(numbers[i], (const uint64_t[]){ 7, 0x1000 + i * 0x123457 }, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(equal_stacks_have_equal_ids_and_others_have_not, begin),
		cmocka_unit_test_setup(a_stack_is_found_by_its_hash, begin),
		cmocka_unit_test_setup(frames_are_written_from_the_outermost_on, begin),
		cmocka_unit_test_setup(stacks_share_the_nodes_of_common_callers, begin),
		cmocka_unit_test_setup(a_cut_stack_is_a_different_one_and_marked, begin),
		cmocka_unit_test_setup(the_depth_limit_drops_outer_frames, begin),
		cmocka_unit_test_setup(how_a_frame_was_found_is_written, begin),
		cmocka_unit_test_setup(nodes_have_the_generation_of_their_modules, begin),
		cmocka_unit_test_setup(a_hundred_thousand_stacks_have_distinct_ids, begin),
	};

	return cmocka_run_group_tests_name("stack_ids", tests, begin_all, end_all);
}
