/*
 * row_filter.h - options that pick single allocations, and what they leave.
 *
 * A command's own options begin with `struct allo_row_options`.
 */
#ifndef ALLO_CLI_ROW_FILTER_H
#define ALLO_CLI_ROW_FILTER_H

#include "cli/common.h"
#include "engine/cache/answer_cache.h"
#include "engine/row_stacks.h"
#include "replay/top_rows.h"

struct allo_row_options {
	struct allo_common common;
	const char *size, *lifetime;
	bool is_live;
};

extern const struct allo_option_group allo_row_group;

struct allo_range {
	uint64_t from, to; /* both belong to it */
};

/* "A..B", "A..", "..B" or "A" alone; `option` is for messages, `parse` reads a number. */
bool allo_range_parse(struct allo_range *range, const char *option, const char *text,
		      bool (*parse)(struct allo_text text, uint64_t *value),
		      struct allo_error *err);

/* All zeros: nothing to drop. */
struct allo_row_filter {
	const struct allo_row_options *options;
	struct allo_range size, lifetime;
	struct allo_row_stacks stacks;
	struct allo_label_filter labels;
	/* The matches of `labels` that a set of the recording meets, and a thread; NULL: labels do
	 * not matter. */
	uint32_t *set_masks, *stream_masks;

	/* Private from here on. */
	const struct allo_source *source;
};

/* Reads the options. */
bool allo_row_filter_init(struct allo_row_filter *filter, const struct allo_row_options *options,
			  struct allo_error *err);

void allo_row_filter_done(struct allo_row_filter *filter);

/* Names and filters the stacks of a recording. */
bool allo_row_filter_find_stacks(struct allo_row_filter *filter, struct allo_source *source,
				 struct allo_error *err);

/* Adds all to a question that decides which rows are kept. */
bool allo_row_filter_ask(struct allo_row_filter *filter, struct allo_source *source,
			 struct allo_question *question, struct allo_error *err);

/* Hands on all rows of the source's view; the caller asks allo_row_filter_keeps() about each. */
bool allo_row_filter_rows(struct allo_row_filter *filter, struct allo_source *source,
			  allo_take_rows *take, void *context, struct allo_error *err);

/* The stack that a row belongs to, as a node's number. */
static inline uint32_t allo_row_filter_node(const struct allo_row_filter *filter,
					    const struct allo_block_row *row)
{
	return filter->source->replay.keeps_first ? row->first_stack : row->stack;
}

/* Its labels: a set of the recording's. */
static inline uint32_t allo_row_filter_labels(const struct allo_row_filter *filter,
					      const struct allo_block_row *row)
{
	return filter->source->replay.keeps_first ? row->first_labels : row->labels;
}

bool allo_row_filter_keeps(const struct allo_row_filter *filter, const struct allo_block_row *row);

#endif
