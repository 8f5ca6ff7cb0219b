/* python_stacks.c - merges the Python frames of a thread with its native ones. */
#include "base/assert.h"
#include "capture/python/python.h"
#include "capture/python/python_frames.h"
#include "capture/python/python_objects.h"
#include "capture/settings.h"
#include "capture/system.h"
#include "capture/thread.h"

/* The interpreter's function that executes Python frames keeps its entry among its variables.  So
 * the entry's address tells which native frame it is: the one whose part of the stack has it.  This
 * needs no symbols, and is right for any way of compiling the interpreter. */

/* Frames that one call of the interpreter's function executes: [first, end). */
struct group {
	uint32_t first, end;
	uint64_t entry; /* its address; 0: unknown */
};

/* Goes through the groups from the innermost one. */
struct groups {
	const struct allo_python_thread *python;
	uint32_t left;    /* frames */
	uint64_t c_frame; /* of the next group, before 3.12 */
};

static bool is_entry(const struct allo_python_frame *frame)
{
	const struct allo_python_layout *layout = allo_python.layout;

	return layout->shape == ALLO_PYTHON_FRAME_OBJECTS ||
	       *(const uint8_t *)(frame->address + layout->is_entry) != 0;
}

/* From 3.12 on, the entry is a frame of its own, behind those that it executes. */
static struct group next_by_entry_frame(struct groups *groups)
{
	const struct allo_python_thread *python = groups->python;
	struct group group = { groups->left, groups->left, 0 };

	while (group.first > 0 && !python->sites[group.first - 1].is_entry)
		group.first--;
	if (group.first > 0)
		group.entry = python->frames[group.first - 1].address;
	groups->left = group.first > 0 ? group.first - 1 : 0;
	return group;
}

/* Before, it is a C structure, and the outermost frame of a group has a flag. */
static struct group next_by_c_frame(struct groups *groups)
{
	struct group group = { groups->left, groups->left, groups->c_frame };

	do
		group.first--;
	while (group.first > 0 && !is_entry(&groups->python->frames[group.first]));
	if (groups->c_frame)
		groups->c_frame = allo_python_word(groups->c_frame +
						   allo_python.layout->previous_c_frame);
	groups->left = group.first;
	return group;
}

static struct group next_group(struct groups *groups)
{
	return allo_python.layout->shape == ALLO_PYTHON_ENTRY_FRAMES ? next_by_entry_frame(groups)
								     : next_by_c_frame(groups);
}

/* The merged stack is written from the end of the array, the innermost frame first. */
struct merge {
	struct allo_mixed_frame *at;
	const struct allo_stack_cache *cache;
	uint32_t natives; /* outermost native frames that are left */
};

static void put_native(struct merge *merge)
{
	uint32_t i = --merge->natives;

	*--merge->at = (struct allo_mixed_frame){
		.pc = merge->cache->frames[i].pc, .found_by = allo_frame_found_by(merge->cache, i)
	};
}

/* Puts the native frames that the group's frames have called, and drops the one that executes them.
 * Without a native frame for the group, its frames take the place of none. */
static void put_natives_of(struct merge *merge, const struct group *group)
{
	const struct allo_cached_frame *frames = merge->cache->frames;

	if (!group->entry || merge->natives == 0 || group->entry < frames[merge->natives - 1].sp)
		return;
	while (merge->natives > 1 && group->entry >= frames[merge->natives - 2].sp)
		put_native(merge);
	merge->natives--;
}

static void put_group(struct merge *merge, const struct allo_python_thread *python,
		      const struct group *group)
{
	if (group->first == group->end)
		return; /* an entry that executes nothing yet, or the outermost one of 3.15 */
	put_natives_of(merge, group);
	for (uint32_t i = group->end; i-- > group->first;) {
		const struct allo_python_site *site = &python->sites[i];

		if (site->function)
			*--merge->at = (struct allo_mixed_frame){ .function = site->function,
								  .line = site->line };
	}
}

static bool make_room(struct allo_python_thread *python, size_t count)
{
	size_t size = sizeof(*python->mixed),
	       to = python->mixed_capacity ? python->mixed_capacity : 512;

	while (to < count)
		to *= 2;
	if (to == python->mixed_capacity)
		return true;
	if (python->mixed)
		allo_unmap(python->mixed, python->mixed_capacity * size);
	python->mixed = allo_map_private(to * size);
	python->mixed_capacity = python->mixed ? to : 0;
	return python->mixed != NULL;
}

