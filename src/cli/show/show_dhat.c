/* show_dhat.c - see show_dhat.h. */
#include "analysis/accesses.h"
#include "base/utf8.h"
#include "cli/show/dhat_view.h"

#include <stdio.h>

/* Calls. */

/* Where a call is: in a file, or at least in a module. */
static struct allo_text file_of(const struct allo_dhat_view *v, struct allo_line line)
{
	return allo_basename(allo_line_file(v->profile, line));
}

static struct allo_text module_of(const struct allo_dhat_view *v, const struct allo_frame *frame)
{
	return allo_basename(
		allo_profile_text(v->profile, v->profile->modules.at[frame->module].path));
}

/* "  file.c:12", or "  [libfoo.so]". */
static void put_place(struct allo_dhat_view *v, const struct allo_frame *frame,
		      struct allo_line line)
{
	struct allo_text file = file_of(v, line);

	allo_output_string(v->out, v->style.dim);
	if (file.len > 0) {
		allo_output_string(v->out, "  ");
		allo_output_printable(v->out, file);
		if (line.line > 0)
			allo_output_printf(v->out, ":%lu", (unsigned long)line.line);
	} else if (frame->module) {
		allo_output_string(v->out, "  [");
		allo_output_printable(v->out, module_of(v, frame));
		allo_output_string(v->out, "]");
	}
	allo_output_string(v->out, v->style.reset);
}

/* Columns that are left for a name in front of the place; 0: as many as it needs. */
static size_t name_room(const struct allo_dhat_view *v, const struct allo_frame *frame,
			struct allo_line line)
{
	struct allo_text file = file_of(v, line);
	size_t taken = v->column;

	if (file.len > 0)
		taken += allo_utf8_columns(file) + sizeof("  :12345") - 1;
	else if (frame->module)
		taken += allo_utf8_columns(module_of(v, frame)) + sizeof("  []") - 1;
	/* A name that is cut to nothing helps nobody: rather a line that is too long. */
	return v->name_columns == 0           ? 0
	       : v->name_columns > taken + 20 ? v->name_columns - taken
					      : 20;
}

static void put_call(struct allo_dhat_view *v, struct allo_stack_call call, uint64_t number)
{
	const struct allo_frame *frame =
		&v->profile->frames.at[v->profile->stacks.at[call.stack].frame];
	struct allo_line line = allo_call_line(v->profile, frame, call.line);
	enum { NUMBER_COLUMNS = 6 };
	char scratch[ALLO_NAME_SCRATCH], text[32];

	snprintf(text, sizeof(text), "  #%llu", (unsigned long long)number);
	allo_dhat_start_line(v, text, NUMBER_COLUMNS, false);
	/* Where there is no function, the name is made of all this. */
	if (line.function && frame->address) {
		v->column += (size_t)snprintf(text, sizeof(text), "0x%llx  ",
					      (unsigned long long)frame->address);
		allo_output_printf(v->out, "%s%s%s", v->style.dim, text, v->style.reset);
	}
	allo_show_cut(v->out, allo_call_name(v->profile, frame, call.line, scratch),
		      name_room(v, frame, line), v->show->is_ascii);
	if (line.function)
		put_place(v, frame, line);
	allo_dhat_end_line(v);
}

/* "allocated at", "copied at": as the file says. */
static void put_verb(struct allo_dhat_view *v)
{
	struct allo_text verb = allo_profile_text(v->profile, v->profile->meta.verb);
	char first;

	if (verb.len == 0)
		verb = ALLO_TEXT("Allocated");
	first = verb.data[0];
	allo_dhat_start_line(v, "", 0, false);
	if (first >= 'A' && first <= 'Z') {
		allo_output_byte(v->out, (char)(first - 'A' + 'a'));
		verb = allo_text_from(verb, 1);
	}
	allo_output_printable(v->out, verb);
	allo_output_string(v->out, v->node->call_count
					   ? " at"
					   : " at the calls above, and nowhere further out");
	allo_dhat_end_line(v);
}

