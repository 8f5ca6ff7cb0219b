/* rules_blocks.c - many blocks where fewer would do. */
#include "findings/judge.h"

/* Reads better than "16 B": the reader compares it with a struct. */
static const char *say_size(struct allo_case *at, uint64_t size)
{
	return allo_case_bytes(at, "size", size);
}

static void set_blocks(struct allo_case *at, uint64_t blocks)
{
	allo_case_cost(at, (double)blocks, (double)at->evidence->sum.alloc_blocks);
}

static bool are_many(const struct allo_case *at, enum allo_threshold share,
		     enum allo_threshold count, uint64_t blocks)
{
	return allo_case_reaches_share(at, share, (double)blocks,
				       (double)at->evidence->sum.alloc_blocks) &&
	       allo_case_reaches(at, count, (double)blocks);
}

/* Whether at least nine of ten blocks have the same size. */
static bool has_one_size(const struct allo_site_facts *facts)
{
	return facts->size.count * 10 >= facts->blocks * 9;
}

/* Blocks of a loop: one at a time, by the same thread. */
static bool is_loop(const struct allo_evidence_site *site)
{
	return allo_site_is_churn(site) &&
	       site->facts.crossed_blocks * 10 < site->facts.freed_blocks;
}

static const char *reusable_share(struct allo_case *at, const struct allo_site_facts *facts)
{
	return allo_case_share(at, (double)facts->reusable_blocks, (double)facts->blocks);
}

static bool judge_churn(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;
	const struct allo_site_facts *facts = &site->facts;

	if (allo_evidence_is_interpreted(at->evidence, site) || !is_loop(site) ||
	    !has_one_size(facts) ||
	    !are_many(at, ALLO_CHURN_LOOP_SHARE, ALLO_CHURN_LOOP_BLOCKS, facts->blocks))
		return false;
	set_blocks(at, facts->reusable_blocks);
	allo_case_saves(at, ALLO_SAVES_BLOCKS, facts->reusable_blocks);
	return allo_case_say(
		at, "%s blocks of %s, %s of all; %s were freed before the next",
		allo_case_count(at, "blocks", facts->blocks), say_size(at, facts->size.value),
		allo_case_share(at, (double)facts->blocks, (double)at->evidence->sum.alloc_blocks),
		reusable_share(at, facts));
}

const struct allo_finding_rule allo_rule_churn_loop = {
	.id = "churn-loop",
	.title = "one block after the other in a loop",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_churn,
	.view = "flame",
	.detects =
		"A site allocates blocks of one size, and frees most of them before it allocates "
		"the next one.",
	.why = "Each pair of malloc and free costs time, and one block could serve all rounds.",
	.advice = "Allocate the block once outside the loop, keep it in the object, or use the "
		  "stack.",
};

static bool judge_format(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;
	const struct allo_site_facts *facts = &site->facts;

	if (allo_evidence_is_interpreted(at->evidence, site) || !is_loop(site) ||
	    has_one_size(facts) ||
	    !are_many(at, ALLO_TEMP_FORMAT_SHARE, ALLO_TEMP_FORMAT_BLOCKS, facts->blocks))
		return false;
	set_blocks(at, facts->reusable_blocks);
	allo_case_saves(at, ALLO_SAVES_BLOCKS, facts->reusable_blocks);
	return allo_case_say(
		at, "%s blocks of %s to %s, %s of all; %s were freed before the next",
		allo_case_count(at, "blocks", facts->blocks),
		allo_case_bytes(at, "least_size", facts->least_size),
		allo_case_bytes(at, "most_size", facts->most_size),
		allo_case_share(at, (double)facts->blocks, (double)at->evidence->sum.alloc_blocks),
		reusable_share(at, facts));
}

const struct allo_finding_rule allo_rule_temp_format = {
	.id = "temp-format",
	.title = "temporary strings or buffers",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_format,
	.view = "flame",
	.detects = "A site allocates blocks of different sizes, and frees most of them before it "
		   "allocates the next one.",
	.why = "Strings that are built, used once and dropped cost a malloc and a free each.",
	.advice = "Keep one buffer and let it grow to the largest size, or format into the "
		  "destination.",
};

/* The size of most blocks. */
static uint64_t find_size(const struct allo_facts *facts)
{
	uint64_t size = 0;

	for (uint64_t i = 1; i < ALLO_COUNTED_SIZES; i++)
		size = facts->sizes[i] > facts->sizes[size] ? i : size;
	return size;
}

/* The site with the most blocks of a size that live next to each other: a pool helps only those. */
static const struct allo_evidence_site *find_maker(const struct allo_evidence *evidence,
						   uint64_t size)
{
	const struct allo_evidence_site *maker = NULL;

	for (size_t i = 0; i < evidence->sites.len; i++) {
		const struct allo_evidence_site *site = &evidence->sites.at[i];

		if (site->facts.size.value == size && !allo_site_is_churn(site) &&
		    !allo_evidence_is_interpreted(evidence, site) &&
		    (!maker || site->facts.size.count > maker->facts.size.count))
			maker = site;
	}
	return maker;
}

static bool judge_same_size(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	uint64_t size = find_size(evidence->in.facts), blocks = evidence->in.facts->sizes[size];
	const struct allo_evidence_site *maker = find_maker(evidence, size);

	if (!maker || maker->facts.size.count * 2 < blocks ||
	    !are_many(at, ALLO_SAME_SIZE_SHARE, ALLO_SAME_SIZE_BLOCKS, blocks))
		return false;
	at->found->site = maker;
	set_blocks(at, blocks);
	return allo_case_say(
		at,
		"%s of all blocks have the same size, %s: %s blocks, of which this site "
		"allocates %s",
		allo_case_share(at, (double)blocks, (double)evidence->sum.alloc_blocks),
		say_size(at, size), allo_case_count(at, "blocks", blocks),
		allo_case_count(at, "site_blocks", maker->facts.size.count));
}

