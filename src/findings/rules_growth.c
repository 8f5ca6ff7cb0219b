/* rules_growth.c - blocks that realloc makes larger again and again. */
#include "findings/judge.h"

static bool copies_much(const struct allo_case *at, enum allo_threshold share, uint64_t copied)
{
	return allo_case_reaches_share(at, share, (double)copied,
				       (double)at->evidence->sum.alloc_bytes) &&
	       allo_case_reaches(at, ALLO_GROW_BY_ONE_BYTES, (double)copied);
}

static void set_copies(struct allo_case *at, const struct allo_growth_facts *growth)
{
	allo_case_cost(at, (double)growth->copied_bytes, (double)at->evidence->sum.alloc_bytes);
	allo_case_saves(at, ALLO_SAVES_COPIED_BYTES, growth->copied_bytes);
}

/* Whether the size of most reallocs is the old size and a constant. */
static bool has_constant_steps(const struct allo_growth_facts *growth)
{
	return growth->small_steps * 2 > growth->steps &&
	       growth->step_bytes.count * 10 >= growth->steps * 8;
}

static bool judge_by_one(struct allo_case *at)
{
	const struct allo_growth_facts *growth = at->found->site->growth;

	if (!growth || allo_evidence_is_interpreted(at->evidence, at->found->site) ||
	    growth->longest < ALLO_LONG_CHAIN || !has_constant_steps(growth) ||
	    !copies_much(at, ALLO_GROW_BY_ONE_SHARE, growth->copied_bytes))
		return false;
	set_copies(at, growth);
	return allo_case_say(
		at,
		"%s reallocs grew blocks by %s each and copied up to %s; one block grew "
		"%s times",
		allo_case_count(at, "reallocs", growth->steps),
		allo_case_bytes(at, "step_bytes", growth->step_bytes.value),
		allo_case_bytes(at, "copied_bytes", growth->copied_bytes),
		allo_case_count(at, "longest_chain", growth->longest));
}

const struct allo_finding_rule allo_rule_grow_by_one = {
	.id = "grow-by-one",
	.title = "buffer grows by constant steps",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_by_one,
	.view = "flame",
	.detects = "realloc makes blocks larger by the same number of bytes, at least 8 times in a "
		   "row, by less than a quarter of their size.",
	.why = "Each realloc may copy the whole block: the time grows with the square of its size.",
	.advice =
		"Double the capacity when it is used up, or allocate the final size at once if it "
		"is known.",
};

static bool judge_factor(struct allo_case *at)
{
	const struct allo_growth_facts *growth = at->found->site->growth;

	if (!growth || allo_evidence_is_interpreted(at->evidence, at->found->site) ||
	    growth->small_steps * 2 > growth->steps ||
	    !allo_case_reaches(at, ALLO_GROWTH_FACTOR_CHAINS, (double)growth->short_chains) ||
	    growth->last_size.count * 10 < growth->short_chains * 8 ||
	    !copies_much(at, ALLO_GROWTH_FACTOR_SHARE, growth->copied_bytes))
		return false;
	set_copies(at, growth);
	return allo_case_say(
		at,
		"%s blocks grew at least %d times each, and at least %s of them ended "
		"with %s; reallocs copied up to %s",
		allo_case_count(at, "chains", growth->short_chains), ALLO_SHORT_CHAIN,
		allo_case_share(at, (double)growth->last_size.count, (double)growth->short_chains),
		allo_case_bytes(at, "last_size", growth->last_size.value),
		allo_case_bytes(at, "copied_bytes", growth->copied_bytes));
}

const struct allo_finding_rule allo_rule_growth_factor = {
	.id = "growth-factor",
	.title = "buffer grows to the same size each time",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_factor,
	.view = "flame",
	.detects =
		"Blocks grow by realloc at least 4 times, and at least 80 % of them end with the "
		"same size.",
	.why = "The final size is known in advance, so the smaller blocks and their copies are "
	       "wasted.",
	.advice = "Reserve the final size when the buffer is created.",
};
