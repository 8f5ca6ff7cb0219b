/* rules_leaks.c - memory that is never freed, or freed long after its use. */
#include "findings/judge.h"

/* The last three quarters: programs fill their tables at the beginning. */
static size_t trend_from(const struct allo_curve *curve)
{
	return (size_t)curve->filled / 4;
}

/* A rise in a few large steps is no trend: tables that double, caches that are made one by one. Nor
 * is a single buffer that grows: its steps in time depend on the speed of the machine. */
enum { RISES_LEAST = 16 };

static size_t count_rises(const struct allo_curve *curve, size_t from)
{
	size_t count = 0;

	for (size_t i = from + 1; i < curve->filled; i++)
		count += curve->live[i] > curve->live[i - 1];
	return count;
}

/* Whether live bytes rise through the run, up to its end. */
static bool is_growing(const struct allo_case *at, const struct allo_evidence_site *site,
		       struct allo_trend *trend)
{
	const struct allo_curve *curve = site->curve;
	size_t from = curve ? trend_from(curve) : 0;

	if (!curve || site->end_blocks < RISES_LEAST || count_rises(curve, from) < RISES_LEAST)
		return false;
	*trend = allo_curve_trend(curve, from);
	return trend->slope > 0 && allo_case_reaches(at, ALLO_LEAK_GROWING_R2, trend->r2) &&
	       curve->live[curve->filled - 1] > curve->live[curve->filled * 3 / 4];
}

static bool is_large_growth(const struct allo_case *at, const struct allo_evidence_site *site)
{
	return allo_case_reaches_share(at, ALLO_LEAK_GROWING_SHARE, (double)site->end_bytes,
				       (double)at->evidence->sum.end_bytes) &&
	       allo_case_reaches(at, ALLO_LEAK_GROWING_BYTES, (double)site->end_bytes);
}

/* Programs allocate while they start: a rise in a short run is no leak yet. */
static bool is_growing_leak(const struct allo_case *at, const struct allo_evidence_site *site,
			    struct allo_trend *trend)
{
	return allo_case_reaches(at, ALLO_LEAK_GROWING_DURATION,
				 (double)at->evidence->duration_ns) &&
	       is_large_growth(at, site) && is_growing(at, site, trend);
}

static bool judge_growing(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	const struct allo_evidence_site *site = at->found->site;
	struct allo_trend trend;
	uint64_t from_ns, rate;

	if (!allo_evidence_is_own(site) || !is_growing_leak(at, site, &trend))
		return false;
	from_ns = trend_from(site->curve) * evidence->in.facts->step_ns;
	rate = (uint64_t)(trend.slope * 1e9 / (double)evidence->in.facts->step_ns);
	at->found->stack = site->end_stack;
	allo_case_cost(at, (double)site->end_bytes, (double)evidence->sum.peak_bytes);
	allo_case_saves(at, ALLO_SAVES_END_BYTES, site->end_bytes);
	allo_case_range(at, from_ns, evidence->duration_ns);
	return allo_case_say(at,
			     "%s in %s were never freed, and grew by %s per second until the "
			     "end",
			     allo_case_bytes(at, "end_bytes", site->end_bytes),
			     allo_case_blocks(at, "end_blocks", site->end_blocks),
			     allo_case_bytes(at, "bytes_per_second", rate));
}

const struct allo_finding_rule allo_rule_leak_growing = {
	.id = "leak-growing",
	.title = "leak that grows",
	.needs = ALLO_DATA_END | ALLO_DATA_EVENTS,
	.most = ALLO_SEVERITY_HIGH,
	.judge = judge_growing,
	.view = "timeline",
	.detects =
		"The live memory of a site rises through the last three quarters of the run, and "
		"at least 16 of its blocks are never freed.",
	.why = "A program that runs longer needs more memory, until none is left.",
	.advice = "Find the owner of these blocks and free them when their work is done, or bound "
		  "the container that holds them.",
};

/* Whether the site made blocks that are never freed until the end, and not only there. */
static bool may_grow(const struct allo_evidence_site *site)
{
	return site->facts.middle_blocks > 0 && site->facts.late_blocks > 0;
}

