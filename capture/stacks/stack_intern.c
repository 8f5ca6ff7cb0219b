/* stack_intern.c - the shared table of stacks, its lock, and the stream that it writes. */
#include "capture/stacks/stack_intern.h"
#include "base/assert.h"
#include "capture/file/metadata_stream.h"
#include "capture/file/recorder.h"
#include "capture/settings.h"
#include "capture/stacks/function_intern.h"
#include "capture/stacks/stack_table.h"
#include "capture/system.h"
#include "wire/stacks.h"

#include <sched.h>
#include <string.h>

enum {
	NODE_BYTES_MAX = 2 * ALLO_VARINT_MAX + 8, /* of a node with all its escapes */
};

/* Lies in memory that a child made by fork finds zeroed. */
struct stacks {
	struct allo_stack_table table; /* a node is found by the hash of all frames up to it */
	uint32_t count;
	uint32_t owner; /* thread that holds the lock; 0: none */
	uint32_t generation;
	uint64_t last_pc;
	struct allo_wire_slot *nodes;
	struct allo_metadata metadata;
};

static struct stacks *stacks;

bool allo_stacks_begin(void)
{
	if (!stacks)
		stacks = allo_map_private(sizeof(*stacks));
	if (!stacks)
		return false;
	stacks->nodes = allo_tail_open(ALLO_STREAM_STACKS);
	if (!stacks->nodes || !allo_stack_table_make_room(&stacks->table))
		return false;
	stacks->nodes->from[0] = 1;
	return allo_metadata_open(&stacks->metadata);
}

void allo_stacks_end(bool is_left)
{
	allo_functions_end(is_left);
	if (is_left || !stacks) {
		stacks = NULL;
		return;
	}
	allo_stack_table_done(&stacks->table);
	allo_tail_close(stacks->nodes);
	allo_tail_close(stacks->metadata.tail);
	memset(stacks, 0, sizeof(*stacks));
}

