/*
 * stacks.c - the trie of stacks of a profile.
 *
 * A stack's hash is made of its caller's hash and its frame, not of ids.  So the hashes of a whole
 * list of frames are known before the first lookup, and the slots of all of them can be prefetched
 * together.  In a large profile the cache misses of these lookups dominate the time.
 */
#include "base/assert.h"
#include "profile/profile.h"

enum { TOGETHER = 32 }; /* frames per group of lookups */

/* For a given frame this is a bijection of the caller's hash.  Otherwise the hashes of a recursive
 * function would soon repeat, and a deep recursion would search long chains of equal hashes. */
static uint32_t hash_of(uint64_t seed, uint32_t caller_hash, allo_frame_id frame)
{
	uint64_t factor = (seed ^ 0x9e3779b97f4a7c15) | 1;
	uint32_t mixed = (caller_hash ^ (uint32_t)(frame * factor >> 32)) * 0x9e3779b1u;

	return mixed ^ mixed >> 15;
}

/* The map uses the upper half of a hash. */
static uint64_t map_hash(uint32_t hash)
{
	return (uint64_t)hash << 32;
}

static bool is_stack(const struct allo_profile *profile, allo_stack_id id, allo_stack_id parent,
		     allo_frame_id frame)
{
	return profile->stacks.at[id].parent == parent && profile->stacks.at[id].frame == frame;
}

static allo_stack_id find(const struct allo_profile *profile, uint32_t hash, allo_stack_id parent,
			  allo_frame_id frame)
{
	struct allo_probe probe = allo_map_probe(&profile->stack_map, map_hash(hash));
	allo_stack_id id;

	while ((id = allo_map_next(&profile->stack_map, &probe)) != 0) {
		if (is_stack(profile, id, parent, frame))
			break;
	}
	return id;
}

allo_stack_id allo_profile_append_stacks(struct allo_profile *profile, allo_stack_id parent,
					 const allo_frame_id *frames, size_t count,
					 struct allo_error *err)
{
	if (profile->stacks.len + count >= UINT32_MAX ||
	    !allo_vec_reserve(&profile->stacks, count + 1)) {
		allo_fail_memory(err);
		return 0;
	}
	if (profile->stacks.len == 0) /* the empty stack */
		profile->stacks.at[profile->stacks.len++] = (struct allo_stack){ 0 };
	ALLO_ASSERT(parent < profile->stacks.len); /* so a caller's id is less than the stack's */
	for (size_t i = 0; i < count; i++) {
		profile->stacks.at[profile->stacks.len] = (struct allo_stack){ parent, frames[i] };
		parent = (allo_stack_id)profile->stacks.len++;
	}
	return parent;
}

/* The same, and stores the id of each. */
static bool append_unknown(struct allo_profile *profile, allo_stack_id parent,
			   const allo_frame_id *frames, size_t count, allo_stack_id *stacks,
			   struct allo_error *err)
{
	allo_stack_id last = allo_profile_append_stacks(profile, parent, frames, count, err);

	for (size_t i = 0; i < count; i++)
		stacks[count - 1 - i] = last ? last - (allo_stack_id)i : 0;
	return count == 0 || last != 0;
}

/* Adds a new stack; 0 on failure. */
static allo_stack_id append(struct allo_profile *profile, uint32_t hash, allo_stack_id parent,
			    allo_frame_id frame, struct allo_error *err)
{
	allo_stack_id id;

	if (!allo_vec_reserve(&profile->stack_hashes, 2)) {
		allo_fail_memory(err);
		return 0;
	}
	id = allo_profile_append_stacks(profile, parent, &frame, 1, err);
	if (id == 0)
		return 0;
	if (!allo_map_put(&profile->stack_map, map_hash(hash), id)) {
		profile->stacks.len--;
		allo_fail_memory(err);
		return 0;
	}
	ALLO_ASSERT(id == profile->stack_hashes.len || (id == 1 && profile->stack_hashes.len == 0));
	profile->stack_hashes.at[0] = 0;
	profile->stack_hashes.at[id] = hash;
	profile->stack_hashes.len = profile->stacks.len;
	return id;
}

