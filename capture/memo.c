/* memo.c - see memo.h. */
#include "capture/memo.h"
#include "capture/system.h"

enum { FIRST_CAPACITY = 256 };

/* A word that is never 1: for steps that read more than two words and cannot be verified. */
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

/* Each array of its own: those that few programs need stay untouched. */
static bool grow(struct allo_memo *memo, size_t capacity)
{
	size_t from = memo->capacity;

	/* One that cannot grow leaves the others larger than `capacity` says: no harm. */
	if (capacity > ALLO_STACK_MAX ||
	    !grow_array(&memo->frames, sizeof(*memo->frames), from, capacity) ||
	    !grow_array(&memo->rest, sizeof(*memo->rest), from, capacity) ||
	    !grow_array(&memo->pointers, sizeof(*memo->pointers), from, capacity) ||
	    !grow_array(&memo->marks, sizeof(*memo->marks), from, capacity) ||
	    !grow_array(&memo->fresh, sizeof(*memo->fresh), from, capacity))
		return false;
	memo->capacity = capacity;
	return true;
}

bool allo_memo_init(struct allo_memo *memo)
{
	return grow(memo, FIRST_CAPACITY);
}

void allo_memo_forget(struct allo_memo *memo, uint64_t seed)
{
	memo->count = memo->checks = 0;
	memo->seed = seed;
}

uint32_t allo_memo_changed_checks(const struct allo_memo *memo, uint32_t joint)
{
	for (uint32_t i = joint; i > 0; i--) {
		const struct allo_frame_pointer *pointer = &memo->pointers[i - 1];

		if (allo_frame_change(&memo->frames[i - 1]) ||
		    ((memo->marks[i - 1] & ALLO_HAS_CHECK) &&
		     allo_word_at(pointer->address) != pointer->value))
			return i;
	}
	return 0;
}

static bool has_room(struct allo_memo *memo, size_t count)
{
	return count <= memo->capacity || grow(memo, 2 * memo->capacity);
}

static void unmark(struct allo_memo *memo, uint32_t at)
{
	memo->checks -= (memo->marks[at] & ALLO_HAS_CHECK) != 0;
	memo->marks[at] &= (uint8_t)~ALLO_HAS_CHECK;
}

/* Leaves the outermost `count` frames. */
static void cut_to(struct allo_memo *memo, uint32_t count)
{
	for (uint32_t i = count; memo->checks > 0 && i < memo->count; i++)
		unmark(memo, i);
	memo->count = count;
	/* How the innermost was found depended on the frame inside of it. */
	if (count > 0)
		unmark(memo, count - 1);
}

/* What to verify of the step from a frame to `outer`, when it depends on the frame pointer; returns
 * whether the frame pointer in that frame matters. */
static bool depend(struct allo_memo *memo, uint32_t rule, uint32_t outer)
{
	struct allo_frame_pointer *pointer = &memo->pointers[outer];
	enum allo_rule_kind kind = allo_rule_kind(rule);
	int64_t saved = allo_rule_fp(rule);
	bool outer_needs_fp = memo->marks[outer] & ALLO_NEEDS_FP;

	if (kind == ALLO_RULE_DRAP || kind == ALLO_RULE_SIGNAL || kind == ALLO_RULE_NONE) {
		pointer->address = (uint64_t)&never_one;
		pointer->value = 1;
	} else if (outer_needs_fp && saved) {
		pointer->address = memo->frames[outer].sp + (uint64_t)saved;
		pointer->value = pointer->fp;
	} else {
		return kind != ALLO_RULE_SP || outer_needs_fp;
	}
	memo->marks[outer] |= ALLO_HAS_CHECK;
	memo->checks++;
	return kind != ALLO_RULE_SP;
}

/* The same for the outermost frame. */
static bool depends_at_root(uint32_t rule)
{
	return allo_rule_kind(rule) != ALLO_RULE_SP && allo_rule_kind(rule) != ALLO_RULE_END;
}

#if !defined(__x86_64__)
/* Where a frame has its return address, by the stack pointer of its caller. */
static uint64_t slot_below(uint64_t cfa, uint32_t rule)
{
	/* A frame that was guessed ends with its frame pointer and return address. */
	return allo_ra_slot(cfa, allo_rule_kind(rule) == ALLO_RULE_NONE ? -16 : allo_rule_fp(rule));
}
#endif