/* A signal handler must not wait for the thread that it interrupted. */
bool allo_stacks_lock(bool is_nested)
{
	uint32_t self = allo_thread_number(), nobody = 0;

	while (!__atomic_compare_exchange_n(&stacks->owner, &nobody, self, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		if (is_nested && nobody == self)
			return false;
		nobody = 0;
		ALLO_SYSCALL1(SYS_sched_yield, 0);
	}
	return true;
}

void allo_stacks_unlock(void)
{
	__atomic_store_n(&stacks->owner, 0, __ATOMIC_RELEASE);
}

/* The hook may have published its node without counting it, or not: no stack gets its number. */
void allo_stacks_recover(void)
{
	if (!stacks || __atomic_load_n(&stacks->owner, __ATOMIC_RELAXED) != allo_thread_number())
		return;
	if (stacks->nodes) {
		stacks->count++;
		stacks->generation = UINT32_MAX; /* to be written again */
		allo_tail_seal(stacks->nodes, stacks->count + 1, stacks->last_pc);
	}
	allo_stacks_unlock();
}

uint32_t allo_stack_find(uint64_t hash)
{
	return allo_stack_table_find(&stacks->table, hash);
}

static uint8_t *put_escape(uint8_t *at, enum allo_stack_escape escape)
{
	*at++ = 0;
	*at++ = (uint8_t)escape;
	return at;
}

/* Marks how a frame was found: by the rule of the frame it called. */
static uint8_t *put_marks(uint8_t *at, enum allo_rule_kind kind)
{
	if (kind == ALLO_RULE_NONE) {
		allo_count(&allo_recorder->head->counts.guessed_frames, 1);
		return put_escape(at, ALLO_STACK_GUESSED);
	}
	return kind == ALLO_RULE_SIGNAL ? put_escape(at, ALLO_STACK_EXACT_PC) : at;
}

/* Writes the call, or function and line, of a node. */
static uint8_t *put_place(uint8_t *at, const struct allo_mixed_frame *frame)
{
	if (frame->function)
		return allo_varint_put(allo_varint_put(at, frame->function), frame->line);
	at = allo_varint_put(at, allo_zigzag(frame->pc - stacks->last_pc));
	stacks->last_pc = frame->pc;
	return at;
}

/* Writes a node and returns its id; 0 if there is no room. */
static uint32_t add_node(uint32_t parent, const struct allo_mixed_frame *frame, bool is_cut)
{
	struct allo_wire_slot *tail = stacks->nodes;
	uint8_t *start = (uint8_t *)(tail + 1), *at;
	uint32_t id = stacks->count + 1, generation = allo_recorder_generation();

	if (!allo_stack_table_make_room(&stacks->table))
		return 0;
	if (tail->used > ALLO_SLOT_ROOM - NODE_BYTES_MAX &&
	    !allo_tail_seal(tail, id, stacks->last_pc))
		return 0;
	at = start + tail->used;
	if (stacks->generation != generation) {
		stacks->generation = generation;
		at = allo_varint_put(put_escape(at, ALLO_STACK_GENERATION), stacks->generation);
	}
	at = frame->function ? put_escape(at, ALLO_STACK_FUNCTION) : put_marks(at, frame->found_by);
	if (is_cut)
		at = put_escape(at, ALLO_STACK_CUT);
	ALLO_ASSERT(parent < id && tail->used <= ALLO_SLOT_ROOM);
	at = put_place(allo_varint_put(at, id - parent), frame);
	__atomic_store_n(&tail->used, (uint32_t)(at - start), __ATOMIC_RELEASE);
	stacks->count = id;
	allo_stack_table_add(&stacks->table, frame->hash, id);
	return id;
}

/* Number of outermost frames beyond the depth limit. */
static uint32_t left_out(const struct allo_stack_cache *cache)
{
	uint32_t most = allo_settings.stack_depth;

	return most && cache->count > most ? cache->count - most : 0;
}

static uint64_t root_hash(const struct allo_stack_cache *cache, uint32_t first)
{
	return allo_stack_hash_root(cache->seed, cache->is_cut || first > 0);
}

static uint64_t hash_of(const struct allo_stack_cache *cache, uint32_t first)
{
	uint64_t hash = root_hash(cache, first);

	if (first == 0)
		return cache->rest[cache->count - 1].hash;
	for (uint32_t i = first; i < cache->count; i++)
		hash = allo_stack_hash(hash, cache->frames[i].pc);
	return hash;
}

/* Finds the innermost frame whose stack has an id: returns the index after it, and the id in *id.
 * Stacks cut by the depth limit have no hashes per frame, so for these it returns `first`. */
static uint32_t find_known(const struct allo_stack_cache *cache, uint32_t first, uint32_t *id)
{
	uint32_t at = first > 0 ? first : cache->count;

	*id = 0;
	while (at > first && (*id = allo_stack_find(cache->rest[at - 1].hash)) == 0)
		at--;
	return at;
}

enum allo_rule_kind allo_frame_found_by(const struct allo_stack_cache *cache, uint32_t at)
{
	return at + 1 < cache->count ? allo_rule_kind(cache->rest[at + 1].rule) : ALLO_RULE_SP;
}

static uint32_t add(const struct allo_stack_cache *cache, uint32_t first)
{
	bool is_cut = cache->is_cut || first > 0;
	uint32_t parent, at = find_known(cache, first, &parent);
	uint64_t hash = at > first ? cache->rest[at - 1].hash : root_hash(cache, first);

	for (; at < cache->count; at++) {
		uint64_t pc = cache->frames[at].pc;
		uint32_t id;

		hash = allo_stack_hash(hash, pc);
		id = first > 0 ? allo_stack_find(hash) : 0;
		if (id == 0) {
			struct allo_mixed_frame frame = {
				.hash = hash, .pc = pc, .found_by = allo_frame_found_by(cache, at)
			};

			allo_metadata_note_module(&stacks->metadata, pc);
			id = add_node(parent, &frame, is_cut && at == first);
		}
		if (id == 0)
			return 0;
		parent = id;
	}
	if (is_cut)
		allo_count(&allo_recorder->head->counts.cut_stacks, 1);
	return parent;
}

static void keep_id(struct allo_intern_cache *ids, uint64_t hash, uint32_t id)
{
	uint64_t *cached = allo_intern_cache_bucket(ids, hash);

	if (id == 0 || id > ALLO_CACHED_ID_MAX)
		return;
	cached[1] = cached[0];
	cached[0] = hash >> ALLO_CACHED_ID_BITS << ALLO_CACHED_ID_BITS | id;
}

uint32_t allo_stack_find_again(struct allo_intern_cache *ids, uint64_t hash)
{
	uint32_t id = allo_stack_find(hash);

	keep_id(ids, hash, id);
	return id;
}

uint32_t allo_stack_intern(struct allo_intern_cache *ids, struct allo_stack_cache *cache,
			   bool is_nested)
{
	uint32_t first = left_out(cache), id;
	uint64_t hash = hash_of(cache, first);

	id = allo_intern_cache_find(ids, hash);
	if (id == 0)
		id = allo_stack_find(hash);
	if (id == 0 && allo_stacks_lock(is_nested)) {
		id = add(cache, first);
		allo_stacks_unlock();
	}
	keep_id(ids, hash, id);
	return id;
}

/* Stacks with frames of an interpreter. */

static uint64_t hash_mixed(uint64_t hash, const struct allo_mixed_frame *frame)
{
	return frame->function
		       ? allo_stack_hash(~hash, (uint64_t)frame->function << 32 | frame->line)
		       : allo_stack_hash(hash, frame->pc);
}

static uint32_t add_mixed(const struct allo_mixed_frame *frames, uint32_t count, bool is_cut)
{
	uint32_t at = count, parent = 0;

	while (at > 0 && (parent = allo_stack_find(frames[at - 1].hash)) == 0)
		at--;
	for (; at < count; at++) {
		if (!frames[at].function)
			allo_metadata_note_module(&stacks->metadata, frames[at].pc);
		parent = add_node(parent, &frames[at], is_cut && at == 0);
		if (parent == 0)
			return 0;
	}
	if (is_cut)
		allo_count(&allo_recorder->head->counts.cut_stacks, 1);
	return parent;
}

/* The key becomes a second hash of the stack. */
static void add_key(uint64_t key, uint32_t id)
{
	if (id != 0 && allo_stack_find(key) == 0 && allo_stack_table_make_room(&stacks->table))
		allo_stack_table_add(&stacks->table, key, id);
}

uint32_t allo_stack_intern_mixed(struct allo_intern_cache *ids, uint64_t key,
				 struct allo_mixed_frame *frames, uint32_t count, uint32_t hashed,
				 uint64_t seed, bool is_cut)
{
	uint64_t hash = hashed > 0 ? frames[hashed - 1].hash : allo_stack_hash_root(seed, is_cut);
	uint32_t id = allo_stack_find(key);

	for (uint32_t i = hashed; i < count; i++)
		hash = frames[i].hash = hash_mixed(hash, &frames[i]);
	if (id == 0 && count > 0 && allo_stacks_lock(false)) {
		id = add_mixed(frames, count, is_cut);
		add_key(key, id);
		allo_stacks_unlock();
	}
	keep_id(ids, key, id);
	return id;
}

void allo_stacks_modules_gone(bool is_nested)
{
	if (!stacks || !allo_stacks_lock(is_nested))
		return;
	allo_metadata_check_modules(&stacks->metadata);
	allo_stacks_unlock();
}

struct allo_wire_slot *allo_stacks_metadata(void)
{
	return stacks->metadata.tail;
}

void allo_stacks_tails(struct allo_wire_slot *tails[2])
{
	tails[0] = stacks ? stacks->nodes : NULL;
	tails[1] = stacks ? stacks->metadata.tail : NULL;
}
