/* rules_access.c - memory that is allocated and hardly used; DHAT counts the accesses. */
#include "findings/judge.h"

static bool are_large(const struct allo_case *at, enum allo_threshold share,
		      enum allo_threshold least, uint64_t bytes)
{
	return allo_case_reaches_share(at, share, (double)bytes,
				       (double)at->evidence->sum.alloc_bytes) &&
	       allo_case_reaches(at, least, (double)bytes);
}

static void set_bytes(struct allo_case *at, uint64_t bytes)
{
	allo_case_cost(at, (double)bytes, (double)at->evidence->sum.alloc_bytes);
	allo_case_saves(at, ALLO_SAVES_ALLOC_BYTES, bytes);
}

static const char *share_of_all(struct allo_case *at, uint64_t bytes)
{
	return allo_case_share(at, (double)bytes, (double)at->evidence->sum.alloc_bytes);
}

static bool judge_unread(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;

	if (!are_large(at, ALLO_NEVER_READ_SHARE, ALLO_NEVER_READ_BYTES, site->unread_bytes))
		return false;
	set_bytes(at, site->unread_bytes);
	return allo_case_say(at, "%s in %s were written and never read, %s of all bytes",
			     allo_case_bytes(at, "bytes", site->unread_bytes),
			     allo_case_blocks(at, "blocks", site->unread_blocks),
			     share_of_all(at, site->unread_bytes));
}

const struct allo_finding_rule allo_rule_never_read = {
	.id = "never-read",
	.title = "written and never read",
	.needs = ALLO_DATA_ALLOCATIONS | ALLO_DATA_READS,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_unread,
	.view = "flame",
	.detects = "The program writes to blocks of a stack and never reads them.",
	.why = "The data is computed and stored for nothing.",
	.advice = "Remove the data, or compute it only when it is asked for.",
};

static bool judge_unwritten(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;

	if (!are_large(at, ALLO_NEVER_WRITTEN_SHARE, ALLO_NEVER_WRITTEN_BYTES,
		       site->unwritten_bytes))
		return false;
	set_bytes(at, site->unwritten_bytes);
	return allo_case_say(at, "%s in %s were never written, %s of all bytes",
			     allo_case_bytes(at, "bytes", site->unwritten_bytes),
			     allo_case_blocks(at, "blocks", site->unwritten_blocks),
			     share_of_all(at, site->unwritten_bytes));
}

const struct allo_finding_rule allo_rule_never_written = {
	.id = "never-written",
	.title = "never written",
	.needs = ALLO_DATA_ALLOCATIONS | ALLO_DATA_READS,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_unwritten,
	.view = "flame",
	.detects = "The program never writes to the blocks of a stack.",
	.why = "The blocks hold no data of the program.",
	.advice = "Allocate when the first byte is written, or not at all.",
};

/* Blocks without any access are judge_unwritten()'s. */
static bool judge_low_use(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;

	if (site->unwritten_bytes > 0 || site->untouched_bytes * 10 < site->counted_bytes * 6 ||
	    !are_large(at, ALLO_LOW_USE_SHARE, ALLO_LOW_USE_BYTES, site->untouched_bytes))
		return false;
	set_bytes(at, site->untouched_bytes);
	return allo_case_say(at, "%s of %s are at the end of blocks and were never accessed, in %s",
			     allo_case_bytes(at, "bytes", site->untouched_bytes),
			     allo_case_bytes(at, "of_bytes", site->counted_bytes),
			     allo_case_blocks(at, "blocks", site->untouched_blocks));
}

const struct allo_finding_rule allo_rule_low_use = {
	.id = "low-use",
	.title = "only the beginning is used",
	.needs = ALLO_DATA_ALLOCATIONS | ALLO_DATA_READS | ALLO_DATA_BYTE_COUNTS,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_low_use,
	.view = "flame",
	.detects = "The last accessed byte of blocks is in their first 40 %.",
	.why = "The rest of each block is allocated for nothing.",
	.advice = "Start with a smaller buffer and let it grow, or shrink it to its final size.",
};

static bool is_rarely_accessed(uint64_t accesses, uint64_t bytes)
{
	return accesses > 0 && (double)accesses < 0.4 * (double)bytes;
}

static bool judge_low_access(struct allo_case *at)
{
	const struct allo_evidence_site *site = at->found->site;
	uint64_t bytes = site->alloc_bytes, more;

	if (!is_rarely_accessed(site->read_bytes, bytes) ||
	    !is_rarely_accessed(site->write_bytes, bytes) || site->unread_bytes > 0 ||
	    site->unwritten_bytes > 0 ||
	    !are_large(at, ALLO_LOW_ACCESS_SHARE, ALLO_LOW_ACCESS_BYTES, bytes))
		return false;
	more = site->read_bytes > site->write_bytes ? site->read_bytes : site->write_bytes;
	set_bytes(at, bytes - more);
	return allo_case_say(at, "%s in %s were read %.2f times and written %.2f times per byte",
			     allo_case_bytes(at, "bytes", bytes),
			     allo_case_blocks(at, "blocks", site->alloc_blocks),
			     (double)site->read_bytes / (double)bytes,
			     (double)site->write_bytes / (double)bytes);
}

const struct allo_finding_rule allo_rule_low_access = {
	.id = "low-access",
	.title = "large and hardly used",
	.needs = ALLO_DATA_ALLOCATIONS | ALLO_DATA_READS,
	.most = ALLO_SEVERITY_MEDIUM,
	.judge = judge_low_access,
	.view = "flame",
	.detects = "Blocks are read and written less than 0.4 times per byte.",
	.why = "Most of their bytes are never used.",
	.advice = "Allocate less and grow on demand, or choose a denser data structure.",
};