static void put_calls(struct allo_dhat_view *v)
{
	struct allo_stack_call call = v->node->first_call;

	if (v->node->call_count == 0 && v->node->depth == 0)
		return;
	put_verb(v);
	for (uint64_t i = 0; i < v->node->call_count; i++) {
		put_call(v, call, v->node->calls_before + i + 1);
		call = allo_stack_call_outer(v->profile, call);
	}
}

/* Nodes. */

/* "1.1.2/3": the way from the root. */
static void put_number(struct allo_dhat_view *v)
{
	uint32_t numbers[ALLO_DHAT_LEVELS + 1];
	const struct allo_dhat_node *node = v->node;
	size_t count = 0;

	for (; count < ALLO_DHAT_LEVELS && node->depth > 0; node = &v->tree->nodes.at[node->parent])
		numbers[count++] = node->number;
	allo_output_string(v->out, "PP 1");
	if (node->depth > 0)
		allo_output_printf(v->out, ".(%lu more)", (unsigned long)node->depth);
	while (count-- > 0)
		allo_output_printf(v->out, ".%lu", (unsigned long)numbers[count]);
	allo_output_printf(v->out, "/%lu", (unsigned long)v->node->of);
}

/* What is too small to be told of apart, in one line. */
static void put_merged(struct allo_dhat_view *v)
{
	char count[ALLO_NUMBER_SIZE];

	allo_output_printf(v->out, "  %s insignificant, ",
			   allo_format_count(v->node->merged, count));
	allo_dhat_put_value(v, v->tree->sort->key);
	if (v->tree->sort->condition == ALLO_PP_ANY)
		allo_output_printf(v->out, "  %s--min 0 shows all%s", v->style.dim, v->style.reset);
	allo_dhat_end_line(v);
}

static void put_heading(struct allo_dhat_view *v)
{
	char children[ALLO_NUMBER_SIZE], points[ALLO_NUMBER_SIZE];
	size_t depth = v->node->depth;

	if (depth > 0) {
		allo_dhat_put_strokes(v, depth - 1);
		allo_output_string(v->out,
				   v->goes_on.at[depth] ? v->strokes->branch : v->strokes->last);
	}
	allo_output_string(v->out, v->style.bold);
	put_number(v);
	allo_output_string(v->out, v->style.reset);
	if (v->node->merged) {
		put_merged(v);
		return;
	}
	if (v->node->child_count)
		allo_output_printf(v->out, "  %s %s, %s %s",
				   allo_format_count(v->node->child_count, children),
				   v->node->child_count == 1 ? "child" : "children",
				   allo_format_count(v->node->points, points),
				   v->node->points == 1 ? "point" : "points");
	allo_dhat_end_line(v);
}

static void put_node(struct allo_dhat_view *v)
{
	put_heading(v);
	if (v->node->merged)
		return;
	allo_dhat_put_facts(v);
	put_calls(v);
}

/* A time by the profile's clock. */
enum { TIME_SIZE = ALLO_NUMBER_SIZE + 16 };

static const char *time_text(const struct allo_dhat_view *v, uint64_t time, char out[TIME_SIZE])
{
	bool is_ns = v->profile->meta.clock == ALLO_CLOCK_NS;
	char number[ALLO_NUMBER_SIZE];

	allo_format((struct allo_number){ time, false }, is_ns ? ALLO_UNIT_NS : ALLO_UNIT_COUNT,
		    v->is_plain, number);
	snprintf(out, TIME_SIZE, "%s%s", number,
		 v->profile->meta.clock == ALLO_CLOCK_INSTRUCTIONS ? " instructions" : "");
	return out;
}

