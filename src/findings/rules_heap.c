/* rules_heap.c - the shape of the heap over time. */
#include "findings/judge.h"

#include <stdio.h>
#include <stdlib.h>

/* Sites by a value, the largest first; ties by number, so that the order is always the same. */
struct ranked {
	const struct allo_evidence_site *site;
	uint64_t value;
};

static void rank(struct ranked *best, size_t most, const struct allo_evidence_site *site,
		 uint64_t value)
{
	size_t i = most;

	while (i > 0 && value > best[i - 1].value)
		i--;
	if (i == most)
		return;
	memmove(&best[i + 1], &best[i], (most - 1 - i) * sizeof(*best));
	best[i] = (struct ranked){ site, value };
}

/* "parse (12.0 MiB), read_file (4.00 MiB)" */
static const char *say_ranked(struct allo_case *at, const struct ranked *best, size_t count)
{
	const char *said = "";

	for (size_t i = 0; i < count && best[i].site; i++)
		said = allo_case_text(at, "%s%s%s (%s)", said, i ? ", " : "",
				      allo_case_site(at, best[i].site),
				      allo_case_bytes(at, NULL, best[i].value));
	return said;
}

enum { NAMED_SITES = 3 };

static int compare_levels(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Live bytes at the end of each step, sorted; in the arena. */
static uint64_t *sorted_levels(struct allo_case *at)
{
	const struct allo_timeline *timeline = at->evidence->in.timeline;
	size_t count = timeline->steps.len;
	uint64_t *levels = ALLO_ARENA_NEW(at->arena, count + 1, uint64_t);

	for (size_t i = 0; levels && i < count; i++)
		levels[i] = timeline->steps.at[i].end_bytes;
	if (levels)
		qsort(levels, count, sizeof(*levels), compare_levels);
	return levels;
}

/* The first and the last step that hold more than `level`. */
static bool find_burst(const struct allo_timeline *timeline, uint64_t level, size_t *first,
		       size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < timeline->steps.len; i++) {
		if (timeline->steps.at[i].max_bytes <= level)
			continue;
		*first = *count == 0 ? i : *first;
		*count = i + 1 - *first;
	}
	return *count > 0 && *count * 20 <= timeline->steps.len;
}

/* The sites that hold more at the peak than in the step of their curves before the burst. */
static void rank_rise(struct allo_case *at, struct ranked best[NAMED_SITES], uint64_t burst_ns)
{
	const struct allo_evidence *evidence = at->evidence;
	uint64_t step_ns = evidence->in.facts->step_ns;
	uint64_t before_ns = burst_ns > step_ns ? burst_ns - step_ns : UINT64_MAX;

	for (size_t i = 0; i < evidence->sites.len; i++) {
		const struct allo_evidence_site *site = &evidence->sites.at[i];
		uint64_t before = allo_site_live_at(evidence, site, before_ns);

		if (site->peak_bytes > before)
			rank(best, NAMED_SITES, site, site->peak_bytes - before);
	}
}

static bool judge_spike(struct allo_case *at)
{
	const struct allo_timeline *timeline = at->evidence->in.timeline;
	const uint64_t *levels = sorted_levels(at);
	struct ranked best[NAMED_SITES] = { 0 };
	uint64_t usual, rise, step_ns = timeline->step_ns;
	uint64_t duration_ns = timeline->end_ns - timeline->from_ns;
	size_t first = 0, count;

	if (!levels || timeline->steps.len < 20 ||
	    !allo_case_reaches(at, ALLO_SPIKE_DURATION, (double)duration_ns))
		return false;
	usual = levels[timeline->steps.len * 95 / 100];
	rise = timeline->peak_bytes > usual ? timeline->peak_bytes - usual : 0;
	if (!allo_case_reaches(at, ALLO_SPIKE_BYTES, (double)rise) ||
	    (double)timeline->peak_bytes < at->limits[ALLO_SPIKE_FACTOR] * (double)usual ||
	    !find_burst(timeline, usual + rise / 2, &first, &count))
		return false;
	rank_rise(at, best, first * step_ns);
	at->found->site = best[0].site;
	allo_case_cost(at, (double)rise, (double)timeline->peak_bytes);
	allo_case_saves(at, ALLO_SAVES_PEAK_BYTES, rise);
	allo_case_range(at, first * step_ns, (first + count) * step_ns);
	return allo_case_say(
		at,
		"the peak of %s is %.1f times the level that 95%% of the run stays "
		"below, for %s of the run; largest rises: %s",
		allo_case_bytes(at, "peak_bytes", timeline->peak_bytes),
		(double)timeline->peak_bytes / (double)(usual ? usual : 1),
		allo_case_share(at, (double)count * (double)step_ns, (double)duration_ns),
		say_ranked(at, best, NAMED_SITES));
}

