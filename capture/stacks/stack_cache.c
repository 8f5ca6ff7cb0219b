/* stack_cache.c - capturing a stack: unwind until a known frame is found, verify, and reuse the
 * rest. */
#include "capture/stacks/stack_cache.h"
#include "base/assert.h"
#include "capture/system.h"
#include "capture/time/clock.h"

enum {
	FIRST_CAPACITY = 256,
#if defined(__x86_64__)
	/* A call takes a cycle at least, and so does a return.  Processors have up to four cycles
	 * per tick. */
	CALLS_PER_TICK = 2,
#endif
};

/* Never 1.  A check for 1 at this address always fails: for steps that cannot be verified. */
static const uint64_t never_one;

static bool grow_array(void *array, size_t item, size_t from, size_t to)
{
	void **memory = array;
	void *larger = *memory ? allo_remap(*memory, from * item, to * item)
			       : allo_map_private(to * item);

	if (larger)
		*memory = larger;
	return larger != NULL;
}

/* Separate arrays, so that the pages of rarely used ones are never touched. */
static bool grow(struct allo_stack_cache *cache, size_t capacity)
{
	size_t from = cache->capacity;

	/* If one array cannot grow, others are larger than `capacity`, which is harmless. */
	if (capacity > ALLO_STACK_MAX ||
	    !grow_array(&cache->frames, sizeof(*cache->frames), from, capacity) ||
	    !grow_array(&cache->rest, sizeof(*cache->rest), from, capacity) ||
	    !grow_array(&cache->needs_fp, sizeof(*cache->needs_fp), from, capacity) ||
	    !grow_array(&cache->fps, sizeof(*cache->fps), from, capacity) ||
	    !grow_array(&cache->checks, sizeof(*cache->checks), from, capacity) ||
	    !grow_array(&cache->fresh, sizeof(*cache->fresh), from, capacity))
		return false;
	cache->capacity = capacity;
	return true;
}

bool allo_stack_cache_init(struct allo_stack_cache *cache, bool has_counter)
{
	cache->has_counter = has_counter;
	return grow(cache, FIRST_CAPACITY);
}

void allo_stack_cache_clear(struct allo_stack_cache *cache, uint64_t seed)
{
	cache->count = cache->check_count = 0;
	cache->seed = seed;
}

uint32_t allo_stack_cache_changed_checks(const struct allo_stack_cache *cache, uint32_t joint,
					 uint32_t from)
{
	uint32_t changed = allo_stack_cache_changed_plain(cache, joint, from);

	for (uint32_t i = cache->check_count; i > 0; i--) {
		const struct allo_frame_check *check = &cache->checks[i - 1];

		if (check->frame < changed || check->frame < from)
			break;
		if (check->frame < joint && allo_word_at(check->address) != check->value)
			return check->frame + 1;
	}
	return changed;
}

/* The number of frames that the program can have pushed within this time, or more. */
static uint64_t pushed_within(uint64_t ticks)
{
#if defined(__x86_64__)
	uint64_t calls = CALLS_PER_TICK;
#else
	uint64_t frequency, calls;

	/* The counter is slower than the processor: 8 calls per nanosecond are more than it can
	 * execute. */
	__asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
	calls = 8000000000 / (frequency | 1) + 1;
#endif
	/* The current tick has begun, too. */
	return ticks < UINT32_MAX ? (ticks + 1) * calls : UINT32_MAX;
}

/* A change of the clock back in time looks like a long time. */
uint32_t allo_stack_first_doubtful(uint32_t joint, uint32_t valid_count, uint64_t valid_at)
{
	uint64_t pushed = pushed_within(allo_counter() - valid_at) + ALLO_STACK_SHORT;
	uint32_t from = pushed < joint ? joint - (uint32_t)pushed : 0;

	return from < valid_count ? from : valid_count;
}

static void note_valid(struct allo_stack_cache *cache, uint32_t count)
{
	if (count <= ALLO_STACK_SHORT || !cache->has_counter)
		return;
	cache->valid_count = count;
	cache->valid_at = allo_counter();
}

void allo_stack_cache_note_deep(struct allo_stack_cache *cache)
{
	note_valid(cache, cache->count);
}

uint32_t allo_stack_cache_changed_deep(struct allo_stack_cache *cache, uint32_t joint)
{
	uint32_t from = 0, changed;
	uint64_t begun = allo_counter();

	if (cache->has_counter)
		from = allo_stack_first_doubtful(joint, cache->valid_count, cache->valid_at);
	ALLO_ASSERT(from <= joint && joint < cache->count);
	changed = cache->check_count == 0 ? allo_stack_cache_changed_plain(cache, joint, from)
					  : allo_stack_cache_changed_checks(cache, joint, from);
	if (changed == 0)
		note_valid(cache, joint + 1);
	cache->spent += allo_counter() - begun;
	return changed;
}