static void put_times(struct allo_dhat_view *v)
{
	const struct allo_meta *meta = &v->profile->meta;
	char text[TIME_SIZE], share[ALLO_NUMBER_SIZE];

	if (meta->duration == 0 || meta->clock == ALLO_CLOCK_NONE)
		return;
	allo_output_printf(v->out, "ran for %s", time_text(v, meta->duration, text));
	if (meta->peak_time)
		allo_output_printf(
			v->out, ", held most after %s (%s)", time_text(v, meta->peak_time, text),
			allo_format_share((double)meta->peak_time, (double)meta->duration, share));
	allo_dhat_end_line(v);
}

/* What is asked of points beside their size. */
static void put_condition(struct allo_dhat_view *v)
{
	static const char *const conditions[] = {
		[ALLO_PP_TINY] = "its blocks have at most 16 bytes on average",
		[ALLO_PP_UNUSED] = "it is never read or never written",
		[ALLO_PP_LOW_ACCESS] =
			"it is read or written at most 0.4 times a byte, but not never",
		[ALLO_PP_HIGH_ACCESS] = "it is read or written at least 1000 times a byte",
	};
	enum allo_pp_condition condition = v->tree->sort->condition;
	char text[TIME_SIZE];

	if (condition == ALLO_PP_SHORT_LIVED)
		allo_output_printf(v->out,
				   "and only if its blocks live for at most %s on average\n",
				   time_text(v, v->profile->meta.short_lived, text));
	else if (condition != ALLO_PP_ANY)
		allo_output_printf(v->out, "and only if %s\n", conditions[condition]);
}

/* What the profile is of, and what is shown of it. */
static void put_introduction(struct allo_dhat_view *v)
{
	const struct allo_meta *meta = &v->profile->meta;
	enum allo_pp_field key = v->tree->sort->key;
	double whole = (double)v->tree->nodes.at[0].values.of[key];

	if (meta->command) {
		allo_output_printable(v->out, allo_profile_text(v->profile, meta->command));
		if (meta->pid)
			allo_output_printf(v->out, "   (pid %llu)", (unsigned long long)meta->pid);
		allo_dhat_end_line(v);
	}
	put_times(v);
	allo_output_printf(v->out, "sorted by %s; a point is significant from ",
			   v->tree->sort->name);
	allo_dhat_put_number(v, whole * v->tree->min_share / 100, key);
	allo_output_printf(v->out, " (%g%%)\n", v->tree->min_share);
	put_condition(v);
	allo_dhat_end_line(v);
}

bool allo_show_dhat_text(const struct allo_show_dhat *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_dhat_tree *tree,
			 const struct allo_profile *profile, struct allo_error *err)
{
	struct allo_dhat_view v = {
		.show = show,
		.out = out,
		.tree = tree,
		.profile = profile,
		.style = allo_common_style(common),
		.strokes = allo_show_strokes(show->is_ascii),
		.line_columns = allo_terminal_columns(),
		.name_columns = allo_common_width(common),
		.is_plain = common->plain,
		.is_estimated = allo_profile_is_estimated(profile),
		.node = &tree->nodes.at[0],
	};
	bool ok = true;

	put_introduction(&v);
	for (size_t i = 0; ok && i < tree->nodes.len; i++) {
		v.node = &tree->nodes.at[i];
		if (show->max_depth && v.node->depth > show->max_depth)
			continue;
		ok = allo_vec_cover(&v.goes_on, v.node->depth + 1) || allo_fail_memory(err);
		if (ok) {
			v.goes_on.at[v.node->depth] = v.node->number < v.node->of;
			put_node(&v);
		}
	}
	allo_vec_done(&v.goes_on);
	return ok;
}

/* JSON: a flat list, parents first, so that depth does not matter. */

static void describe_call(struct allo_report *report, const struct allo_profile *profile,
			  struct allo_stack_call call)
{
	const struct allo_frame *frame = &profile->frames.at[profile->stacks.at[call.stack].frame];
	struct allo_line line = allo_call_line(profile, frame, call.line);
	char scratch[ALLO_NAME_SCRATCH];

