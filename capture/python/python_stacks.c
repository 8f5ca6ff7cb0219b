/* python_stacks.c - merges the Python frames of a thread with its native ones. */
#include "base/assert.h"
#include "capture/python/python.h"
#include "capture/python/python_frames.h"
#include "capture/settings.h"
#include "capture/thread.h"

#include <string.h>

/* The interpreter's function that executes Python frames keeps its entry among its variables.  So
 * the entry's address tells which native frame it is: the one whose part of the stack has it.  This
 * needs no symbols, and is right for any way of compiling the interpreter. */

/* Frames that one call of the interpreter's function executes form a group.  Merging goes from the
 * innermost frame outwards.  This is its progress, and determines the rest of the merge. */
struct position {
	uint32_t natives; /* outermost native frames that are left */
	uint32_t left;    /* outermost Python frames that are left */
	uint64_t c_frame; /* of the next group, before 3.12 */
	bool is_inside;   /* of a group: the native frames that it called are merged */
};

struct merge {
	const struct allo_python_thread *python;
	const struct allo_stack_cache *cache;
	struct position at;
};

enum next_frame { NONE, NATIVE, PYTHON };

static bool has_entry_frames(void)
{
	return allo_python.layout->shape == ALLO_PYTHON_ENTRY_FRAMES;
}

/* The address of the entry of the group that frame `left` - 1 is in; 0: unknown.  From 3.12 on, the
 * entry is a frame of its own, behind those that it executes.  Before, it is a C structure. */
static uint64_t entry_of(const struct merge *merge)
{
	uint32_t first;

	if (!has_entry_frames())
		return merge->at.c_frame;
	first = merge->python->groups[merge->at.left - 1];
	return first > 0 ? merge->python->frames[first - 1].address : 0;
}

/* Whether the frame is the outermost one of its group: before 3.12, it has a flag. */
static bool ends_group(const struct allo_python_frame *frame)
{
	const struct allo_python_layout *layout = allo_python.layout;

	return layout->shape == ALLO_PYTHON_FRAME_OBJECTS ||
	       *(const uint8_t *)(frame->address + layout->is_entry) != 0;
}

/* Leaves the innermost Python frame that is left. */
static void leave_python(struct merge *merge)
{
	const struct allo_python_thread *python = merge->python;
	struct position *at = &merge->at;

	at->left--;
	if (has_entry_frames()) {
		at->is_inside = at->left > 0 && !allo_python_is_entry(python->sites[at->left - 1]);
		return;
	}
	at->is_inside = at->left > 0 && !ends_group(&python->frames[at->left]);
	if (!at->is_inside && at->c_frame)
		at->c_frame = allo_python_word(at->c_frame + allo_python.layout->previous_c_frame);
}

/* Whether the innermost native frame that is left comes before the next group: its frames have
 * called it.  Otherwise the position moves into the group, and drops the native frame that executes
 * it.  Without such a frame, the group takes the place of none. */
static bool has_called_native(struct merge *merge)
{
	const struct allo_cached_frame *frames = merge->cache->frames;
	struct position *at = &merge->at;
	uint64_t entry = entry_of(merge);

	if (entry && at->natives > 0 && entry >= frames[at->natives - 1].sp) {
		if (at->natives > 1 && entry >= frames[at->natives - 2].sp)
			return true;
		at->natives--;
	}
	at->is_inside = true;
	return false;
}

/* Goes to the next frame of the merged stack. */
static enum next_frame next_frame(struct merge *merge)
{
	const struct allo_python_thread *python = merge->python;
	struct position *at = &merge->at;

	while (at->left > 0) {
		if (allo_python_is_entry(python->sites[at->left - 1]))
			at->left--; /* the entry of a group that is merged, or has no frames */
		else if (!at->is_inside && has_called_native(merge))
			return NATIVE;
		else if (python->sites[at->left - 1].function)
			return PYTHON;
		else
			leave_python(merge);
	}
	return at->natives > 0 ? NATIVE : NONE;
}

static struct allo_mixed_frame take(struct merge *merge, enum next_frame next)
{
	if (next == NATIVE) {
		uint32_t i = --merge->at.natives;

		return (struct allo_mixed_frame){ .pc = merge->cache->frames[i].pc,
						  .found_by = allo_frame_found_by(merge->cache,
										  i) };
	} else {
		struct allo_python_site site = merge->python->sites[merge->at.left - 1];

		leave_python(merge);
		return (struct allo_mixed_frame){ .function = site.function, .line = site.line };
	}
}

/* A recursion would merge all of its frames again at each level.  So the last merged stack is kept,
 * with the position at which each of its frames was next.  Where the new stack has the same frames
 * left, its outer part is the same. */

static struct allo_python_mark mark_of(const struct merge *merge)
{
	const struct position *at = &merge->at;
	const struct allo_stack_cache *cache = merge->cache;
	uint64_t hash = allo_stack_hash_root(cache->seed, cache->is_cut);

