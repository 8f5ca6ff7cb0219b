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
	    !grow_array(&memo->needs_fp, sizeof(*memo->needs_fp), from, capacity) ||
	    !grow_array(&memo->fps, sizeof(*memo->fps), from, capacity) ||
	    !grow_array(&memo->checks, sizeof(*memo->checks), from, capacity) ||
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
	memo->count = memo->check_count = 0;
	memo->seed = seed;
}

uint32_t allo_memo_changed_checks(const struct allo_memo *memo, uint32_t joint)
{
	uint32_t changed = allo_memo_changed_plain(memo, joint);

	for (uint32_t i = memo->check_count; i > 0; i--) {
		const struct allo_frame_check *check = &memo->checks[i - 1];

		if (check->frame < changed)
			break;
		if (check->frame < joint && allo_word_at(check->address) != check->value)
			return check->frame + 1;
	}
	return changed;
}

/* Leaves the outermost `count` frames.  How the innermost of these was found depended on the frame
 * inside of it: it has no check any more. */
static void cut_to(struct allo_memo *memo, uint32_t count)
{
	memo->count = count;
	while (memo->check_count > 0 && memo->checks[memo->check_count - 1].frame + 1 >= count)
		memo->check_count--;
}

static void add_check(struct allo_memo *memo, uint32_t frame, uint64_t address, uint64_t value)
{
	memo->checks[memo->check_count++] = (struct allo_frame_check){ address, value, frame };
}

/* What to verify of the step from a frame to `outer`, when it depends on the frame pointer; returns
 * whether the frame pointer in that frame matters. */