/* Keeps the outermost `count` frames.  The check of the innermost kept frame depended on the frame
 * it called, so it is dropped too. */
static void cut_to(struct allo_stack_cache *cache, uint32_t count)
{
	ALLO_ASSERT(count <= cache->count);
	cache->count = count;
	while (cache->check_count > 0 && cache->checks[cache->check_count - 1].frame + 1 >= count)
		cache->check_count--;
}

static void add_check(struct allo_stack_cache *cache, uint32_t frame, uint64_t address,
		      uint64_t value)
{
	ALLO_ASSERT(cache->check_count < cache->capacity && frame < cache->capacity);
	cache->checks[cache->check_count++] = (struct allo_frame_check){ address, value, frame };
}

/* Adds the check for the step from a frame to `outer`, if the step depends on the frame pointer.
 * Returns true if the frame pointer in the inner frame matters. */
static bool depend(struct allo_stack_cache *cache, uint32_t rule, uint32_t outer)
{
	enum allo_rule_kind kind = allo_rule_kind(rule);
	int64_t saved = allo_rule_fp(rule);
	bool outer_needs_fp = cache->needs_fp[outer];

	if (kind == ALLO_RULE_DRAP || kind == ALLO_RULE_SIGNAL || kind == ALLO_RULE_NONE) {
		add_check(cache, outer, (uint64_t)&never_one, 1);
	} else if (outer_needs_fp && saved) {
		add_check(cache, outer, cache->frames[outer].sp + (uint64_t)saved,
			  cache->fps[outer]);
	} else {
		return kind != ALLO_RULE_SP || outer_needs_fp;
	}
	return kind != ALLO_RULE_SP;
}

/* The same for the outermost frame. */
static bool depends_at_root(uint32_t rule)
{
	return allo_rule_kind(rule) != ALLO_RULE_SP && allo_rule_kind(rule) != ALLO_RULE_END;
}

#if !defined(__x86_64__)
/* Address of a frame's return address, from the stack pointer of its caller. */
static uint64_t slot_below(uint64_t cfa, uint32_t rule)
{
	/* A guessed frame ends with its frame pointer and return address. */
	return allo_ra_slot(cfa, allo_rule_kind(rule) == ALLO_RULE_NONE ? -16 : allo_rule_fp(rule));
}
#endif

/* Appends the new frames to the kept ones, the outermost first. */
static void push(struct allo_stack_cache *cache, const struct allo_new_frame *last)
{
	/* Local copies: the compiler cannot know that storing a frame does not change them. */
	const struct allo_new_frame *first = cache->fresh;
	uint32_t count = cache->count;
	struct allo_cached_frame *frame = cache->frames + count;
	struct allo_cached_frame_rest *rest = cache->rest + count;
	bool *mark = cache->needs_fp + count;
	uint64_t hash = count ? rest[-1].hash : allo_stack_hash_root(cache->seed, cache->is_cut);
	bool needs_fp = count && mark[-1];

	cache->count = count + (uint32_t)(last - first);
	ALLO_ASSERT(last >= first && cache->count <= cache->capacity);
	while (last-- > first) {
		uint32_t rule = last->rule;

		hash = allo_stack_hash(hash, last->registers.pc);
		frame->sp = last->registers.sp;
		frame->pc = last->registers.pc;
#if !defined(__x86_64__)
		if (frame > cache->frames)
			frame[-1].slot = slot_below(frame[-1].sp, rule);
#endif
		*rest++ = (struct allo_cached_frame_rest){ hash, rule, 0 };
		*mark = false;
		if (__builtin_expect(needs_fp || allo_rule_kind(rule) != ALLO_RULE_SP, 0)) {
			uint32_t at = (uint32_t)(frame - cache->frames);

			needs_fp = at ? depend(cache, rule, at - 1) : depends_at_root(rule);
			cache->fps[at] = last->registers.fp;
			*mark = needs_fp;
		}
		frame++;
		mark++;
	}
}

/* The state of a capture.  Functions that are not inlined get the address of a copy, so that all of
 * it stays in registers. */
struct walk {
	struct allo_registers r;
	const struct allo_cached_frame
		*known;               /* behind the frames that may still be found unchanged */
	struct allo_new_frame *fresh; /* end of the frames found so far */
};

static __attribute__((noinline)) bool grow_for(struct allo_stack_cache *cache, struct walk *walk)
{
	size_t known = (size_t)(walk->known - cache->frames);
	size_t fresh = (size_t)(walk->fresh - cache->fresh);
	bool ok = grow(cache, 2 * cache->capacity);

	walk->known = cache->frames + known;
	walk->fresh = cache->fresh + fresh;
	return ok;
}

