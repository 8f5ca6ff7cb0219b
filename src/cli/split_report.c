#include "cli/split_report.h"

#include "analysis/attribution.h"
#include "analysis/label_filter.h"
#include "analysis/label_sums.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "profile/short_name.h"
#include "replay/site_labels.h"
#include "replay/split_timeline.h"
#include "report/chart.h"

#include <stdio.h>
#include <stdlib.h>

/* A value of the property that splits the heap. */
struct group {
	allo_string_id name;
	allo_sum weight; /* the sum of its sites' maxima: a short burst counts as well */
};

/* All zeros: nothing to drop. */
struct split {
	const struct allo_split_options *options;
	struct allo_source *source;
	struct allo_profile profile; /* names the sites; its samples weigh the groups */
	allo_stack_id *stacks;       /* by node */
	struct allo_attribution attribution;
	ALLO_VEC(struct group) groups; /* the heaviest first; the others follow as one */
	ALLO_VEC(uint32_t) numbers;    /* by string: the group's index + 1 */
	struct allo_timeline *timelines;
	size_t count; /* of timelines */
};

static void split_done(struct split *split)
{
	for (size_t i = 0; i < split->count && split->timelines; i++)
		allo_timeline_done(&split->timelines[i]);
	free(split->timelines);
	free(split->stacks);
	allo_attribution_done(&split->attribution);
	allo_vec_done(&split->groups);
	allo_vec_done(&split->numbers);
	allo_profile_done(&split->profile);
}

/* Names of groups. */

/* Of names that are made here; longer ones are cut. */
enum { SCRATCH = 512 };

/* The function that is responsible for a stack, and its line. */
static struct allo_text function_of(struct split *split, allo_stack_id stack, char scratch[SCRATCH],
				    struct allo_line *line)
{
	const struct allo_profile *profile = &split->profile;
	allo_stack_id site = allo_attribution_site(&split->attribution, profile, stack);
	uint32_t call = allo_attribution_site_call(&split->attribution, profile, site);
	const struct allo_frame *frame;

	if (site == 0)
		return ALLO_TEXT("(stack not known)");
	frame = &profile->frames.at[profile->stacks.at[site].frame];
	*line = allo_call_line(profile, frame, call);
	return allo_call_name(profile, frame, call, scratch);
}

/* "parse  app.c:12" */
static struct allo_text site_of(struct split *split, allo_stack_id stack, char scratch[SCRATCH])
{
	char own[SCRATCH];
	struct allo_line line = { 0 };
	struct allo_text name = function_of(split, stack, own, &line);
	struct allo_text file = allo_basename(allo_line_file(&split->profile, line));

	if (file.len == 0 || line.line == 0)
		snprintf(scratch, SCRATCH, "%.*s", (int)(name.len < 400 ? name.len : 400),
			 name.data);
	else
		snprintf(scratch, SCRATCH, "%.*s  %.*s:%u", (int)(name.len < 400 ? name.len : 400),
			 name.data, (int)(file.len < 80 ? file.len : 80), file.data, line.line);
	return allo_text_of(scratch);
}

/* "4711 worker" */
static struct allo_text thread_of(const struct allo_profile *profile, allo_labels_id labels,
				  char scratch[SCRATCH])
{
	const struct allo_label *thread = allo_labels_find(profile, labels, "thread");
	const struct allo_label *name = allo_labels_find(profile, labels, "thread name");
	struct allo_text text = { "", 0 };

	if (name)
		text = allo_profile_text(profile, name->text);
	snprintf(scratch, SCRATCH, "%lld%s%.*s", thread ? (long long)thread->number : 0LL,
		 text.len > 0 ? " " : "", (int)(text.len < 64 ? text.len : 64), text.data);
	return allo_text_of(scratch);
}

static struct allo_text value_of(const struct allo_profile *profile, allo_labels_id labels,
				 const char *key, char scratch[SCRATCH])
{
	const struct allo_label *label = allo_labels_find(profile, labels, key);

	return label ? allo_label_text(profile, label, scratch) : ALLO_TEXT("(no label)");
}