const struct allo_finding_rule allo_rule_spike = {
	.id = "spike",
	.title = "short burst makes the peak",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_HIGH,
	.is_whole = true,
	.judge = judge_spike,
	.view = "timeline",
	.detects =
		"The peak is at least twice the level that 95 % of the run stays below, and lasts "
		"less than 5 % of the run.",
	.why = "The machine or container must have this memory, although it is rarely used.",
	.advice = "Process the data in pieces, or free one intermediate result before the next one "
		  "is made.",
};

/* Live bytes after a twentieth of the run. */
static uint64_t live_early(const struct allo_timeline *timeline)
{
	return timeline->steps.at[timeline->steps.len / 20].end_bytes;
}

static bool judge_startup(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	const struct allo_timeline *timeline = evidence->in.timeline;
	uint64_t early, early_ns = evidence->duration_ns / 20;
	struct ranked best[NAMED_SITES] = { 0 };

	if (timeline->steps.len < 20 ||
	    !allo_case_reaches(at, ALLO_STARTUP_DURATION, (double)evidence->duration_ns))
		return false;
	early = live_early(timeline);
	if (!allo_case_reaches(at, ALLO_STARTUP_BYTES, (double)early) ||
	    !allo_case_reaches_share(at, ALLO_STARTUP_SHARE, (double)early,
				     (double)timeline->peak_bytes))
		return false;
	for (size_t i = 0; i < evidence->sites.len; i++)
		rank(best, NAMED_SITES, &evidence->sites.at[i],
		     allo_site_live_at(evidence, &evidence->sites.at[i], early_ns));
	at->found->site = best[0].site;
	allo_case_cost(at, (double)early, (double)timeline->peak_bytes);
	allo_case_range(at, 0, early_ns);
	return allo_case_say(at,
			     "after 5%% of the run %s are live, %s of the peak; largest sites: %s",
			     allo_case_bytes(at, "live_bytes", early),
			     allo_case_share(at, (double)early, (double)timeline->peak_bytes),
			     say_ranked(at, best, NAMED_SITES));
}

const struct allo_finding_rule allo_rule_startup = {
	.id = "startup",
	.title = "heavy start",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_LOW,
	.is_whole = true,
	.judge = judge_startup,
	.view = "timeline",
	.detects =
		"A run of at least a second holds at least 20 % of its peak after the first 5 % of "
		"its time.",
	.why = "The program pays for this memory even if it has little to do.",
	.advice = "Load tables when they are needed for the first time, or map them from a file.",
};

/* Two copies. */

enum { COMPARED_SITES = 16 };

static bool are_copies(const struct ranked *a, const struct ranked *b)
{
	uint64_t larger = a->value, smaller = b->value;

	return a->site->curve && b->site->curve && (larger - smaller) * 50 <= larger &&
	       allo_curve_correlation(a->site->curve, b->site->curve) > 0.98;
}

static bool find_copies(struct allo_case *at, const struct ranked *best, size_t *first,
			size_t *second)
{
	double peak = (double)at->evidence->sum.peak_bytes;

	for (size_t i = 0; i < COMPARED_SITES && best[i].site; i++) {
		for (size_t j = i + 1; j < COMPARED_SITES && best[j].site; j++) {
			double bytes = (double)best[j].value;

			if (!allo_case_reaches_share(at, ALLO_DOUBLE_BUFFER_SHARE, bytes, peak) ||
			    !allo_case_reaches(at, ALLO_DOUBLE_BUFFER_BYTES, bytes) ||
			    !are_copies(&best[i], &best[j]))
				continue;
			*first = i;
			*second = j;
			return true;
		}
	}
	return false;
}