static uint64_t first_c_frame(uint64_t state)
{
	const struct allo_python_layout *layout = allo_python.layout;

	return layout->shape != ALLO_PYTHON_ENTRY_FRAMES ? allo_python_word(state + layout->c_frame)
							 : 0;
}

static uint32_t intern_merged(struct allo_thread_state *thread, uint64_t state, uint64_t key)
{
	struct allo_python_thread *python = thread->python;
	const struct allo_stack_cache *cache = &thread->cache;
	struct groups groups = { python, python->count, first_c_frame(state) };
	struct allo_mixed_frame *end;
	struct merge merge;
	uint32_t count, most = allo_settings.stack_depth;

	if (!make_room(python, (size_t)cache->count + python->count))
		return 0;
	end = python->mixed + python->mixed_capacity;
	merge = (struct merge){ end, cache, cache->count };
	while (groups.left > 0) {
		struct group group = next_group(&groups);

		put_group(&merge, python, &group);
	}
	while (merge.natives > 0)
		put_native(&merge);
	count = (uint32_t)(end - merge.at);
	if (most == 0 || count < most)
		most = count;
	return allo_stack_intern_mixed(&python->ids, key, end - most, most, cache->seed,
				       cache->is_cut || most < count);
}

/* Stacks with frames of Python whose ids are not cached. */
static __attribute__((noinline)) uint32_t merge_slowly(struct allo_thread_state *thread,
						       uint32_t native, uint64_t state,
						       uint64_t key,
						       const struct allo_registers *caller)
{
	struct allo_suffix *suffix = allo_suffix_slot(&thread->suffixes, caller->pc, caller->sp);
	uint32_t id = allo_stack_find_again(&thread->python->ids, key);

	if (id == 0) {
		/* The stack cache may lag behind the suffix cache. */
		if (allo_thread_unwind(thread, caller, suffix) != native)
			return native;
		id = intern_merged(thread, state, key);
	}
	return id ? id : native;
}

/*
 * Options of the interpreter replace its allocators when it starts, and with them our hooks.  It
 * allocates some blocks by malloc() between that and the first object, so each such call is an
 * opportunity to put the hooks back, until a function of Python runs.  A program may contain an
 * interpreter that it never starts: it is spared this after some calls.
 */
enum { LOOKS = 1 << 16 };

static uint32_t looks;

static inline void look_at_start(void)
{
	if (__builtin_expect(__atomic_load_n(&looks, __ATOMIC_RELAXED) < LOOKS, 0)) {
		__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
		allo_python_objects_hook();
	}
}

static __attribute__((noinline)) struct allo_python_thread *begin(struct allo_thread_state *thread)
{
	static bool was_looked_at;

	if (!__atomic_exchange_n(&was_looked_at, true, __ATOMIC_RELAXED)) {
		__atomic_store_n(&looks, LOOKS, __ATOMIC_RELAXED);
		allo_python_objects_hook();
	}
	thread->python = allo_map_private(sizeof(*thread->python));
	return thread->python;
}

static inline uint64_t find_state(void)
{
	uint64_t state = (uint64_t)allo_python.current();

	return __builtin_expect(state != 0, 1) ? state : (uint64_t)allo_python.bound();
}

static inline uint64_t find_top(uint64_t state)
{
	const struct allo_python_layout *layout = allo_python.layout;
	uint64_t top = state ? allo_python_word(state + layout->top) : 0;

	/* Of 3.11 and 3.12, the frame is a C frame, which has the top one. */
	return top && layout->c_frame == layout->top
		       ? allo_python_word(top + layout->top_in_c_frame)
		       : top;
}

uint32_t allo_python_stack(struct allo_thread_state *thread, uint32_t native,
			   const struct allo_registers *caller)
{
	struct allo_python_thread *python = thread->python;
	uint64_t state, top, key;
	uint32_t id;

	/* A signal handler may have interrupted the interpreter between two stores. */
	if (native == 0 || thread->is_nested ||
	    __builtin_expect(__atomic_load_n(allo_python.finalizing, __ATOMIC_RELAXED) != 0, 0))
		return native;
	state = find_state();
	top = find_top(state);
	if (!top) {
		look_at_start();
		return native;
	}
	if ((__builtin_expect(!python, 0) && !(python = begin(thread))) ||
	    !allo_python_capture(python, top))
		return native;
	key = allo_stack_hash(python->hashes[python->count - 1], native);
	key += key == 0;
	id = allo_intern_cache_find(&python->ids, key);
	return __builtin_expect(id != 0, 1) ? id : merge_slowly(thread, native, state, key, caller);
}