/* The name of a site's group, as a string of the profile. */
static allo_string_id name_site(struct split *split, allo_stack_id stack, allo_labels_id labels,
				struct allo_error *err)
{
	const struct allo_split_options *options = split->options;
	const struct allo_profile *profile = &split->profile;
	char scratch[SCRATCH];
	struct allo_line line;
	struct allo_text name;

	if (options->label)
		name = value_of(profile, labels, options->label, scratch);
	else if (options->by == ALLO_SPLIT_THREAD)
		name = thread_of(profile, labels, scratch);
	else if (options->by == ALLO_SPLIT_SITE)
		name = site_of(split, stack, scratch);
	else
		name = function_of(split, stack, scratch, &line);
	return allo_profile_add_string(&split->profile, name, err);
}

/* Groups. */

static bool weigh(struct split *split, allo_string_id name, allo_sum weight, struct allo_error *err)
{
	struct group group = { .name = name };

	if (!allo_vec_cover(&split->numbers, (size_t)name + 1))
		return allo_fail_memory(err);
	if (split->numbers.at[name] == 0) {
		if (!allo_vec_add(&split->groups, group, err))
			return false;
		split->numbers.at[name] = (uint32_t)split->groups.len;
	}
	split->groups.at[split->numbers.at[name] - 1].weight += weight;
	return true;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Finds the heaviest groups. */
static bool find_groups(struct split *split, struct allo_error *err)
{
	struct allo_profile *profile = &split->profile;
	size_t metric;

	if (!allo_profile_find_metric(profile, ALLO_MAX_BYTES, &metric))
		return allo_fail(err, ALLO_FORMAT,
				 (struct allo_pos){ .file = split->options->file },
				 "has no allocations");
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		allo_string_id name = name_site(split, profile->sample_stacks.at[i],
						allo_profile_labels_of(profile, i), err);

		if (allo_failed(err) || !weigh(split, name,
					       allo_value_of(&profile->metrics.at[metric],
							     allo_profile_row(profile, i)[metric]),
					       err))
			return false;
	}
	if (split->groups.len > 0)
		qsort(split->groups.at, split->groups.len, sizeof(*split->groups.at),
		      compare_groups);
	for (size_t i = 0; i < split->groups.len; i++)
		split->numbers.at[split->groups.at[i].name] = (uint32_t)i + 1;
	return true;
}

/* The timelines. */

static bool group_of(void *context, const struct allo_site_key *key, uint32_t *group,
		     struct allo_error *err)
{
	struct split *split = context;
	size_t others = split->count - 1;
	allo_labels_id labels;
	allo_string_id name;

	*group = (uint32_t)others;
	if (key->stack >= split->source->recording.nodes.len)
		return true;
	labels = allo_site_labels_add(&split->profile, &split->source->recording, key,
				      split->options->by == ALLO_SPLIT_THREAD, err);
	name = name_site(split, split->stacks[key->stack], labels, err);
	if (!allo_failed(err) && name < split->numbers.len && split->numbers.at[name] > 0 &&
	    split->numbers.at[name] <= others)
		*group = split->numbers.at[name] - 1;
	return !allo_failed(err);
}

static bool make_timelines(struct split *split, struct allo_error *err)
{
	const struct allo_split_options *options = split->options;
	struct allo_split_timeline made = { .by_thread = options->by == ALLO_SPLIT_THREAD,
					    .keeps_first = split->source->replay.keeps_first,
					    .group_of = group_of,
					    .context = split };
	size_t shown = split->groups.len;

	if (options->count > 0 && options->count < shown)
		shown = options->count;
	split->count = shown + 1;
	split->timelines = calloc(split->count, sizeof(*split->timelines));
	if (!split->timelines)
		return allo_fail_memory(err);
	for (size_t i = 0; i < split->count; i++)
		split->timelines[i].most = options->most_steps;
	made.groups = split->timelines;
	made.count = split->count;
	return allo_split_timeline_of(&made, &split->source->recording,
				      &split->source->replay.window, err);
}

/* Printing. */

