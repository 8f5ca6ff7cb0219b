/* cmd_leaks.c - allo leaks: the stacks whose blocks were never freed. */
#include "base/defer.h"
#include "cli/gate.h"
#include "cli/quote.h"
#include "cli/read_leaks.h"
#include "cli/show/show_stack.h"
#include "profile/call_walk.h"
#include "profile/metric_about.h"
#include "report/figures.h"
#include "report/messages.h"
#include "report/show.h"

struct leaks {
	struct allo_common common;
	uint64_t count, depth;
	unsigned only;
	struct allo_list suppressions;
	bool exit_code, allow_incomplete;
};

static const struct leaks defaults = { .count = 10, .depth = 6 };

#define AT(field) offsetof(struct leaks, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count, "number of stacks (default: 10; 0 for all)"),
	OPT_COUNT(0, "depth", "N", depth,
		  "number of frames of each stack, from the responsible function outwards; runs "
		  "of library calls between them do not count (default: 6; 0 for all)"),
	OPT_SET(0, "only", "KINDS", only, allo_leak_kind_names,
		"show stacks of these kinds only, separated by commas. start: all blocks were "
		"allocated in the first tenth of the run. growing: in at least three tenths, "
		"the last three included. later: neither. runtime: kept by the libraries of C, "
		"C++ and Rust until the end, such as the buffer of stdout. The run ends with the last allocation of the program: "
		"later pauses do not count. In a run of less than a second, tenths of the "
		"allocations count as well as tenths of the time"),
	OPT_FILES(0, "suppressions", "FILE", suppressions,
		  "hide the leaks that this file lists, in LeakSanitizer's syntax: a line "
		  "leak:PATTERN hides stacks with a frame whose function, file or module contains "
		  "the pattern; * matches anything, ^ and $ the beginning and the end. May be "
		  "given several times"),
	OPT_FLAG(0, "exit-code", exit_code,
		 "exit with status 3 if there are leaks, or if events are missing"),
	OPT_ALLOW_INCOMPLETE(allow_incomplete),
	OPT_END,
};

static const struct allo_option_group group = { "Leaks", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_view_group,
	&allo_site_group,
	&allo_filter_group,
	&allo_number_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo leaks server.allo", "the stacks whose blocks were never freed" },
	{ "allo leaks --only growing server.allo", "those that grew until the end" },
	{ "allo leaks --exit-code --suppressions lsan.supp dhat.out.1234",
	  "fail if there are leaks other than the known ones" },
	{ NULL, NULL },
};