/* Puts the fresh frames on top of those that are left, the outermost first. */
static void push(struct allo_memo *memo, size_t count)
{
	/* Copies: the compiler cannot know that storing a frame does not move them. */
	struct allo_frame *frames = memo->frames;
	struct allo_frame_rest *rest = memo->rest;
	uint8_t *marks = memo->marks;
	uint32_t at = memo->count;
	uint64_t hash = at ? rest[at - 1].hash : allo_memo_root(memo->seed, memo->is_cut);
	bool needs_fp = at && (marks[at - 1] & ALLO_NEEDS_FP);

	for (const struct allo_fresh *frame = memo->fresh + count; frame-- > memo->fresh; at++) {
		hash = allo_stack_hash(hash, frame->registers.pc);
		frames[at].sp = frame->registers.sp;
		frames[at].pc = frame->registers.pc;
#if !defined(__x86_64__)
		if (at > 0)
			frames[at - 1].slot = slot_below(frames[at - 1].sp, frame->rule);
#endif
		rest[at].hash = hash;
		rest[at].rule = frame->rule;
		rest[at].id = 0;
		marks[at] = 0;
		if (__builtin_expect(needs_fp || allo_rule_kind(frame->rule) != ALLO_RULE_SP, 0)) {
			needs_fp = at ? depend(memo, frame->rule, at - 1)
				      : depends_at_root(frame->rule);
			memo->pointers[at].fp = frame->registers.fp;
			marks[at] = needs_fp ? ALLO_NEEDS_FP : 0;
		}
	}
	memo->count = at;
}

/* The frames between `joint` and the innermost that has changed are right relative to each other:
 * they need not be found again.  Goes to the frame whose caller has changed. */
static size_t reuse(struct allo_memo *memo, uint32_t joint, uint32_t changed, size_t count,
		    struct allo_registers *r)
{
	for (uint32_t i = joint; i > changed; i--) {
		int64_t fp = allo_rule_fp(memo->rest[i].rule);

		memo->fresh[count++] = (struct allo_fresh){ *r, memo->rest[i].rule };
		r->pc = memo->frames[i - 1].pc;
		r->sp = memo->frames[i - 1].sp;
		if (fp)
			r->fp = allo_word_at(r->sp + (uint64_t)fp);
	}
	return count;
}

static inline bool is_known(const struct allo_memo *memo, uint32_t at,
			    const struct allo_registers *r)
{
	return memo->frames[at].sp == r->sp && memo->frames[at].pc == r->pc &&
	       (!(memo->marks[at] & ALLO_NEEDS_FP) || memo->pointers[at].fp == r->fp);
}

bool allo_memo_capture(struct allo_memo *memo, struct allo_registers r)
{
	/* Copies: the compiler cannot know that storing a frame does not move them. */
	const struct allo_frame *frames = memo->frames;
	struct allo_fresh *fresh = memo->fresh;
	uint32_t left, changed, rule; /* `left`: frames that may still be found unchanged */
	size_t count = 0;
	bool is_exact = false;
	enum allo_step step = ALLO_STEP_ON;

	if (__builtin_expect(memo->has_signal, 0)) {
		cut_to(memo, 0);
		memo->has_signal = false;
	}
	if (!allo_reach_begin(&memo->reach, r.sp))
		return false;
	left = memo->count;
	while (__builtin_expect(step == ALLO_STEP_ON, 1)) {
		while (left > 0 && frames[left - 1].sp < r.sp)
			left--;
		if (left > 0 && is_known(memo, left - 1, &r) && !is_exact) {
			if (!has_room(memo, count + left + 1))
				break;
			frames = memo->frames;
			fresh = memo->fresh;
			changed = allo_memo_changed(memo, left - 1);
			if (__builtin_expect(changed == 0, 1)) {
				memo->joint = left;
				cut_to(memo, left);
				push(memo, count);
				return true;
			}
			count = reuse(memo, left - 1, changed, count, &r);
			left = changed;
		}
		rule = is_exact ? allo_rule_find(r.pc, true) : allo_rule_at(r.pc);
		fresh[count].registers = r;
		fresh[count++].rule = rule;
		if (__builtin_expect(count == memo->capacity, 0)) {
			if (!grow(memo, 2 * memo->capacity))
				break;
			frames = memo->frames;
			fresh = memo->fresh;
		}
		step = allo_step(&r, rule, &memo->reach);
		is_exact = allo_rule_kind(rule) == ALLO_RULE_SIGNAL;
		if (__builtin_expect(is_exact, 0))
			memo->has_signal = true;
	}
	memo->joint = 0;
	memo->is_cut = step != ALLO_STEP_END;
	cut_to(memo, 0);
	push(memo, count);
	return true;
}