static const char *kind_of(const struct allo_split_options *options)
{
	return options->label                     ? options->label
	       : options->by == ALLO_SPLIT_THREAD ? "thread"
	       : options->by == ALLO_SPLIT_SITE   ? "site"
						  : "function";
}

static struct allo_text name_of(const struct split *split, size_t index)
{
	if (index + 1 == split->count)
		return ALLO_TEXT("(others)");
	return allo_profile_text(&split->profile, split->groups.at[index].name);
}

/* Whether anything is left for the last group. */
static bool is_shown(const struct split *split, size_t index)
{
	return index + 1 < split->count || split->timelines[index].peak_bytes > 0;
}

/* A line of blocks with eight heights, or of ASCII characters with three. */
static const char *sparkline(struct allo_report *report, const struct split *split,
			     const struct allo_timeline *timeline)
{
	enum { COLUMNS = 32 };
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", "-", "=", "#" };
	uint64_t values[COLUMNS] = { 0 },
		 most = timeline->peak_bytes > 0 ? timeline->peak_bytes : 1;
	size_t count = timeline->steps.len;
	char line[4 * COLUMNS + 1] = "";

	for (size_t i = 0; i < count; i++) {
		uint64_t *value = &values[i * COLUMNS / count];
		uint64_t bytes = timeline->steps.at[i].max_bytes;

		*value = bytes > *value ? bytes : *value;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		size_t heights = split->options->is_ascii ? 4 : 8;
		/* Any value but zero is visible. */
		size_t height = (size_t)((double)values[i] / (double)most * (double)heights + 0.5);

		height = values[i] > 0 && height == 0 ? 1 : height > heights ? heights : height;
		strcat(line, split->options->is_ascii ? ascii[height] : blocks[height]);
	}
	return allo_report_string(report, "%s", line);
}

enum { PEAK, PEAK_TIME, END, LINE, NAME, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[PEAK] = { "peak", NULL, "peak_bytes", ALLO_CELL_BYTES },
	[PEAK_TIME] = { "at", NULL, "peak_ns", ALLO_CELL_NS },
	[END] = { "end", NULL, "end_bytes", ALLO_CELL_BYTES },
	[LINE] = { "over time", NULL, NULL, ALLO_CELL_TEXT },
	[NAME] = { "function", NULL, "name", ALLO_CELL_TEXT, .is_bold = true },
};

static const struct allo_report_table table = { "groups", columns, COLUMNS };

static void describe_steps(struct allo_report *report, const char *name,
			   const struct allo_timeline *timeline, size_t offset)
{
	allo_report_list(report, name);
	for (size_t i = 0; i < timeline->steps.len; i++)
		allo_report_field_u64(
			report, NULL,
			*(const uint64_t *)((const char *)&timeline->steps.at[i] + offset));
	allo_report_close(report);
}

/* People see short names of functions. */
static void set_name(struct allo_report *report, const struct split *split, size_t index)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	bool is_function = !split->options->label && split->options->by == ALLO_SPLIT_FUNCTION;
	struct allo_text name = name_of(split, index);

	if (is_function && allo_report_is_prose(report) && !split->options->common->full_names)
		name = allo_short_name(name, ALLO_NAME_BRIEF, &buffer);
	allo_cell_text(report, NAME, name);
}

static void describe_group(struct allo_report *report, const struct split *split, size_t index)
{
	const struct allo_timeline *timeline = &split->timelines[index];

	allo_report_row(report);
	set_name(report, split, index);
	allo_cell_u64(report, PEAK, timeline->peak_bytes);
	allo_cell_u64(report, PEAK_TIME, timeline->peak_ns);
	allo_cell_u64(report, END, timeline->bytes);
	if (allo_report_is_prose(report))
		allo_cell_string(report, LINE, sparkline(report, split, timeline));
	allo_report_field_bool(report, "is_rest", index + 1 == split->count);
	describe_steps(report, "max_bytes", timeline,
		       offsetof(struct allo_timeline_step, max_bytes));
	describe_steps(report, "end_of_step_bytes", timeline,
		       offsetof(struct allo_timeline_step, end_bytes));
}

