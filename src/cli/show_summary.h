/*
 * show_summary.h - the page to read first, as text and as JSON.
 */
#ifndef ALLO_CLI_SHOW_SUMMARY_H
#define ALLO_CLI_SHOW_SUMMARY_H

#include "analysis/overview.h"
#include "cli/common.h"
#include "replay/marks.h"
#include "replay/summary.h"
#include "replay/timeline.h"

/* What to do next. */
struct allo_advice {
	char *command; /* owned */
	const char *about;
};

enum { ALLO_ADVICE_MOST = 3 };

/* All that there is to show. */
struct allo_page {
	const char *file;
	const struct allo_profile *profile;
	struct allo_overview overview;
	struct allo_advice advice[ALLO_ADVICE_MOST];
	size_t advice_count;
	/* Of a recording, or NULL. */
	const struct allo_recording *recording;
	const struct allo_timeline *timeline;
	const struct allo_summary *summary;
	const struct allo_marks *marks;
	/* How. */
	const struct allo_common *common;
	size_t rows; /* of each table; 0: all */
	bool is_ascii;
};

/* How many rows of so many are shown. */
static inline size_t allo_page_rows(const struct allo_page *page, size_t count)
{
	return page->rows > 0 && page->rows < count ? page->rows : count;
}

/* Rows that have something themselves: others are only on the way. */
static inline size_t allo_top_own_rows(const struct allo_top *top)
{
	size_t count = 0;

	while (count < top->rows.len && top->rows.at[count].self.value != 0)
		count++;
	return count;
}

/* What a thread's samples add up to, in the columns of a table. */
static inline struct allo_values allo_thread_values(const struct allo_label_sum *row,
						    const struct allo_columns *columns)
{
	return (struct allo_values){ .value = row->sums[columns->metric],
				     .variance = row->variances[columns->metric],
				     .blocks = columns->has_blocks ? row->sums[columns->blocks]
								   : 0 };
}

/* Whether it is known, and asked for, how far off estimates may be. */
static inline bool allo_page_has_margins(const struct allo_page *page)
{
	return page->common->verbose && page->profile->variances.len > 0;
}

void allo_page_done(struct allo_page *page);

bool allo_show_summary(struct allo_output *out, const struct allo_page *page,
		       struct allo_error *err);
void allo_show_json_summary(struct allo_output *out, const struct allo_page *page);

#endif