static uint32_t hash_of_stack(const struct allo_profile *profile, allo_stack_id stack)
{
	return stack ? profile->stack_hashes.at[stack] : 0;
}

/* Adds the stacks to the map that allo_profile_append_stacks() appended. */
static bool index_stacks(struct allo_profile *profile, struct allo_error *err)
{
	uint64_t seed = allo_profile_seed(profile);

	if (!allo_vec_extend(&profile->stack_hashes, 1, err))
		return false;
	while (profile->stack_hashes.len < profile->stacks.len) {
		size_t id = profile->stack_hashes.len;
		struct allo_stack stack = profile->stacks.at[id];
		uint32_t hash = hash_of(seed, profile->stack_hashes.at[stack.parent], stack.frame);

		ALLO_ASSERT(stack.parent < id);
		if (!allo_map_add(&profile->stack_map, map_hash(hash), (allo_stack_id)id, err) ||
		    !allo_vec_add(&profile->stack_hashes, hash, err))
			return false;
	}
	return true;
}

static inline bool is_indexed(const struct allo_profile *profile)
{
	return profile->stack_hashes.len == profile->stacks.len;
}

allo_stack_id allo_profile_add_stack(struct allo_profile *profile, allo_stack_id parent,
				     allo_frame_id frame, struct allo_error *err)
{
	uint32_t hash;
	allo_stack_id id;

	if (profile->is_portion)
		return allo_profile_append_stacks(profile, parent, &frame, 1, err);
	if (!is_indexed(profile) && !index_stacks(profile, err))
		return 0;
	hash = hash_of(allo_profile_seed(profile), hash_of_stack(profile, parent), frame);
	id = find(profile, hash, parent, frame);
	return id ? id : append(profile, hash, parent, frame, err);
}

/* The first candidate for a hash in the map, without a comparison. */
static allo_stack_id guess(const struct allo_profile *profile, uint32_t hash)
{
	struct allo_probe probe = allo_map_probe(&profile->stack_map, map_hash(hash));

	return allo_map_next(&profile->stack_map, &probe);
}

static bool add_together(struct allo_profile *profile, allo_stack_id parent,
			 const allo_frame_id *frames, size_t count, allo_stack_id *stacks,
			 struct allo_error *err)
{
	uint32_t hashes[TOGETHER], hash = hash_of_stack(profile, parent);
	uint64_t seed = allo_profile_seed(profile);
	size_t i;

	for (i = 0; i < count; i++) {
		hashes[i] = hash = hash_of(seed, hash, frames[i]);
		if (profile->stack_map.slots)
			__builtin_prefetch(
				&profile->stack_map.slots[hash & profile->stack_map.mask]);
	}
	for (i = 0; i < count; i++) {
		stacks[i] = guess(profile, hashes[i]);
		if (stacks[i] != 0)
			__builtin_prefetch(&profile->stacks.at[stacks[i]]);
	}
	for (i = 0; i < count; i++) {
		if (stacks[i] == 0)
			break; /* then its callees are new as well */
		if (!is_stack(profile, stacks[i], parent, frames[i]))
			stacks[i] = find(profile, hashes[i], parent, frames[i]);
		if (stacks[i] == 0)
			break;
		parent = stacks[i];
	}
	for (; i < count; i++) {
		stacks[i] = parent = append(profile, hashes[i], parent, frames[i], err);
		if (parent == 0)
			return false;
	}
	return true;
}

/* Leaves no id undefined. */
static bool fail_stacks(allo_stack_id *stacks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		stacks[i] = 0;
	return false;
}

bool allo_profile_add_stacks(struct allo_profile *profile, allo_stack_id parent,
			     const allo_frame_id *frames, size_t count, allo_stack_id *stacks,
			     struct allo_error *err)
{
	if (profile->is_portion)
		return append_unknown(profile, parent, frames, count, stacks, err);
	if (!is_indexed(profile) && !index_stacks(profile, err))
		return fail_stacks(stacks, count);
	for (size_t done = 0; done < count;) {
		size_t some = count - done < TOGETHER ? count - done : TOGETHER;

		if (!add_together(profile, parent, frames + done, some, stacks + done, err))
			return fail_stacks(stacks, count);
		done += some;
		parent = stacks[done - 1];
	}
	return true;
}