	if (at->natives > 0)
		hash = allo_stack_hash(cache->rest[at->natives - 1].hash,
				       cache->frames[at->natives - 1].sp);
	if (at->left > 0)
		hash = allo_stack_hash(hash ^ merge->python->hashes[at->left - 1],
				       merge->python->frames[at->left - 1].address);
	return (struct allo_python_mark){ .hash = allo_stack_hash(hash, at->c_frame),
					  .natives = at->natives,
					  .left = at->left,
					  .is_inside = at->is_inside };
}

/* Whether the kept stack has a frame with this mark, which is then its innermost one.  Drops those
 * that no later position can have: the numbers of frames that are left only fall. */
static bool find_kept(struct allo_python_thread *python, const struct allo_python_mark *mark,
		      enum allo_rule_kind found_by)
{
	for (; python->mixed_count > 0; python->mixed_count--) {
		const struct allo_python_mark *kept = &python->marks[python->mixed_count - 1];

		if (kept->left < mark->left ||
		    (kept->left == mark->left && kept->natives < mark->natives))
			return false;
		if (kept->hash == mark->hash && kept->left == mark->left &&
		    kept->natives == mark->natives && kept->is_inside == mark->is_inside &&
		    python->mixed[python->mixed_count - 1].found_by == found_by)
			return true;
	}
	return false;
}

static bool make_room(struct allo_python_thread *python, size_t count)
{
	size_t from = python->mixed_capacity, to = from ? from : 512;

	while (to < count)
		to *= 2;
	if (to == from)
		return true;
	if (!allo_python_array_grow(&python->mixed, sizeof(*python->mixed), from, to) ||
	    !allo_python_array_grow(&python->marks, sizeof(*python->marks), from, to))
		return false;
	python->mixed_capacity = to;
	return true;
}

static uint64_t first_c_frame(uint64_t state)
{
	return has_entry_frames() ? 0 : allo_python_word(state + allo_python.layout->c_frame);
}

/* Merges the stacks.  Returns the number of outermost frames that are kept from the last time.  The
 * new frames are written from the end of the arrays, the innermost one first, and then moved. */
static uint32_t merge_frames(struct allo_python_thread *python,
			     const struct allo_stack_cache *cache, uint64_t state)
{
	struct merge merge = { python,
			       cache,
			       { cache->count, python->count, first_c_frame(state), false } };
	size_t end = python->mixed_capacity, at = end;
	enum next_frame next;
	uint32_t kept = 0;

	while ((next = next_frame(&merge)) != NONE) {
		struct allo_python_mark mark = mark_of(&merge);
		enum allo_rule_kind found_by = next == NATIVE ? allo_frame_found_by(
									cache, merge.at.natives - 1)
							      : ALLO_RULE_EMPTY;

		if (find_kept(python, &mark, found_by)) {
			kept = python->mixed_count;
			break;
		}
		python->marks[--at] = mark;
		python->mixed[at] = take(&merge, next);
	}
	memmove(python->mixed + kept, python->mixed + at, (end - at) * sizeof(*python->mixed));
	memmove(python->marks + kept, python->marks + at, (end - at) * sizeof(*python->marks));
	python->mixed_count = kept + (uint32_t)(end - at);
	return kept;
}

static uint32_t intern_merged(struct allo_thread_state *thread, uint64_t state, uint64_t key)
{
	struct allo_python_thread *python = thread->python;
	const struct allo_stack_cache *cache = &thread->cache;
	uint32_t kept, count, id, most = allo_settings.stack_depth;

	if (!make_room(python, (size_t)python->mixed_count + cache->count + python->count))
		return 0;
	kept = merge_frames(python, cache, state);
	count = python->mixed_count;
	if (most == 0 || count <= most)
		return allo_stack_intern_mixed(&python->ids, key, python->mixed, count, kept,
					       cache->seed, cache->is_cut);
	/* The hashes begin elsewhere, so the stack cannot be kept. */
	id = allo_stack_intern_mixed(&python->ids, key, python->mixed + (count - most), most, 0,
				     cache->seed, true);
	python->mixed_count = 0;
	return id;
}

uint32_t allo_python_merge(struct allo_thread_state *thread, uint32_t native, uint64_t state,
			   uint64_t key, const struct allo_registers *caller)
{
	struct allo_suffix *suffix = allo_suffix_slot(&thread->suffixes, caller->pc, caller->sp);
	uint32_t id = allo_stack_find_again(&thread->python->ids, key);

	if (id == 0) {
		/* The stack cache may lag behind the suffix cache. */
		if (allo_thread_unwind(thread, caller, suffix) != native)
			return native;
		id = intern_merged(thread, state, key);
		allo_stack_cache_note(&thread->cache);
		allo_python_note(thread->python);
	}
	return id ? id : native;
}
