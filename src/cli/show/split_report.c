/* split_report.c - names the groups, weighs them by their maxima, and draws the heaviest. */
#include "cli/show/split_report.h"

#include "analysis/filters/label_filter.h"
#include "analysis/label_sums.h"
#include "analysis/sites/attribution.h"
#include "base/defer.h"
#include "engine/source_answers.h"
#include "profile/naming.h"
#include "profile/source_name.h"
#include "replay/site_labels.h"
#include "report/chart.h"
#include "report/code_style.h"

#include <stdio.h>
#include <stdlib.h>

/* A value of the property that splits the heap. */
struct group {
	allo_string_id name;
	allo_stack_id stack; /* of one of its sites */
	allo_sum weight;     /* the sum of its sites' maxima: a short burst counts as well */
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

/* Of names of threads and labels; longer ones are cut. */
enum { SCRATCH = 512 };

/* The call that is responsible for a stack. */
struct site {
	const struct allo_frame *frame; /* NULL: not known */
	uint32_t call;
	struct allo_text name;
	struct allo_text file; /* its last part; empty: the line is not known */
	uint32_t line;
	char scratch[ALLO_NAME_SCRATCH];
};

static void find_site(struct split *split, allo_stack_id stack, struct site *site)
{
	const struct allo_profile *profile = &split->profile;
	allo_stack_id found = allo_attribution_site(&split->attribution, profile, stack);
	struct allo_line line;

	*site = (struct site){ .name = ALLO_TEXT("(stack not known)") };
	if (found == 0)
		return;
	site->frame = &profile->frames.at[profile->stacks.at[found].frame];
	site->call = allo_attribution_site_call(&split->attribution, profile, found);
	site->name = allo_call_name(profile, site->frame, site->call, site->scratch);
	line = allo_call_line(profile, site->frame, site->call);
	site->line = line.line;
	if (line.line > 0)
		site->file = allo_source_name(allo_line_file(profile, line));
}

/* "parse  app.c:12" */
static allo_string_id add_place(struct split *split, const struct site *site,
				struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *place = NULL;

	if (site->file.len == 0)
		return allo_profile_add_string(&split->profile, site->name, err);
	if (asprintf(&place, "%.*s  %.*s:%u", ALLO_TEXT_WHOLE(site->name),
		     ALLO_TEXT_WHOLE(site->file), site->line) < 0) {
		place = NULL;
		allo_fail_memory(err);
		return 0;
	}
	return allo_profile_add_string(&split->profile, allo_text_of(place), err);
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

/* Whether the groups are functions or sites. */
static bool names_code(const struct allo_split_options *options)
{
	return !options->label && options->by != ALLO_SPLIT_THREAD;
}

/* The name of a site's group, as a string of the profile. */
static allo_string_id name_site(struct split *split, allo_stack_id stack, allo_labels_id labels,
				struct allo_error *err)
{
	const struct allo_split_options *options = split->options;
	const struct allo_profile *profile = &split->profile;
	char scratch[SCRATCH];
	struct allo_text name;
	struct site site;

	if (names_code(options)) {
		find_site(split, stack, &site);
		if (options->by == ALLO_SPLIT_SITE)
			return add_place(split, &site, err);
		name = site.name;
	} else if (options->label) {
		name = value_of(profile, labels, options->label, scratch);
	} else {
		name = thread_of(profile, labels, scratch);
	}
	return allo_profile_add_string(&split->profile, name, err);
}

/* Groups. */

static bool weigh(struct split *split, allo_string_id name, allo_stack_id stack, allo_sum weight,
		  struct allo_error *err)
{
	struct group group = { .name = name, .stack = stack };

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
		allo_stack_id stack = profile->sample_stacks.at[i];
		allo_string_id name = name_site(split, stack, allo_profile_labels_of(profile, i),
						err);

		if (allo_failed(err) || !weigh(split, name, stack,
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

/* Adds the names of the groups, and the group of each stack, which depends on symbols. */
static bool ask(struct split *split, struct allo_question *question, struct allo_error *err)
{
	const struct allo_split_options *options = split->options;
	bool is_by_stack = !options->label && options->by != ALLO_SPLIT_THREAD;
	const struct allo_recording *recording = &split->source->recording;

	allo_question_add(question, options->label, options->label ? strlen(options->label) : 0);
	for (size_t i = 0; i + 1 < split->count; i++) {
		struct allo_text name = allo_profile_text(&split->profile,
							  split->groups.at[i].name);

		allo_question_add(question, name.data, name.len);
	}
	for (uint32_t i = 0; i < recording->nodes.len && is_by_stack; i++) {
		struct allo_site_key key = { .stack = i };
		uint32_t group;

		if (split->stacks[i] == 0)
			continue;
		if (!group_of(split, &key, &group, err))
			return false;
		allo_question_add(question, &group, sizeof(group));
	}
	return true;
}

static bool make_timelines(struct split *split, struct allo_error *err)
{
	const struct allo_split_options *options = split->options;
	struct allo_question question = allo_question_of(split->source, "split");
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
	return ask(split, &question, err) &&
	       allo_source_split_timeline(split->source, &made, &question, err);
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
	/* Names need the room of a terminal more than the line does. */
	enum { COLUMNS = 32, NARROW_COLUMNS = 16, NARROW_TERMINAL = 110 };
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", "-", "=", "#" };
	uint64_t values[COLUMNS] = { 0 },
		 most = timeline->peak_bytes > 0 ? timeline->peak_bytes : 1;
	size_t count = timeline->steps.len, width = report->options.max_width;
	size_t columns_used = width > 0 && width < NARROW_TERMINAL ? NARROW_COLUMNS : COLUMNS;
	char line[4 * COLUMNS + 1] = "";

	for (size_t i = 0; i < count; i++) {
		uint64_t *value = &values[i * columns_used / count];
		uint64_t bytes = timeline->steps.at[i].max_bytes;

		*value = bytes > *value ? bytes : *value;
	}
	for (size_t i = 0; i < columns_used; i++) {
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
	[NAME] = { "function", NULL, "name", ALLO_CELL_TEXT },
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

/* The functions that set_name() will show. */
static void add_names(struct allo_report *report, struct split *split)
{
	struct site site;

	for (size_t i = 0; i + 1 < split->count && names_code(split->options); i++) {
		find_site(split, split->groups.at[i].stack, &site);
		allo_report_add_name(report, site.name);
	}
}

/* People see short names of functions, and whether they are their own. */
static void set_name(struct allo_report *report, struct split *split, size_t index)
{
	struct site site;

	if (index + 1 == split->count || !names_code(split->options) ||
	    !allo_report_is_prose(report)) {
		allo_cell_text(report, NAME, name_of(split, index));
		return;
	}
	find_site(split, split->groups.at[index].stack, &site);
	if (split->options->by == ALLO_SPLIT_FUNCTION)
		site.file.len = 0;
	allo_cell_place(report, NAME, allo_report_name(report, site.name), site.file, site.line);
	if (site.frame)
		allo_cell_style(
			report, NAME,
			allo_report_call_style(report, &split->profile, site.frame, site.call));
}

static void describe_group(struct allo_report *report, struct split *split, size_t index)
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

static void describe(struct allo_report *report, struct split *split)
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
	add_names(report, split);
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

static bool make(struct split *split, struct allo_error *err)
{
	const struct allo_split_options *options = split->options;
	struct allo_profile_request request = { .by_thread = options->by == ALLO_SPLIT_THREAD,
						.stacks = &split->stacks };

	return allo_source_profile(split->source, &request, &split->profile, err) &&
	       allo_common_attribution(options->common, &split->attribution, err) &&
	       allo_attribution_learn(&split->attribution, &split->profile, err) &&
	       find_groups(split, err) && make_timelines(split, err);
}

bool allo_split_report(const struct allo_split_options *options, struct allo_source *source,
		       struct allo_error *err)
{
	ALLO_DEFER(split_done) struct split split = { .options = options, .source = source };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	bool is_estimated;

	if (!make(&split, err))
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

/* Drawing. */

/* Live at the end of a step of the chart, whose steps may have another length. */
static uint64_t bytes_at(const struct allo_timeline *timeline, const struct allo_time_chart *chart,
			 size_t step)
{
	uint64_t end = step + 1 < chart->count ? (step + 1) * chart->step_ns
					       : chart->end_ns - chart->from_ns;
	size_t at = (size_t)((end > 0 ? end - 1 : 0) / timeline->step_ns);

	if (timeline->steps.len == 0)
		return 0;
	return timeline->steps.at[at < timeline->steps.len ? at : timeline->steps.len - 1]
		.end_bytes;
}

/* A short name of a function, which lives as long as the profile. */
static struct allo_text drawn_name(struct split *split, size_t index, struct allo_error *err)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	struct allo_text name = name_of(split, index);
	bool is_function = !split->options->label && split->options->by == ALLO_SPLIT_FUNCTION;

	if (!is_function || split->options->common->full_names)
		return name;
	return allo_profile_text(
		&split->profile,
		allo_profile_add_string(&split->profile,
					allo_short_name(name, ALLO_NAME_BRIEF, &buffer), err));
}

bool allo_split_draw(const struct allo_split_options *options, struct allo_source *source,
		     struct allo_time_chart *chart, struct allo_output *out, struct allo_error *err)
{
	ALLO_DEFER(split_done) struct split split = { .options = options, .source = source };
	ALLO_DEFER(allo_free_pointer) struct allo_course *areas = NULL;
	ALLO_DEFER(allo_free_pointer) uint64_t *values = NULL;
	size_t shown = 0;

	if (!make(&split, err))
		return false;
	areas = calloc(split.count, sizeof(*areas));
	values = calloc(split.count * chart->count + 1, sizeof(*values));
	if (!areas || !values)
		return allo_fail_memory(err);
	for (size_t i = 0; i < split.count && is_shown(&split, i); i++, shown++) {
		areas[i].name = drawn_name(&split, i, err);
		areas[i].values = values + i * chart->count;
		for (size_t k = 0; k < chart->count; k++)
			areas[i].values[k] = bytes_at(&split.timelines[i], chart, k);
	}
	if (allo_failed(err))
		return false;
	chart->areas = areas;
	chart->area_count = shown;
	chart->has_rest = shown == split.count;
	allo_time_chart_write(chart, out);
	return true;
}
