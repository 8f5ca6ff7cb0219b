/*
 * show_verdicts.h - the results of 'allo budget' in words, and as a table.
 */
#ifndef ALLO_CLI_SHOW_VERDICTS_H
#define ALLO_CLI_SHOW_VERDICTS_H

#include "analysis/budget.h"
#include "report/report.h"

/* The verdicts on a profile, and the settings of their presentation. */
struct allo_judgement {
	const struct allo_verdicts *verdicts;
	const char *name;     /* of the profile, or of several */
	const char *file;     /* the first of them */
	const char *baseline; /* NULL: none */
	bool is_estimated;    /* the measured numbers */
	bool is_complete;     /* no data are missing, or the user accepts that */
	bool is_plain, full_names;
	const char *root; /* of source files: see report/sarif.h */
};

enum { ALLO_VERDICT_WORDS_SIZE = 160 };

/* A verdict in words. */
struct allo_verdict_words {
	char measured[ALLO_VERDICT_WORDS_SIZE];
	char allowed[ALLO_VERDICT_WORDS_SIZE];
	char *why; /* empty: nothing to explain; NULL: out of memory */
};

void allo_verdict_words_done(struct allo_verdict_words *words);

void allo_verdict_describe(const struct allo_judgement *judgement,
			   const struct allo_verdict *verdict, struct allo_verdict_words *words);

/* "1 of 3 limits exceeded" */
const char *allo_judgement_sum(const struct allo_judgement *judgement,
			       char out[ALLO_VERDICT_WORDS_SIZE]);

/* A row for each limit. */
void allo_report_verdicts(struct allo_report *report, const struct allo_judgement *judgement);

/* The same, and the sum. */
void allo_report_judgement(struct allo_report *report, const struct allo_judgement *judgement);

#endif
