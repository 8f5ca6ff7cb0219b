/*
 * live_page.h - the page of 'allo live' as a report.
 */
#ifndef ALLO_CLI_LIVE_PAGE_H
#define ALLO_CLI_LIVE_PAGE_H

#include "cli/common.h"
#include "cli/live/live_state.h"

/* The contents of the page; it owns nothing. */
struct allo_live_page {
	const struct allo_common *common;
	const struct allo_live_heap *heap;
	struct allo_live_sites *sites;
	struct allo_live_shown shown;
	const struct allo_live_row *site; /* whose callers are shown; NULL: all sites are */
	bool has_growth;                  /* the page is not the only one */
	const char *patterns;             /* of the filter, as options; empty: none */
};

/* Prints the page; JSON takes one line. */
void allo_live_page_print(const struct allo_live_page *page, struct allo_output *out);

/* The parts of the page, for a screen: the process, its totals, its rates and growth, the filter or
 * the site, and some of the rows. */
void allo_live_page_process(struct allo_report *report, const struct allo_live_page *page);
void allo_live_page_totals(struct allo_report *report, const struct allo_live_page *page);
void allo_live_page_rates(struct allo_report *report, const struct allo_live_page *page);
void allo_live_page_selection(struct allo_report *report, const struct allo_live_page *page);
void allo_live_page_rows(struct allo_report *report, const struct allo_live_page *page,
			 size_t first, size_t count);

/* Whether there is a selection: rows are not those of the whole heap. */
bool allo_live_page_has_selection(const struct allo_live_page *page);

/* "12 s", "3 min 5 s", "2 h 14 min": for sentences. */
const char *allo_report_elapsed(struct allo_report *report, uint64_t ns);

#endif