/* Removes suppressed leaks, then those that the filters leave out. */
static bool narrow(const struct leaks *opt, struct allo_leak_files *files,
		   const struct allo_metric_columns *columns, struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { .tells_stacks = true };

	if (!allo_common_filter(&opt->common, true, &filter, err) ||
	    !allo_read_suppressions(&files->suppressions, &opt->suppressions, err) ||
	    !allo_suppressions_apply(&files->suppressions, &files->profile, columns, err) ||
	    !allo_birth_table_limit(&files->births, &files->profile, err) ||
	    !allo_filter_apply(&filter, &files->profile, err) ||
	    !allo_birth_table_move(&files->births, filter.became.at, filter.became.len, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	return true;
}

struct result {
	const struct leaks *opt;
	struct allo_leak_files files;
	struct allo_attribution attribution;
	struct allo_leaks leaks;
	/* The sum without the runtime's start, unless --only asks for that. */
	struct allo_values own;
	bool has_plus; /* `own` leaves something out */
	struct allo_figures figures;
	size_t shown;
};

static void result_done(struct result *result)
{
	allo_leak_files_done(&result->files);
	allo_attribution_done(&result->attribution);
	allo_leaks_done(&result->leaks);
}

static const char *const kind_texts[ALLO_LEAK_KINDS] = { "at start", "growing", "later",
							 "language runtimes" };

/* For programs. */

enum { TOTAL, SHARE, BLOCKS, KIND, FIRST, LAST, NAME, FILE_NAME, LINE, STACK, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[TOTAL] = { NULL, "total", "total" },
	[SHARE] = { NULL, "total%", NULL, ALLO_CELL_SHARE },
	[BLOCKS] = { NULL, "blocks", "total_blocks" },
	[KIND] = { NULL, "kind", "kind", ALLO_CELL_TEXT },
	[FIRST] = { NULL, "first_ns", "first_ns", ALLO_CELL_NS },
	[LAST] = { NULL, "last_ns", "last_ns", ALLO_CELL_NS },
	[NAME] = { NULL, "function", NULL, ALLO_CELL_TEXT },
	[FILE_NAME] = { NULL, "file", NULL, ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", NULL, ALLO_CELL_ID },
	[STACK] = { NULL, "stack", NULL, ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "leaks", columns, COLUMNS };

/* The names of all calls, the outermost first, as in folded stacks. */
static void describe_folded(struct allo_report *report, const struct allo_profile *profile,
			    allo_stack_id stack)
{
	struct allo_call_walk walk = { profile, stack, 0 };
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	ALLO_VEC(struct allo_text) names = { 0 };
	uint32_t call;

	if (!allo_report_is(report, ALLO_REPORT_CSV))
		return;
	while ((frame = allo_call_walk_next(&walk, &call)) != NULL) {
		struct allo_text name = allo_call_name(profile, frame, call, scratch);
		struct allo_text pieces[] = { ALLO_TEXT(";"), allo_report_text(report, name) };

		if (!allo_vec_append(&names, pieces, 2))
			allo_report_fail_memory(report);
	}
	for (size_t i = 0; i < names.len / 2; i++) {
		struct allo_text swapped = names.at[i];

		names.at[i] = names.at[names.len - 1 - i];
		names.at[names.len - 1 - i] = swapped;
	}
	/* Now the separator of the innermost call is the last text. */
	allo_cell_join(report, STACK, names.at, names.len ? names.len - 1 : 0);
	allo_vec_done(&names);
}

/* A walk that begins with the responsible call. */
static struct allo_call_walk walk_from_site(struct result *result, allo_stack_id stack)
{
	const struct allo_profile *profile = &result->files.profile;
	struct allo_attribution *attribution = result->opt->common.keep_allocator
						       ? NULL
						       : &result->attribution;
	allo_stack_id site = allo_attribution_site(attribution, profile, stack);

	return (struct allo_call_walk){ profile, site,
					allo_attribution_site_call(attribution, profile, site) };
}

/* The number of calls inside the responsible one. */
static uint64_t count_passed(struct result *result, allo_stack_id stack)
{
	struct allo_call_walk site = walk_from_site(result, stack);
	struct allo_call_walk walk = { site.profile, stack, 0 };
	uint64_t count = 0;
	uint32_t call;

	for (; walk.stack != site.stack || walk.call != site.call; count++)
		allo_call_walk_next(&walk, &call);
	return count;
}

static void describe_place(struct allo_report *report, struct result *result, allo_stack_id stack)
{
	const struct allo_profile *profile = &result->files.profile;
	struct allo_call_walk walk = walk_from_site(result, stack);
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call = 0;
	const struct allo_frame *frame = allo_call_walk_next(&walk, &call);
	struct allo_line line;

	if (!frame)
		return;
	line = allo_call_line(profile, frame, call);
	allo_cell_place(report, NAME, allo_call_name(profile, frame, call, scratch),
			allo_line_file(profile, line), line.line);
}

static bool is_counted(const struct result *result, const struct allo_leak *leak)
{
	return !result->has_plus || leak->kind != ALLO_LEAK_RUNTIME;
}

static void describe_row(struct allo_report *report, struct result *result,
			 const struct allo_leak *leak)
{
	const struct allo_profile *profile = &result->files.profile;

	allo_report_row(report);
	allo_cell_value(report, TOTAL, &result->figures, leak->values.value);
	allo_cell_blocks(report, BLOCKS, &result->figures, leak->values.blocks);
	if (is_counted(result, leak))
		allo_cell_share(report, SHARE, (double)leak->values.value,
				(double)result->own.value);
	if (leak->has_births) {
		allo_cell_string(report, KIND, allo_leak_kind_names[leak->kind]);
		allo_cell_u64(report, FIRST, leak->births.first_ns);
		allo_cell_u64(report, LAST, leak->births.last_ns);
		allo_report_list(report, "births");
		for (size_t i = 0; i < ALLO_TENTHS; i++)
			allo_report_field_u64(report, NULL, leak->births.blocks[i]);
		allo_report_close(report);
		allo_report_field_double(report, "growth", leak->growth);
	}
	describe_place(report, result, leak->stack);
	allo_report_field_u64(report, "site", count_passed(result, leak->stack));
	describe_folded(report, profile, leak->stack);
	allo_report_field_frames(report, profile, leak->stack);
}

static void describe_rows(struct allo_report *report, struct result *result)
{
	allo_report_table(report, &table);
	if (!result->figures.columns.has_blocks)
		allo_report_hide(report, BLOCKS);
	for (size_t i = 0; i < result->shown; i++)
		describe_row(report, result, &result->leaks.list.at[i]);
	allo_report_end_table(report);
}

/* For people. */

/* One line for the calls inside the responsible one: the outermost three, in the order of the
 * calls. */
static void draw_passed(struct allo_report *report, struct allo_output *out, struct result *result,
			allo_stack_id stack)
{
	enum { MOST = 3 };
	const struct allo_style *style = &report->options.style;
	struct allo_call_walk walk = { &result->files.profile, stack, 0 };
	uint64_t count = count_passed(result, stack), width = report->options.max_width;
	struct allo_text names = { "", 0 };
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call = 0;

	for (uint64_t i = 0; i < count; i++) {
		const struct allo_frame *frame = allo_call_walk_next(&walk, &call);
		struct allo_text name;

		if (count - i > MOST)
			continue;
		name = allo_report_name(report, allo_call_name(walk.profile, frame, call, scratch));
		names = allo_text_of(allo_report_string(report, "%.*s%s%.*s", ALLO_TEXT_WHOLE(name),
							names.len ? " > " : "",
							ALLO_TEXT_WHOLE(names)));
	}
	if (count == 0)
		return;
	allo_output_printf(out, "    %s(via ", style->dim);
	allo_show_cut(out, names, width > 36 ? width - 16 : width ? 20 : 0, false);
	allo_output_printf(out, "%s)%s\n", count > MOST ? " > ..." : "", style->reset);
}

static bool is_script(enum allo_role role)
{
	return role == ALLO_ROLE_SCRIPT || role == ALLO_ROLE_SCRIPT_LIBRARY;
}

/* Readers of a stack skip calls of libraries and start-up code: functions of an interpreter, too,
 * that call those of its program. */
static enum allo_role role_of(struct result *result, const struct allo_frame *frame, uint32_t call,
			      bool is_in_script)
{
	const struct allo_profile *profile = &result->files.profile;
	enum allo_role role;

	if (result->opt->depth == 0 || result->opt->common.keep_allocator)
		return ALLO_ROLE_CODE;
	role = allo_attribution_call(&result->attribution, profile,
				     (allo_frame_id)(frame - profile->frames.at), call);
	if (is_in_script && !is_script(role) && frame->module &&
	    allo_is_interpreter(
		    allo_profile_text(profile, profile->modules.at[frame->module].path)))
		return ALLO_ROLE_STARTUP;
	return role;
}

/* Calls of libraries that were not drawn yet. */
struct run {
	const struct allo_frame *frame; /* the last one */
	uint32_t call;
	size_t count;
	bool is_startup; /* all of them */
};

static void draw_run(struct allo_report *report, struct allo_output *out, struct result *result,
		     struct run *run)
{
	const struct allo_style *style = &report->options.style;

	if (run->count == 1)
		allo_draw_call(report, out, &result->files.profile, run->frame, run->call);
	else if (run->count > 1)
		allo_output_printf(out, "    %s... %zu calls of libraries%s\n", style->dim,
				   run->count, style->reset);
	*run = (struct run){ .is_startup = true };
}

static void draw_stack(struct allo_report *report, struct result *result, allo_stack_id stack)
{
	struct allo_call_walk walk = walk_from_site(result, stack);
	struct allo_output *out = allo_report_drawing(report);
	size_t depth = result->opt->depth, shown = 0, more = 0;
	const struct allo_frame *frame;
	struct run run = { .is_startup = true };
	bool is_in_script = false;
	enum allo_role role;
	uint32_t call;

	if (!out)
		return;
	if (stack == 0)
		allo_output_string(out, "    [no stack]\n");
	draw_passed(report, out, result, stack);
	while ((frame = allo_call_walk_next(&walk, &call)) != NULL) {
		role = role_of(result, frame, call, is_in_script);
		is_in_script |= is_script(role);
		if (depth > 0 && shown >= depth) {
			more++;
		} else if (shown > 0 && (role == ALLO_ROLE_LIBRARY || role == ALLO_ROLE_STARTUP)) {
			run = (struct run){ frame, call, run.count + 1,
					    run.is_startup && role == ALLO_ROLE_STARTUP };
		} else {
			draw_run(report, out, result, &run);
			allo_draw_call(report, out, walk.profile, frame, call);
			shown++;
		}
	}
	if (!run.is_startup)
		draw_run(report, out, result, &run);
	if (more > 0)
		allo_output_printf(out, "    + %zu more: --depth 0 shows all\n", more);
}

static void describe_births(struct allo_report *report, const struct allo_leak *leak)
{
	const char *first = allo_report_number(report, leak->births.first_ns, ALLO_UNIT_NS);
	const char *last = allo_report_number(report, leak->births.last_ns, ALLO_UNIT_NS);

	allo_report_put(report, ALLO_STYLE_PLAIN, ", %s: ", kind_texts[leak->kind]);
	if (strcmp(first, last) == 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, "at %s", first);
	else
		allo_report_put(report, ALLO_STYLE_PLAIN, "from %s to %s", first, last);
}

static void describe_leak(struct allo_report *report, struct result *result,
			  const struct allo_leak *leak)
{
	allo_report_blank(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "%s",
			allo_report_values(report, &result->figures, &leak->values));
	if (is_counted(result, leak))
		allo_report_put(report, ALLO_STYLE_PLAIN, " (%s)",
				allo_report_share(report, (double)leak->values.value,
						  (double)result->own.value));
	if (leak->has_births)
		describe_births(report, leak);
	else if (leak->kind == ALLO_LEAK_RUNTIME)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", %s", kind_texts[leak->kind]);
	allo_report_end_line(report);
	draw_stack(report, result, leak->stack);
}

/* The sums of all kinds, in a line. */
static void describe_kinds(struct allo_report *report, const struct result *result)
{
	struct allo_values sums[ALLO_LEAK_KINDS] = { 0 };
	size_t counts[ALLO_LEAK_KINDS] = { 0 };
	const char *between = "";

	for (size_t i = 0; i < result->leaks.list.len; i++) {
		const struct allo_leak *leak = &result->leaks.list.at[i];

		if (!leak->has_births && leak->kind != ALLO_LEAK_RUNTIME)
			continue;
		allo_values_add(&sums[leak->kind], &leak->values);
		counts[leak->kind]++;
	}
	for (int kind = 0; kind < ALLO_LEAK_KINDS; kind++) {
		if (counts[kind] == 0)
			continue;
		if (kind == ALLO_LEAK_RUNTIME && result->has_plus)
			allo_report_put(
				report, ALLO_STYLE_PLAIN, "%splus %s of %s in %s", between,
				allo_report_value(report, &result->figures, sums[kind].value),
				kind_texts[kind],
				allo_report_counted(report, counts[kind], "stack"));
		else
			allo_report_put(
				report, ALLO_STYLE_PLAIN, "%s%s %s in %s", between,
				kind_texts[kind],
				allo_report_value(report, &result->figures, sums[kind].value),
				allo_report_counted(report, counts[kind], "stack"));
		between = "; ";
	}
	if (between[0] != '\0')
		allo_report_end_line(report);
}

static void describe_rest(struct allo_report *report, const struct result *result)
{
	allo_sum rest = 0;
	size_t more = 0;

	for (size_t i = result->shown; i < result->leaks.list.len; i++) {
		const struct allo_leak *leak = &result->leaks.list.at[i];

		rest += is_counted(result, leak) ? leak->values.value : 0;
		more += is_counted(result, leak);
	}
	if (more == 0)
		return;
	allo_report_blank(report);
	allo_report_note(report, "%s, %s (%s): -n 0 shows all",
			 allo_report_counted(report, more, "more stack"),
			 allo_report_value(report, &result->figures, rest),
			 allo_report_share(report, (double)rest, (double)result->own.value));
}

/* Suppressions. */

enum { HIDDEN, HIDDEN_BLOCKS, STACKS, SUPPRESSION, SUPPRESSION_COLUMNS };

static const struct allo_column suppression_columns[SUPPRESSION_COLUMNS] = {
	[HIDDEN] = { "hidden", NULL, "hidden" },
	[HIDDEN_BLOCKS] = { "blocks", NULL, "hidden_blocks" },
	[STACKS] = { "stacks", NULL, "stacks" },
	[SUPPRESSION] = { "suppression", NULL, NULL, ALLO_CELL_TEXT },
};

static const struct allo_report_table suppression_table = { "suppressions", suppression_columns,
							    SUPPRESSION_COLUMNS,
							    .needs_rows = true };

static void describe_suppression(struct allo_report *report, const struct result *result,
				 const struct allo_suppression *hidden)
{
	struct allo_text texts[] = { ALLO_TEXT("leak:"), hidden->pattern };

	allo_report_row(report);
	allo_report_field_name(report, "pattern", hidden->pattern);
	if (hidden->file) {
		allo_report_field_text(report, "file", allo_text_of(hidden->file));
		allo_report_field_u64(report, "line", hidden->line);
	}
	allo_cell_value(report, HIDDEN, &result->figures, hidden->hidden.value);
	allo_cell_blocks(report, HIDDEN_BLOCKS, &result->figures, hidden->hidden.blocks);
	allo_cell_number(report, STACKS, (struct allo_number){ hidden->stacks }, ALLO_UNIT_COUNT);
	allo_cell_join(report, SUPPRESSION, texts, 2);
}

/* People see those that hide anything. */
static void describe_suppressions(struct allo_report *report, const struct result *result)
{
	const struct allo_suppressions *all = &result->files.suppressions;
	bool is_json = allo_report_is(report, ALLO_REPORT_JSON), is_any = false;

	for (size_t i = 0; i < all->list.len; i++)
		is_any |= all->list.at[i].stacks > 0;
	if (is_any)
		allo_report_blank(report);
	allo_report_table(report, &suppression_table);
	if (!result->figures.columns.has_blocks)
		allo_report_hide(report, HIDDEN_BLOCKS);
	for (size_t i = 0; i < all->list.len; i++) {
		if (is_json || all->list.at[i].stacks > 0)
			describe_suppression(report, result, &all->list.at[i]);
	}
	allo_report_end_table(report);
}

/* The code that the stacks above have passed. */
static void describe_passed(struct allo_report *report, struct result *result)
{
	for (size_t i = 0; i < result->shown; i++) {
		const struct allo_leak *leak = &result->leaks.list.at[i];

		allo_attribution_pass(&result->attribution, &result->files.profile, leak->stack,
				      walk_from_site(result, leak->stack).stack,
				      (double)leak->values.value);
	}
	allo_common_tell_passed(report, &result->attribution, &result->files.profile);
}

/* "never freed: 932 B in 96 blocks", or "live at 2.00 s: ...". */
static void describe_title(struct allo_report *report, const struct result *result)
{
	const struct allo_figures *figures = &result->figures;
	char about[ALLO_ABOUT_SIZE];
	struct allo_text title = allo_text_of(allo_metric_about(figures->profile,
								figures->columns.metric, about)),
			 rest = title;

	allo_report_heading(report);
	if (allo_text_skip(&rest, ALLO_TEXT("live when recording ended")))
		title = allo_text_of(
			allo_report_string(report, "never freed%.*s", ALLO_TEXT_WHOLE(rest)));
	allo_report_put_text(report, ALLO_STYLE_BOLD, title);
	allo_report_put(report, ALLO_STYLE_PLAIN, ": %s",
			result->own.value == 0 && result->own.blocks == 0
				? "nothing"
				: allo_report_values(report, figures, &result->own));
	allo_report_end_line(report);
}

static void describe(struct allo_report *report, struct result *result)
{
	allo_report_json_lines(report, 3);
	describe_title(report, result);
	describe_kinds(report, result);
	allo_report_field_metric(report, &result->files.profile, result->figures.columns.metric);
	allo_report_field_values(report, &result->figures, "sum", &result->leaks.sum);
	if (result->leaks.runtime_count > 0)
		allo_report_field_values(report, &result->figures, "runtime",
					 &result->leaks.runtime);
	allo_report_field_u64(report, "leak_count", result->leaks.list.len);
	describe_rows(report, result);
	for (size_t i = 0; i < result->shown; i++)
		allo_report_add_stack_names(report, &result->files.profile,
					    result->leaks.list.at[i].stack);
	for (size_t i = 0; i < result->shown; i++)
		describe_leak(report, result, &result->leaks.list.at[i]);
	describe_rest(report, result);
	describe_passed(report, result);
	describe_suppressions(report, result);
}

static bool print(struct result *result, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = &result->opt->common;

	if (!allo_common_report(common, &report, result->figures.is_estimated, err))
		return false;
	describe(&report, result);
	return allo_common_finish(common, &report, &result->files.profile.notes, err);
}

/* Interpreters free the objects of the script when they exit. */
static bool is_of_python(const struct allo_profile *profile)
{
	for (size_t i = 1; i < profile->modules.len; i++) {
		struct allo_text name = allo_basename(
			allo_profile_text(profile, profile->modules.at[i].path));

		if (allo_text_starts(name, ALLO_TEXT("python3")) ||
		    allo_text_starts(name, ALLO_TEXT("libpython3")))
			return true;
	}
	return false;
}

static void tell_exit(const struct leaks *opt, const struct allo_leak_files *files,
		      const char *file)
{
	ALLO_DEFER(allo_free_pointer) char *quoted = NULL;

	if (opt->common.quiet || opt->common.at || !files->has_births ||
	    !is_of_python(&files->profile))
		return;
	quoted = allo_shell_quote(file);
	if (quoted)
		allo_say_note("CPython frees its objects when it exits: 'allo leaks --at peak %s' "
			      "shows those that were live at the peak",
			      quoted);
}

static bool check_options(const struct leaks *opt, const struct allo_leak_files *files,
			  struct allo_error *err)
{
	if (opt->only == 0 || files->has_births)
		return true;
	allo_fail(
		err, ALLO_USAGE, ALLO_NOWHERE,
		"--only needs a single recording: other files do not have the times of allocations");
	return allo_hint(err, "'allo run' makes recordings");
}

static bool run_leaks(const void *options_given, char **arguments, struct allo_error *err)
{
	const struct leaks *opt = options_given;
	ALLO_DEFER(result_done) struct result result = { .opt = opt };
	struct allo_leak_files *files = &result.files;
	struct allo_leaks *leaks = &result.leaks;
	size_t metric;

	if (!allo_common_check(&opt->common, err) ||
	    !allo_leak_files_read(files, &opt->common, arguments, err) ||
	    !check_options(opt, files, err) ||
	    !allo_find_leak_metric(&files->profile, &metric, err))
		return false;
	result.figures = allo_figures_of(&files->profile, metric, opt->common.verbose);
	if (!allo_common_attribution(&opt->common, &result.attribution, err) ||
	    !allo_attribution_learn(&result.attribution, &files->profile, err) ||
	    !narrow(opt, files, &result.figures.columns, err) ||
	    !allo_attribution_learn(&result.attribution, &files->profile, err) ||
	    !allo_leaks_of(leaks, &files->profile, &result.figures.columns,
			   files->has_births ? &files->births : NULL, err))
		return false;
	if (opt->only)
		allo_leaks_keep(leaks, opt->only);
	result.has_plus = leaks->runtime_count > 0 && !(opt->only >> ALLO_LEAK_RUNTIME & 1);
	result.own = result.has_plus ? allo_leaks_own(leaks) : leaks->sum;
	result.shown = opt->count > 0 && opt->count < leaks->list.len ? opt->count
								      : leaks->list.len;
	if (!print(&result, err))
		return false;
	if (!opt->common.quiet)
		allo_tell_unused_suppressions(&files->suppressions);
	tell_exit(opt, files, arguments[0]);
	if (!opt->exit_code)
		return true;
	if (leaks->list.len > (result.has_plus ? leaks->runtime_count : 0))
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "something was never freed");
	return allo_gate_check(opt->allow_incomplete ||
				       allo_notes_are_complete(&files->profile.notes),
			       arguments[0], err);
}

const struct allo_command allo_cmd_leaks = {
	.name = "leaks",
	.heading = "Look",
	.summary = "show the stacks whose blocks were never freed",
	.arguments = "[FILE...]",
	.about =
		"Prints the stacks whose blocks were live when the recording ended, the largest "
		"first; of a profile taken earlier, those that were live then. A block on the list "
		"need not be a leak: the program may have used it until the end, and allo does not "
		"check whether it is still reachable.\n\n"
		"A single recording also has the times of allocations: blocks from the start of a "
		"program are rarely leaks, stacks that keep growing nearly always are. --only "
		"selects by that. Memory that the C and C++ libraries reserve once, at their "
		"start, comes last and is no leak for --exit-code.\n\n"
		"Nothing is suppressed by default. Suppressed leaks are counted, and suppressions "
		"that match nothing are reported.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct leaks),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_leaks,
};