const struct allo_finding_rule allo_rule_same_size = {
	.id = "same-size",
	.title = "one size dominates",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_MEDIUM,
	.is_whole = true,
	.judge = judge_same_size,
	.view = "sizes",
	.detects =
		"At least 20 % of all blocks have one size, and one site allocates most of them.",
	.why = "Blocks of one size need neither the bookkeeping nor the search of malloc.",
	.advice = "Allocate them from a pool or an arena, or keep them by value in an array.",
};

/* The bytes that the smallest block takes, with its header.  0: small blocks have none, and take
 * no more than the next multiple of 8 or 16. */
static const struct {
	const char *name;
	uint64_t least;
} allocators[] = {
	[ALLO_ALLOCATOR_GLIBC] = { "glibc", 32 },
	[ALLO_ALLOCATOR_MUSL] = { "musl", 16 },
	[ALLO_ALLOCATOR_SIZE_CLASSES] = { NULL, 0 },
};

static bool judge_tiny(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;
	double average = site->alloc_blocks ? (double)site->alloc_bytes / (double)site->alloc_blocks
					    : 0;
	uint64_t least = allocators[at->evidence->allocator].least;
	uint64_t taken = site->peak_blocks * least;

	if (least == 0 || allo_evidence_is_interpreted(at->evidence, site) || average <= 0 ||
	    average > at->limits[ALLO_TINY_SIZE] || allo_site_is_churn(site) ||
	    !are_many(at, ALLO_TINY_SHARE, ALLO_TINY_BLOCKS, site->alloc_blocks))
		return false;
	set_blocks(at, site->alloc_blocks);
	allo_case_saves(at, ALLO_SAVES_PEAK_BYTES,
			taken > site->peak_bytes ? taken - site->peak_bytes : 0);
	return allo_case_say(at,
			     "%s blocks of %.1f bytes on average, %s of all blocks; %s takes at "
			     "least %d bytes for each",
			     allo_case_count(at, "blocks", site->alloc_blocks), average,
			     allo_case_share(at, (double)site->alloc_blocks,
					     (double)at->evidence->sum.alloc_blocks),
			     allocators[at->evidence->allocator].name, (int)least);
}

const struct allo_finding_rule allo_rule_tiny = {
	.id = "tiny",
	.title = "many tiny blocks",
	.needs = ALLO_DATA_ALLOCATIONS,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_tiny,
	.view = "sizes",
	.detects = "A site allocates many blocks of at most 16 bytes on average.",
	.why = "Headers and rounding take more memory than the data, and each block costs a malloc.",
	.advice = "Store the data in its owner, keep it by value in an array, or use an arena.",
};

static bool judge_zero(struct allo_case *at)
{
	const struct allo_site_facts *facts = &at->found->site->facts;

	if (allo_evidence_is_interpreted(at->evidence, at->found->site) ||
	    !allo_case_reaches(at, ALLO_ZERO_SIZE_BLOCKS, (double)facts->empty_blocks))
		return false;
	set_blocks(at, facts->empty_blocks);
	allo_case_saves(at, ALLO_SAVES_BLOCKS, facts->empty_blocks);
	return allo_case_say(
		at, "%s blocks of size 0, %s of the blocks of this site",
		allo_case_count(at, "blocks", facts->empty_blocks),
		allo_case_share(at, (double)facts->empty_blocks, (double)facts->blocks));
}

const struct allo_finding_rule allo_rule_zero_size = {
	.id = "zero-size",
	.title = "blocks of size 0",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_LOW,
	.judge = judge_zero,
	.view = "sizes",
	.detects = "A site allocates at least 1,000 blocks without a byte.",
	.why = "Each of them takes a block of the smallest size, a malloc and a free.",
	.advice = "Do not allocate when there is nothing to store.",
};

static bool judge_crossing(struct allo_case *at)
{
	const struct allo_site_facts *facts = &at->found->site->facts;

	/* musl has one heap, which is locked for every block. */
	if (at->evidence->allocator == ALLO_ALLOCATOR_MUSL ||
	    allo_evidence_is_interpreted(at->evidence, at->found->site) ||
	    !allo_case_reaches_share(at, ALLO_CROSS_THREAD_SHARE, (double)facts->crossed_blocks,
				     (double)facts->freed_blocks) ||
	    !allo_case_reaches_share(at, ALLO_CROSS_THREAD_BLOCKS, (double)facts->crossed_blocks,
				     (double)at->evidence->sum.facts.blocks) ||
	    facts->crossed_blocks < 1000)
		return false;
	set_blocks(at, facts->crossed_blocks);
	return allo_case_say(
		at, "%s of %s freed blocks, %s, were freed by other threads",
		allo_case_count(at, "crossed_blocks", facts->crossed_blocks),
		allo_case_count(at, "freed_blocks", facts->freed_blocks),
		allo_case_share(at, (double)facts->crossed_blocks, (double)facts->freed_blocks));
}

const struct allo_finding_rule allo_rule_cross_thread = {
	.id = "cross-thread",
	.title = "freed by other threads",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT | ALLO_DATA_THREADS,
	.most = ALLO_SEVERITY_MEDIUM,
	.judge = judge_crossing,
	.view = "threads",
	.detects = "At least 30 % of a site's blocks are freed by other threads.",
	.why = "The blocks fill the cache of the thread that frees them, and the other one cannot "
	       "reuse them from there: more calls reach the allocator's locks.",
	.advice =
		"Give blocks back to the thread that allocated them, hand over batches, or keep a "
		"pool per queue.",
};