/* CSV: a row for each step of each group. */

enum { START, GROUP, NUMBERS, STEP_COLUMNS = NUMBERS + 6 };

#define AT(member) ALLO_COLUMN_AT(struct allo_timeline_step, member)
static const struct allo_column step_columns[STEP_COLUMNS] = {
	[START] = { NULL, "start_ns", NULL, ALLO_CELL_ID },
	[GROUP] = { NULL, "group", NULL, ALLO_CELL_TEXT },
	[NUMBERS] = { NULL, "max_bytes", NULL, ALLO_CELL_BYTES, AT(max_bytes) },
	{ NULL, "max_blocks", NULL, AT(max_blocks) },
	{ NULL, "end_bytes", NULL, ALLO_CELL_BYTES, AT(end_bytes) },
	{ NULL, "end_blocks", NULL, AT(end_blocks) },
	{ NULL, "allocations", NULL, AT(allocations) },
	{ NULL, "alloc_bytes", NULL, ALLO_CELL_BYTES, AT(alloc_bytes) },
};
#undef AT

static const struct allo_report_table step_table = { NULL, step_columns, STEP_COLUMNS };

static void describe_csv(struct allo_report *report, const struct split *split)
{
	allo_report_table(report, &step_table);
	for (size_t i = 0; i < split->count; i++) {
		const struct allo_timeline *timeline = &split->timelines[i];

		for (size_t k = 0; k < timeline->steps.len && is_shown(split, i); k++) {
			allo_report_row(report);
			allo_cell_u64(report, START, timeline->from_ns + k * timeline->step_ns);
			allo_cell_text(report, GROUP, name_of(split, i));
			allo_report_numbers(report, &timeline->steps.at[k]);
		}
	}
	allo_report_end_table(report);
}

static void describe(struct allo_report *report, const struct split *split)
{
	const struct allo_timeline *first = &split->timelines[0];
	size_t more = split->groups.len - (split->count - 1);

	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "%s", split->options->file);
	allo_report_put(report, ALLO_STYLE_PLAIN, "   live bytes by %s over %s, in steps of %s",
			kind_of(split->options),
			allo_report_number(report, first->end_ns - first->from_ns, ALLO_UNIT_NS),
			allo_report_number(report, first->step_ns, ALLO_UNIT_NS));
	allo_report_end_line(report);
	allo_report_field_string(report, "by",
				 split->options->label ? "label" : kind_of(split->options));
	if (split->options->label)
		allo_report_field_text(report, "label", allo_text_of(split->options->label));
	allo_report_field_u64(report, "from_ns", first->from_ns);
	allo_report_field_u64(report, "end_ns", first->end_ns);
	allo_report_field_u64(report, "step_ns", first->step_ns);
	allo_report_table(report, &table);
	allo_report_retitle(report, NAME, kind_of(split->options));
	for (size_t i = 0; i < split->count; i++) {
		if (is_shown(split, i))
			describe_group(report, split, i);
	}
	allo_report_end_table(report);
	allo_report_note(report, "each row has its own scale, from 0 to its peak%s",
			 more > 0 ? "; -n 0 shows all rows" : "");
}

bool allo_split_report(const struct allo_split_options *options, struct allo_source *source,
		       struct allo_error *err)
{
	ALLO_DEFER(split_done) struct split split = { .options = options, .source = source };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_profile_request request = { .by_thread = options->by == ALLO_SPLIT_THREAD,
						.stacks = &split.stacks };
	bool is_estimated;

	if (!allo_source_profile(source, &request, &split.profile, err) ||
	    !allo_common_attribution(options->common, &split.attribution, err) ||
	    !allo_attribution_learn(&split.attribution, &split.profile, err) ||
	    !find_groups(&split, err) || !make_timelines(&split, err))
		return false;
	is_estimated = allo_is_sampled(&split.timelines[0].weighing);
	if (!allo_common_report(options->common, &report, is_estimated, err))
		return false;
	if (options->common->csv)
		describe_csv(&report, &split);
	else
		describe(&report, &split);
	return allo_common_finish(options->common, &report, NULL, err);
}