	allo_report_object(report, NULL);
	allo_report_field_name(report, "name", allo_call_name(profile, frame, call.line, scratch));
	allo_report_field_name(report, "file", allo_line_file(profile, line));
	allo_report_field_u64(report, "line", line.line);
	allo_report_field_u64(report, "address", frame->address);
	if (frame->module)
		allo_report_field_name(
			report, "module",
			allo_profile_text(profile, profile->modules.at[frame->module].path));
	allo_report_close(report);
}

static void describe_accesses(struct allo_report *report, const struct allo_profile *profile,
			      struct allo_accesses runs)
{
	struct allo_access_run run;

	allo_report_list(report, "accesses");
	while (allo_access_run_next(profile, &runs, &run)) {
		allo_report_list(report, NULL);
		allo_report_field_u64(report, NULL, run.length);
		allo_report_field_u64(report, NULL, run.count);
		allo_report_close(report);
	}
	allo_report_close(report);
}

static void describe_values(struct allo_report *report, const struct allo_show_dhat *show,
			    const struct allo_dhat_tree *tree, const struct allo_profile *profile,
			    const struct allo_dhat_node *node)
{
	bool is_point = node->sample != 0 && !show->hides_max;

	allo_report_object(report, "values");
	for (int field = 0; field < ALLO_PP_FIELDS; field++) {
		bool is_max = field == ALLO_PP_MAX_BYTES || field == ALLO_PP_MAX_BLOCKS;
		struct allo_text name;

		if (!tree->columns.has[field] || (is_max && !is_point))
			continue;
		name = allo_profile_text(profile,
					 profile->metrics.at[tree->columns.metric[field]].name);
		allo_report_field_sum(report,
				      allo_report_string(report, "%.*s", ALLO_TEXT_WHOLE(name)),
				      node->values.of[field]);
	}
	allo_report_close(report);
	if (is_point && allo_profile_accesses_of(profile, node->sample - 1).count > 0)
		describe_accesses(report, profile,
				  allo_profile_accesses_of(profile, node->sample - 1));
}

static void describe_node(struct allo_report *report, const struct allo_show_dhat *show,
			  const struct allo_dhat_tree *tree, const struct allo_profile *profile,
			  size_t id)
{
	const struct allo_dhat_node *node = &tree->nodes.at[id];
	struct allo_stack_call call = node->first_call;

	allo_report_object(report, NULL);
	allo_report_field_u64(report, "id", id);
	if (id > 0)
		allo_report_field_u64(report, "parent", node->parent);
	allo_report_field_u64(report, "number", node->number);
	allo_report_field_u64(report, "of", node->of);
	allo_report_field_u64(report, "children", node->child_count);
	allo_report_field_u64(report, "points", node->points);
	allo_report_field_bool(report, "significant", node->is_significant);
	if (node->merged)
		allo_report_field_u64(report, "merged", node->merged);
	describe_values(report, show, tree, profile, node);
	allo_report_list(report, "calls");
	for (uint64_t i = 0; i < node->call_count; i++) {
		describe_call(report, profile, call);
		call = allo_stack_call_outer(profile, call);
	}
	allo_report_close(report);
	allo_report_close(report);
}

void allo_show_dhat_fields(const struct allo_show_dhat *show, struct allo_report *report,
			   const struct allo_dhat_tree *tree, const struct allo_profile *profile)
{
	const struct allo_meta *meta = &profile->meta;

	allo_report_field_string(report, "sort", tree->sort->name);
	allo_report_field_double(report, "min_percent", tree->min_share);
	allo_report_field_name(report, "command", allo_profile_text(profile, meta->command));
	allo_report_field_u64(report, "pid", meta->pid);
	allo_report_field_u64(report, "duration", meta->duration);
	allo_report_field_u64(report, "peak_time", meta->peak_time);
	allo_report_list(report, "nodes");
	for (size_t i = 0; i < tree->nodes.len; i++) {
		if (show->max_depth == 0 || tree->nodes.at[i].depth <= show->max_depth)
			describe_node(report, show, tree, profile, i);
	}
	allo_report_close(report);
}