/* The threshold of leak-growing that a leak misses. */
static const char *doubt_about(const struct allo_case *at, const struct allo_evidence_site *site)
{
	if (!allo_case_reaches(at, ALLO_LEAK_GROWING_DURATION, (double)at->evidence->duration_ns))
		return "the run is too short to be certain";
	return is_large_growth(at, site) ? "it does not grow evenly enough to be certain"
					 : "it is too small to be certain";
}

static bool judge_exit(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	const struct allo_evidence_site *site = at->found->site;
	struct allo_trend trend;
	const char *growth = "";

	if (!allo_evidence_is_own(site) ||
	    !allo_case_reaches_share(at, ALLO_LEAK_EXIT_SHARE, (double)site->end_bytes,
				     (double)evidence->sum.peak_bytes) ||
	    !allo_case_reaches(at, ALLO_LEAK_EXIT_BYTES, (double)site->end_bytes) ||
	    is_growing_leak(at, site, &trend))
		return false;
	at->found->stack = site->end_stack;
	allo_case_cost(at, (double)site->end_bytes, (double)evidence->sum.peak_bytes);
	allo_case_saves(at, ALLO_SAVES_END_BYTES, site->end_bytes);
	if (may_grow(site))
		growth = allo_case_text(
			at,
			"; %s of them %s from the last quarter of the run: the leak may grow, but "
			"%s",
			allo_case_count(at, "late_blocks", site->facts.late_blocks),
			site->facts.late_blocks == 1 ? "is" : "are", doubt_about(at, site));
	return allo_case_say(
		at, "%s in %s were never freed, %s of the peak%s",
		allo_case_bytes(at, "end_bytes", site->end_bytes),
		allo_case_blocks(at, "end_blocks", site->end_blocks),
		allo_case_share(at, (double)site->end_bytes, (double)evidence->sum.peak_bytes),
		growth);
}

const struct allo_finding_rule allo_rule_leak_exit = {
	.id = "leak-exit",
	.title = "never freed",
	.needs = ALLO_DATA_END,
	.most = ALLO_SEVERITY_LOW,
	.judge = judge_exit,
	.view = "leaks",
	.detects =
		"Blocks of a site are live when the program ends. leak-growing does not report them.",
	.why = "A program that runs once gives the memory back when it ends. In a server, in a "
	       "library, or in code that may run again, each round keeps more.",
	.advice =
		"Free the blocks. If the program is to run for long, record a longer run. 'findings"
		".ignore = leak-exit' in allo.conf turns the rule off.",
};

/* Bytes that were allocated in the first tenth of the run and freed in its last twentieth. */
static uint64_t freed_late(const struct allo_case *at, const struct allo_evidence_site *site)
{
	uint64_t steps = at->evidence->in.facts->steps, bytes = 0;

	for (uint64_t i = steps * 95 / 100; site->curve && i < site->curve->filled; i++)
		bytes += site->curve->old_freed[i];
	return bytes;
}

static bool judge_late(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	const struct allo_evidence_site *site = at->found->site;
	uint64_t bytes = freed_late(at, site);

	if (!allo_evidence_is_own(site) ||
	    !allo_case_reaches_share(at, ALLO_LATE_FREE_SHARE, (double)bytes,
				     (double)evidence->sum.peak_bytes) ||
	    !allo_case_reaches(at, ALLO_LATE_FREE_BYTES, (double)bytes))
		return false;
	allo_case_cost(at, (double)bytes, (double)evidence->sum.peak_bytes);
	allo_case_saves(at, ALLO_SAVES_PEAK_BYTES, bytes);
	return allo_case_say(
		at,
		"%s lived from the first tenth of the run to its last twentieth, %s of "
		"the peak",
		allo_case_bytes(at, "bytes", bytes),
		allo_case_share(at, (double)bytes, (double)evidence->sum.peak_bytes));
}

const struct allo_finding_rule allo_rule_late_free = {
	.id = "late-free",
	.title = "freed only at the end",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_LOW,
	.judge = judge_late,
	.view = "timeline",
	.detects = "Blocks of a site are allocated in the first tenth of the run and freed in its "
		   "last twentieth.",
	.why = "If only the start of the program needs them, the peak contains them for nothing.",
	.advice = "Check when they are used for the last time, and free them there.",
};
