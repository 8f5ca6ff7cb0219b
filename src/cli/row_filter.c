/* row_filter.c - ranges of sizes and lifetimes, labels, and the frames that --focus wants. */
#include "cli/row_filter.h"

#include "base/defer.h"
#include "replay/site_labels.h"

#include <stdlib.h>

#define AT(field) offsetof(struct allo_row_options, field)

static const struct allo_option row_options[] = {
	OPT_TEXT(0, "size", "RANGE", size,
		 "only blocks of A to B bytes: 1M.., ..64, 100..200, or 24 alone"),
	OPT_TEXT(0, "lifetime", "RANGE", lifetime,
		 "only freed blocks that lived from A to B: ..1ms, 2s..; the lifetime of a block "
		 "that realloc resized begins with the first allocation"),
	OPT_FLAG(0, "live", is_live, "only blocks that were never freed"),
	OPT_END,
};
const struct allo_option_group allo_row_group = { "Blocks", row_options };

static bool parse_end(struct allo_text text, const char *option, uint64_t *end,
		      bool (*parse)(struct allo_text text, uint64_t *value), struct allo_error *err)
{
	if (text.len == 0 || parse(text, end))
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s: '%.*s' is not a number", option,
		  ALLO_TEXT_ARG(text));
	return allo_hint(err, "a range is 'A..B', 'A..', '..B' or 'A', such as --size 4K..1M");
}

bool allo_range_parse(struct allo_range *range, const char *option, const char *text,
		      bool (*parse)(struct allo_text text, uint64_t *value), struct allo_error *err)
{
	const char *dots = strstr(text, "..");
	struct allo_text from = allo_text_of(text), to = from;

	*range = (struct allo_range){ 0, UINT64_MAX };
	if (dots) {
		from.len = (size_t)(dots - text);
		to = allo_text_of(dots + 2);
	}
	if (from.len + to.len == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s: a range has to have an end",
				 option);
	if (!parse_end(from, option, &range->from, parse, err) ||
	    !parse_end(to, option, &range->to, parse, err))
		return false;
	return range->from <= range->to ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--%s: '%s' ends before it begins", option,
			 text);
}

bool allo_row_filter_init(struct allo_row_filter *filter, const struct allo_row_options *options,
			  struct allo_error *err)
{
	filter->options = options;
	if (options->is_live && options->lifetime)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--live and --lifetime exclude each other: what was never freed "
				 "has not ended");
	return allo_common_labels(&options->common, &filter->labels, err) &&
	       (!options->size ||
		allo_range_parse(&filter->size, "size", options->size, allo_parse_bytes, err)) &&
	       (!options->lifetime || allo_range_parse(&filter->lifetime, "lifetime",
						       options->lifetime, allo_parse_ns, err));
}

void allo_row_filter_done(struct allo_row_filter *filter)
{
	allo_row_stacks_done(&filter->stacks);
	free(filter->set_masks);
	free(filter->stream_masks);
}

static bool is_within(struct allo_range range, uint64_t value)
{
	return range.from <= value && value <= range.to;
}

/* Matches the labels of each set and each thread of a recording once. */
static bool judge_labels(struct allo_row_filter *filter, const struct allo_recording *recording,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	if (filter->labels.count == 0 || filter->set_masks)
		return true;
	filter->set_masks = calloc(recording->label_sets.len + 1, sizeof(*filter->set_masks));
	filter->stream_masks = calloc(recording->streams.len + 1, sizeof(*filter->stream_masks));
	if (!filter->set_masks || !filter->stream_masks)
		return allo_fail_memory(err);
	for (size_t i = 1; i < recording->label_sets.len; i++)
		filter->set_masks[i] = allo_label_filter_mask(
			&filter->labels, &profile,
			allo_set_labels_add(&profile, recording, (uint32_t)i, err));
	for (size_t i = 0; i < recording->streams.len; i++)
		filter->stream_masks[i] = allo_label_filter_mask(
			&filter->labels, &profile,
			allo_site_labels_add(&profile, recording,
					     &(struct allo_site_key){ .stream = (uint32_t)i }, true,
					     err));
	return !allo_failed(err);
}

static bool has_labels(const struct allo_row_filter *filter, const struct allo_block_row *row)
{
	uint32_t all = (1u << filter->labels.count) - 1;
	uint32_t met;

	if (!filter->set_masks)
		return true;
	met = filter->set_masks[allo_row_filter_labels(filter, row)];
	if (row->alloc_stream < filter->source->recording.streams.len)
		met |= filter->stream_masks[row->alloc_stream];
	return met == all;
}

bool allo_row_filter_find_stacks(struct allo_row_filter *filter, struct allo_source *source,
				 struct allo_error *err)
{
	return allo_common_filter(&filter->options->common, true, &filter->stacks.filter, err) &&
	       allo_row_stacks_find(&filter->stacks, source, err);
}

bool allo_row_filter_ask(struct allo_row_filter *filter, struct allo_source *source,
			 struct allo_question *question, struct allo_error *err)
{
	const struct allo_recording *recording = &source->recording;
	const struct allo_row_stacks *stacks = &filter->stacks;

	if (!judge_labels(filter, recording, err))
		return false;
	allo_question_add(question, &filter->size, sizeof(filter->size));
	allo_question_add(question, &filter->lifetime, sizeof(filter->lifetime));
	allo_question_add(question, &filter->options->is_live, sizeof(filter->options->is_live));
	allo_question_add(question, stacks->is_kept, stacks->count * sizeof(*stacks->is_kept));
	if (!filter->set_masks)
		return true;
	allo_question_add(question, &filter->labels.count, sizeof(filter->labels.count));
	allo_question_add(question, filter->set_masks,
			  recording->label_sets.len * sizeof(*filter->set_masks));
	allo_question_add(question, filter->stream_masks,
			  recording->streams.len * sizeof(*filter->stream_masks));
	return true;
}

bool allo_row_filter_rows(struct allo_row_filter *filter, struct allo_source *source,
			  allo_take_rows *take, void *context, struct allo_error *err)
{
	filter->source = source;
	return judge_labels(filter, &source->recording, err) &&
	       allo_source_block_rows(source, take, context, err);
}

bool allo_row_filter_keeps(const struct allo_row_filter *filter, const struct allo_block_row *row)
{
	const struct allo_row_options *options = filter->options;
	uint64_t ns;

	if (options->size && !is_within(filter->size, row->size))
		return false;
	if (options->lifetime && !(allo_row_lifetime(row, &ns) && is_within(filter->lifetime, ns)))
		return false;
	if (options->is_live && row->free_ns != ALLO_NEVER)
		return false;
	return has_labels(filter, row) &&
	       allo_row_stacks_keep(&filter->stacks, allo_row_filter_node(filter, row));
}