/* Makes room for `count` frames, which is at most twice the capacity. */
static inline bool has_room(struct allo_stack_cache *cache, struct walk *walk, size_t count)
{
	if (__builtin_expect(count > cache->capacity, 0)) {
		struct walk copy = *walk;
		bool ok = grow_for(cache, &copy);

		*walk = copy;
		return ok;
	}
	return true;
}

/* The frames from `joint` out to the innermost changed one are valid relative to each other, so
 * they are copied.  The walk continues at the frame whose caller has changed. */
static void reuse(const struct allo_stack_cache *cache, struct walk *walk, uint32_t joint,
		  uint32_t changed)
{
	ALLO_ASSERT(changed <= joint && joint < cache->count);
	for (uint32_t i = joint; i > changed; i--) {
		int64_t fp = allo_rule_fp(cache->rest[i].rule);

		*walk->fresh++ = (struct allo_new_frame){ walk->r, cache->rest[i].rule };
		walk->r.pc = cache->frames[i - 1].pc;
		walk->r.sp = cache->frames[i - 1].sp;
		if (fp)
			walk->r.fp = allo_word_at(walk->r.sp + (uint64_t)fp);
	}
	walk->known = cache->frames + changed;
}

/* True if the current frame is the innermost of the known ones. */
static inline bool is_known(const struct allo_stack_cache *cache, const struct walk *walk)
{
	size_t left = (size_t)(walk->known - cache->frames);

	return left > 0 && walk->known[-1].sp == walk->r.sp && walk->known[-1].pc == walk->r.pc &&
	       (!cache->needs_fp[left - 1] || cache->fps[left - 1] == walk->r.fp);
}

static inline size_t fresh_count(const struct allo_stack_cache *cache, const struct walk *walk)
{
	return (size_t)(walk->fresh - cache->fresh);
}

/* Appends the current frame and goes to its caller. */
static inline enum allo_unwind_step step_out(struct allo_stack_cache *cache, struct walk *walk,
					     uint32_t rule)
{
	*walk->fresh++ = (struct allo_new_frame){ walk->r, rule };
	if (!has_room(cache, walk, fresh_count(cache, walk) + 1))
		return ALLO_STEP_CUT;
	return allo_unwind_step(&walk->r, rule, &cache->bounds);
}

/* The current frame was interrupted by a signal: its pc is not a return address. */
static __attribute__((noinline)) enum allo_unwind_step step_out_of_signal(
	struct allo_stack_cache *cache, struct walk *walk)
{
	enum allo_unwind_step step;
	uint32_t rule;

	do {
		rule = allo_rule_find(walk->r.pc, true);
		step = step_out(cache, walk, rule);
	} while (step == ALLO_STEP_ON && allo_rule_kind(rule) == ALLO_RULE_SIGNAL);
	return step;
}

/* Reads the registers one by one, as they were stored: a struct copy would use wider loads, which
 * stall on the narrower stores. */
bool allo_stack_cache_capture(struct allo_stack_cache *cache, const struct allo_registers *r)
{
	struct walk walk = { { r->pc, r->sp, r->fp }, cache->frames + cache->count, cache->fresh };
	enum allo_unwind_step step = ALLO_STEP_ON;

	if (__builtin_expect(cache->has_signal, 0)) {
		cut_to(cache, 0);
		walk.known = cache->frames;
		cache->has_signal = false;
	}
	if (!allo_stack_bounds_begin(&cache->bounds, walk.r.sp))
		return false;
	for (;;) {
		uint32_t rule;

		while (walk.known > cache->frames && walk.known[-1].sp < walk.r.sp)
			walk.known--;
		if (is_known(cache, &walk)) {
			uint32_t left = (uint32_t)(walk.known - cache->frames), changed;

			if (!has_room(cache, &walk, fresh_count(cache, &walk) + left + 1))
				break;
			changed = allo_stack_cache_changed(cache, left - 1);
			if (__builtin_expect(changed == 0, 1)) {
				cache->joint = left;
				cut_to(cache, left);
				push(cache, walk.fresh);
				note_valid(cache, cache->count);
				return true;
			}
			reuse(cache, &walk, left - 1, changed);
		}
		rule = allo_rule_at(walk.r.pc);
		step = step_out(cache, &walk, rule);
		if (__builtin_expect(allo_rule_kind(rule) == ALLO_RULE_SIGNAL, 0)) {
			struct walk copy = walk;

			cache->has_signal = true;
			if (step == ALLO_STEP_ON)
				step = step_out_of_signal(cache, &copy);
			walk = copy;
		}
		if (__builtin_expect(step != ALLO_STEP_ON, 0))
			break;
	}
	cache->joint = 0;
	cache->is_cut = step != ALLO_STEP_END;
	cut_to(cache, 0);
	push(cache, walk.fresh);
	note_valid(cache, cache->count);
	return true;
}
