/*
 * judge.h - helpers for the functions that judge a site: sentences and numbers.
 */
#ifndef ALLO_FINDINGS_JUDGE_H
#define ALLO_FINDINGS_JUDGE_H

#include "findings/findings.h"

/* The sentence of the finding.  Returns true, so that a rule ends with it. */
bool allo_case_say(struct allo_case *at, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A part of the sentence. */
const char *allo_case_text(struct allo_case *at, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Numbers for the sentence, which also go to programs under `name`. */
const char *allo_case_bytes(struct allo_case *at, const char *name, uint64_t bytes);
const char *allo_case_count(struct allo_case *at, const char *name, uint64_t count);

/* "1 block", "20,000 blocks" */
const char *allo_case_blocks(struct allo_case *at, const char *name, uint64_t blocks);

/* "48.8%", for people only. */
const char *allo_case_share(struct allo_case *at, double part, double whole);

/* The short name of a site, for sentences about several. */
const char *allo_case_site(struct allo_case *at, const struct allo_evidence_site *site);

/* The cost as a share, and the estimated saving. */
void allo_case_cost(struct allo_case *at, double part, double whole);
void allo_case_saves(struct allo_case *at, enum allo_saving saving, uint64_t saved);

/* The part of the run that the viewer should show. */
void allo_case_range(struct allo_case *at, uint64_t from_ns, uint64_t to_ns);

/* Whether a number reaches a threshold; or a part reaches one as a share. */
static inline bool allo_case_reaches(const struct allo_case *at, enum allo_threshold threshold,
				     double value)
{
	return value >= at->limits[threshold];
}

static inline bool allo_case_reaches_share(const struct allo_case *at,
					   enum allo_threshold threshold, double part, double whole)
{
	return part > 0 && part >= at->limits[threshold] * whole;
}

/* The rules. */
extern const struct allo_finding_rule allo_rule_leak_growing, allo_rule_leak_exit;
extern const struct allo_finding_rule allo_rule_grow_by_one, allo_rule_growth_factor;
extern const struct allo_finding_rule allo_rule_churn_loop, allo_rule_temp_format,
	allo_rule_same_size, allo_rule_tiny, allo_rule_zero_size, allo_rule_cross_thread;
extern const struct allo_finding_rule allo_rule_double_buffer, allo_rule_spike, allo_rule_late_free,
	allo_rule_startup, allo_rule_fragmentation;
extern const struct allo_finding_rule allo_rule_never_read, allo_rule_never_written,
	allo_rule_low_use, allo_rule_low_access;
extern const struct allo_finding_rule allo_rule_quality;

/* Whether most blocks of a site could have been one block. */
bool allo_site_is_churn(const struct allo_evidence_site *site);

/* The live bytes of a site at a time, from its curve; 0 without one. */
uint64_t allo_site_live_at(const struct allo_evidence *evidence,
			   const struct allo_evidence_site *site, uint64_t ns);

#endif
