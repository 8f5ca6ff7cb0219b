/*
 * findings.h - rules that look for wasteful uses of memory, and the places that they find.
 *
 * The table allo_finding_rules is the catalogue: one entry per rule.  A rule judges one site at a
 * time, or the whole program, and fills a finding.  Rules are pure functions of the evidence.
 */
#ifndef ALLO_FINDINGS_FINDINGS_H
#define ALLO_FINDINGS_FINDINGS_H

#include "findings/evidence.h"
#include "findings/thresholds.h"

enum allo_severity { ALLO_SEVERITY_LOW, ALLO_SEVERITY_MEDIUM, ALLO_SEVERITY_HIGH };

/* "low", "medium", "high"; NULL ends. */
extern const char *const allo_severity_names[];

/* The unit of an estimated saving. */
enum allo_saving {
	ALLO_SAVES_NOTHING,
	ALLO_SAVES_PEAK_BYTES,
	ALLO_SAVES_END_BYTES,
	ALLO_SAVES_COPIED_BYTES,
	ALLO_SAVES_ALLOC_BYTES,
	ALLO_SAVES_BLOCKS,
	ALLO_SAVES_RESIDENT_BYTES,
};

/* "peak_bytes", ...: for programs; and the words after the number, for people. */
struct allo_saving_kind {
	const char *name, *words;
	enum allo_unit unit;
};

extern const struct allo_saving_kind allo_saving_kinds[];

struct allo_finding_rule;

enum { ALLO_FINDING_NUMBERS = 6 };

struct allo_finding {
	const struct allo_finding_rule *rule;
	const struct allo_evidence_site *site; /* NULL: the whole program */
	allo_stack_id stack;                   /* one of the site's; 0 without a site */
	enum allo_severity severity;
	double cost;          /* share of the program's cost, at most 1 */
	const char *sentence; /* without a full stop */
	enum allo_saving saving;
	uint64_t saved;
	uint64_t from_ns, to_ns; /* of the view; both 0: the whole run */
	struct {
		const char *name;
		uint64_t value;
	} numbers[ALLO_FINDING_NUMBERS]; /* those of the sentence; a NULL name ends */
};

/* A site that a rule judges, and the finding that it fills. */
struct allo_case {
	const struct allo_evidence *evidence;
	const double *limits; /* by enum allo_threshold */
	struct allo_arena *arena;
	struct allo_finding *found; /* `rule` and `site` are set */
};

struct allo_finding_rule {
	const char *id, *title;
	unsigned needs;          /* enum allo_data */
	enum allo_severity most; /* a rule that may be wrong has a limit */
	bool is_whole;           /* judges the program; it may choose a site */
	bool (*judge)(struct allo_case *at);
	const char *view;    /* of the viewer: "flame" */
	const char *detects; /* these three are sentences */
	const char *why, *advice;
};

/* NULL ends. */
extern const struct allo_finding_rule *const allo_finding_rules[];
enum { ALLO_FINDING_RULES_MOST = 32 };

/* The rule with an id, or NULL. */
const struct allo_finding_rule *allo_finding_rule_find(const char *id);

/* Of one rule, by default: more would hide other rules. */
enum { ALLO_FINDINGS_OF_RULE = 3 };

struct allo_findings_options {
	struct allo_thresholds thresholds;
	enum allo_severity least;
	const struct allo_finding_rule *only; /* NULL: all rules */
	size_t most_of_rule;                  /* more findings of a rule are counted only; 0: all */
	bool is_ignored[ALLO_FINDING_RULES_MOST]; /* by index in allo_finding_rules */
};

/* All zeros: nothing to drop.  The evidence must stay as long. */
struct allo_findings {
	ALLO_VEC(struct allo_finding) list;        /* most severe first */
	size_t counts[3];                          /* by severity, of the list */
	size_t more[ALLO_FINDING_RULES_MOST];      /* findings that are not in the list, by rule */
	unsigned missing[ALLO_FINDING_RULES_MOST]; /* data that a rule lacks, by rule; 0: it was
						      checked */

	/* Private. */
	struct allo_arena arena;
};

/* Applies the rules.  The same evidence gives the same list. */
bool allo_findings_of(struct allo_findings *findings, const struct allo_evidence *evidence,
		      const struct allo_findings_options *options, struct allo_error *err);

void allo_findings_done(struct allo_findings *findings);

#endif