static bool judge_copies(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	struct ranked best[COMPARED_SITES] = { 0 };
	size_t first, second;

	for (size_t i = 0; i < evidence->sites.len; i++)
		rank(best, COMPARED_SITES, &evidence->sites.at[i],
		     evidence->sites.at[i].peak_bytes);
	if (!find_copies(at, best, &first, &second))
		return false;
	at->found->site = best[first].site;
	allo_case_cost(at, (double)best[second].value, (double)evidence->sum.peak_bytes);
	allo_case_saves(at, ALLO_SAVES_PEAK_BYTES, best[second].value);
	return allo_case_say(at,
			     "%s at the peak, and as much in %s (%s), which grows and shrinks with "
			     "it: maybe two copies of the same data",
			     allo_case_bytes(at, "peak_bytes", best[first].value),
			     allo_case_site(at, best[second].site),
			     allo_case_bytes(at, "other_peak_bytes", best[second].value));
}

const struct allo_finding_rule allo_rule_double_buffer = {
	.id = "double-buffer",
	.title = "two copies at the peak",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT,
	.most = ALLO_SEVERITY_MEDIUM,
	.is_whole = true,
	.judge = judge_copies,
	.view = "timeline",
	.detects = "Two sites hold the same number of bytes at the peak, within 2 %, and grow and "
		   "shrink together.",
	.why = "If one is a copy of the other, the peak is larger than it has to be.",
	.advice = "Move the data instead of copying it, work in place, or free the source first.",
};

/* Fragmentation. */

/* The unused part of malloc's memory in each step after the peak, sorted; its median. */
static uint64_t median_unused(struct allo_case *at, uint64_t *resident)
{
	const struct allo_timeline *timeline = at->evidence->in.timeline;
	size_t from = timeline->step_ns ? (size_t)(timeline->peak_ns / timeline->step_ns) + 1 : 0;
	size_t to = timeline->steps.len * 95 / 100, count = 0;
	uint64_t *unused = ALLO_ARENA_NEW(at->arena, timeline->steps.len + 1, uint64_t);

	*resident = 0;
	for (size_t i = from; unused && i < to; i++) {
		uint64_t now = at->evidence->in.resident[i];
		uint64_t used = timeline->steps.at[i].max_bytes;

		if (now == 0)
			continue;
		unused[count++] = now > used ? now - used : 0;
		*resident = now > *resident ? now : *resident;
	}
	if (count < 5)
		return 0;
	qsort(unused, count, sizeof(*unused), compare_levels);
	return unused[count / 2];
}

static bool judge_fragments(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	struct ranked best[NAMED_SITES] = { 0 };
	uint64_t resident, unused = median_unused(at, &resident);

	if (evidence->duration_ns < evidence->peak_ns ||
	    !allo_case_reaches(at, ALLO_FRAGMENTATION_DURATION,
			       (double)(evidence->duration_ns - evidence->peak_ns)) ||
	    !allo_case_reaches(at, ALLO_FRAGMENTATION_BYTES, (double)unused) ||
	    !allo_case_reaches_share(at, ALLO_FRAGMENTATION_SHARE, (double)unused,
				     (double)resident))
		return false;
	for (size_t i = 0; i < evidence->sites.len; i++)
		rank(best, NAMED_SITES, &evidence->sites.at[i],
		     allo_site_live_at(evidence, &evidence->sites.at[i],
				       evidence->duration_ns / 10 * 9));
	at->found->site = best[0].site;
	allo_case_cost(at, (double)unused, (double)resident);
	allo_case_saves(at, ALLO_SAVES_RESIDENT_BYTES, unused);
	allo_case_range(at, evidence->peak_ns, evidence->duration_ns);
	return allo_case_say(at,
			     "after the peak, %s of malloc's resident memory are not in use, %s of "
			     "it; blocks that stay: %s",
			     allo_case_bytes(at, "unused_bytes", unused),
			     allo_case_share(at, (double)unused, (double)resident),
			     say_ranked(at, best, NAMED_SITES));
}

const struct allo_finding_rule allo_rule_fragmentation = {
	.id = "fragmentation",
	.title = "freed memory stays resident",
	.needs = ALLO_DATA_EVENTS | ALLO_DATA_EXACT | ALLO_DATA_RESIDENT,
	.most = ALLO_SEVERITY_MEDIUM,
	.is_whole = true,
	.judge = judge_fragments,
	.view = "timeline",
	.detects =
		"For most of the time after the peak, at least 30 % of malloc's resident memory is "
		"free.",
	.why = "Blocks that live on keep the pages around them, so the system does not get them back.",
	.advice = "Allocate long-lived blocks before the peak or from a pool of their own; "
		  "malloc_trim() returns free pages.",
};