static bool depend(struct allo_memo *memo, uint32_t rule, uint32_t outer)
{
	enum allo_rule_kind kind = allo_rule_kind(rule);
	int64_t saved = allo_rule_fp(rule);
	bool outer_needs_fp = memo->needs_fp[outer];

	if (kind == ALLO_RULE_DRAP || kind == ALLO_RULE_SIGNAL || kind == ALLO_RULE_NONE) {
		add_check(memo, outer, (uint64_t)&never_one, 1);
	} else if (outer_needs_fp && saved) {
		add_check(memo, outer, memo->frames[outer].sp + (uint64_t)saved, memo->fps[outer]);
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
/* Where a frame has its return address, by the stack pointer of its caller. */
static uint64_t slot_below(uint64_t cfa, uint32_t rule)
{
	/* A frame that was guessed ends with its frame pointer and return address. */
	return allo_ra_slot(cfa, allo_rule_kind(rule) == ALLO_RULE_NONE ? -16 : allo_rule_fp(rule));
}
#endif

/* Puts the fresh frames on top of those that are left, the outermost first. */
static void push(struct allo_memo *memo, const struct allo_fresh *last)
{
	/* Copies: the compiler cannot know that storing a frame does not move them. */
	const struct allo_fresh *first = memo->fresh;
	uint32_t count = memo->count;
	struct allo_frame *frame = memo->frames + count;
	struct allo_frame_rest *rest = memo->rest + count;
	bool *mark = memo->needs_fp + count;
	uint64_t hash = count ? rest[-1].hash : allo_memo_root(memo->seed, memo->is_cut);
	bool needs_fp = count && mark[-1];

	memo->count = count + (uint32_t)(last - first);
	while (last-- > first) {
		uint32_t rule = last->rule;

		hash = allo_stack_hash(hash, last->registers.pc);
		frame->sp = last->registers.sp;
		frame->pc = last->registers.pc;
#if !defined(__x86_64__)
		if (frame > memo->frames)
			frame[-1].slot = slot_below(frame[-1].sp, rule);
#endif
		*rest++ = (struct allo_frame_rest){ hash, rule, 0 };
		*mark = false;
		if (__builtin_expect(needs_fp || allo_rule_kind(rule) != ALLO_RULE_SP, 0)) {
			uint32_t at = (uint32_t)(frame - memo->frames);

			needs_fp = at ? depend(memo, rule, at - 1) : depends_at_root(rule);
			memo->fps[at] = last->registers.fp;
			*mark = needs_fp;
		}
		frame++;
		mark++;
	}
}

/* A capture on its way outward.  Whoever is called with its address gets that of a copy, unless he
 * is inlined: all of it is to be in registers. */
struct walk {
	struct allo_registers r;
	const struct allo_frame *known; /* behind the frames that may still be found unchanged */
	struct allo_fresh *fresh;       /* behind those that were found so far */
};

static __attribute__((noinline)) bool grow_for(struct allo_memo *memo, struct walk *walk)
{
	size_t known = (size_t)(walk->known - memo->frames);
	size_t fresh = (size_t)(walk->fresh - memo->fresh);
	bool ok = grow(memo, 2 * memo->capacity);

	walk->known = memo->frames + known;
	walk->fresh = memo->fresh + fresh;
	return ok;
}

/* For so many frames; never more than twice of what there is. */
static inline bool has_room(struct allo_memo *memo, struct walk *walk, size_t count)
{
	if (__builtin_expect(count > memo->capacity, 0)) {
		struct walk copy = *walk;
		bool ok = grow_for(memo, &copy);

		*walk = copy;
		return ok;
	}
	return true;
}

/* The frames between `joint` and the innermost that has changed are right relative to each other:
 * they need not be found again.  Goes to the frame whose caller has changed. */
static void reuse(const struct allo_memo *memo, struct walk *walk, uint32_t joint, uint32_t changed)
{
	for (uint32_t i = joint; i > changed; i--) {
		int64_t fp = allo_rule_fp(memo->rest[i].rule);

		*walk->fresh++ = (struct allo_fresh){ walk->r, memo->rest[i].rule };
		walk->r.pc = memo->frames[i - 1].pc;
		walk->r.sp = memo->frames[i - 1].sp;
		if (fp)
			walk->r.fp = allo_word_at(walk->r.sp + (uint64_t)fp);
	}
	walk->known = memo->frames + changed;
}

/* Whether the frame at hand is the innermost of those. */
static inline bool is_known(const struct allo_memo *memo, const struct walk *walk)
{
	size_t left = (size_t)(walk->known - memo->frames);

	return left > 0 && walk->known[-1].sp == walk->r.sp && walk->known[-1].pc == walk->r.pc &&
	       (!memo->needs_fp[left - 1] || memo->fps[left - 1] == walk->r.fp);
}

static inline size_t fresh_count(const struct allo_memo *memo, const struct walk *walk)
{
	return (size_t)(walk->fresh - memo->fresh);
}

/* Notes the frame at hand, and goes to its caller's. */
static inline enum allo_step step_out(struct allo_memo *memo, struct walk *walk, uint32_t rule)
{
	*walk->fresh++ = (struct allo_fresh){ walk->r, rule };
	if (!has_room(memo, walk, fresh_count(memo, walk) + 1))
		return ALLO_STEP_CUT;
	return allo_step(&walk->r, rule, &memo->reach);
}

/* The frame at hand is where a signal has interrupted the program: not where a call returns to. */
static __attribute__((noinline)) enum allo_step step_out_of_signal(struct allo_memo *memo,
								   struct walk *walk)
{
	enum allo_step step;
	uint32_t rule;

	do {
		rule = allo_rule_find(walk->r.pc, true);
		step = step_out(memo, walk, rule);
	} while (step == ALLO_STEP_ON && allo_rule_kind(rule) == ALLO_RULE_SIGNAL);
	return step;
}

/* The registers are given by address, and read one by one as they were stored: a copy of all would
 * be read in larger pieces, for which the processor waits. */
bool allo_memo_capture(struct allo_memo *memo, const struct allo_registers *r)
{
	struct walk walk = { { r->pc, r->sp, r->fp }, memo->frames + memo->count, memo->fresh };
	enum allo_step step = ALLO_STEP_ON;

	if (__builtin_expect(memo->has_signal, 0)) {
		cut_to(memo, 0);
		walk.known = memo->frames;
		memo->has_signal = false;
	}
	if (!allo_reach_begin(&memo->reach, walk.r.sp))
		return false;
	for (;;) {
		uint32_t rule;

		while (walk.known > memo->frames && walk.known[-1].sp < walk.r.sp)
			walk.known--;
		if (is_known(memo, &walk)) {
			uint32_t left = (uint32_t)(walk.known - memo->frames), changed;

			if (!has_room(memo, &walk, fresh_count(memo, &walk) + left + 1))
				break;
			changed = allo_memo_changed(memo, left - 1);
			if (__builtin_expect(changed == 0, 1)) {
				memo->joint = left;
				cut_to(memo, left);
				push(memo, walk.fresh);
				return true;
			}
			reuse(memo, &walk, left - 1, changed);
		}
		rule = allo_rule_at(walk.r.pc);
		step = step_out(memo, &walk, rule);
		if (__builtin_expect(allo_rule_kind(rule) == ALLO_RULE_SIGNAL, 0)) {
			struct walk copy = walk;

			memo->has_signal = true;
			if (step == ALLO_STEP_ON)
				step = step_out_of_signal(memo, &copy);
			walk = copy;
		}
		if (__builtin_expect(step != ALLO_STEP_ON, 0))
			break;
	}
	memo->joint = 0;
	memo->is_cut = step != ALLO_STEP_END;
	cut_to(memo, 0);
	push(memo, walk.fresh);
	return true;
}
