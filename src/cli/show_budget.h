/*
 * show_budget.h - whether limits are kept, for people, scripts and whatever runs tests.
 */
#ifndef ALLO_CLI_SHOW_BUDGET_H
#define ALLO_CLI_SHOW_BUDGET_H

#include "analysis/budget.h"
#include "cli/common.h"

struct allo_show_budget {
	const struct allo_common *common;
	const char *file, *baseline; /* the latter may be NULL */
	const struct allo_verdicts *verdicts;
	bool is_estimated; /* what is measured */
};

bool allo_show_budget_text(const struct allo_show_budget *show, struct allo_output *out,
			   struct allo_error *err);
void allo_show_budget_json(const struct allo_show_budget *show, struct allo_output *out);

/* JUnit's XML: a test case for each limit. */
void allo_show_budget_junit(const struct allo_show_budget *show, struct allo_output *out);

/* A heading and a table, as GitHub shows them. */
void allo_show_budget_markdown(const struct allo_show_budget *show, struct allo_output *out);

#endif
