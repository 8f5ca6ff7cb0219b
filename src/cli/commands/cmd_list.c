/* cmd_list.c - allo list: source lines with the memory they hold. */
#include "analysis/listing.h"
#include "base/assert.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show/other_metric.h"
#include "engine/source_files.h"
#include "report/figures.h"
#include "report/messages.h"

#include <stdlib.h>
#include <sys/stat.h>

struct list {
	struct allo_common common;
	uint64_t count, context;
	struct allo_list folders, substitutes;
	bool only_folders;
};

static const struct list defaults = { .count = 10, .context = 5 };

#define AT(field) offsetof(struct list, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count, "number of functions (default: 10; 0 for all)"),
	OPT_COUNT('C', "context", "N", context,
		  "lines of context around those that hold memory (default: 5)"),
	OPT_FILES(0, "source-dir", "DIR", folders,
		  "look for sources in this folder: for the recorded path below it, then for the "
		  "path without its first folder, and so on; may be given several times. "
		  "ALLO_SOURCE_PATH has more folders, separated by colons"),
	OPT_LIST(0, "substitute", "FROM=TO", substitutes,
		 "replace FROM at the beginning of recorded paths by TO; may be given several "
		 "times"),
	OPT_FLAG(0, "only-source-dir", only_folders,
		 "read no source outside of the places above: a hostile profile can name any "
		 "file"),
	OPT_END,
};

static const struct allo_option_group group = { "Sources", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_metric_group,
	&allo_view_group,
	&allo_filter_group,
	&allo_number_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo list parse_config server.allo", "the lines of a function that allocate" },
	{ "allo list --source-dir ~/src/server parse_config heap.pb.gz",
	  "with sources that have moved since they were compiled" },
	{ "allo list -M alloc_blocks -C 100 =main server.allo", "a whole function" },
	{ NULL, NULL },
};

struct result {
	const struct list *opt;
	const char *pattern;
	struct allo_listing listing;
	struct allo_profile profile;
	struct allo_figures figures;
	struct allo_source_places places;
	int64_t recorded_ns; /* when the program ran, since 1970; 0: not known */

	/* Problems with sources. */
	size_t missing, changed, large; /* files */
	size_t short_of;                /* lines beyond the end of a file */
	struct allo_text example;       /* a path that was not found */

	uint32_t *file_of; /* by string: index in files + 1; 0: not looked for yet */
	ALLO_VEC(struct allo_source_file) files;
	ALLO_VEC(char) text;                         /* a line without tabs */
	const struct allo_listed_function *function; /* that is described now */
};

static void result_done(struct result *result)
{
	for (size_t i = 0; i < result->files.len; i++)
		allo_source_file_done(&result->files.at[i]);
	allo_vec_done(&result->files);
	allo_vec_done(&result->text);
	free(result->file_of);
	allo_listing_done(&result->listing);
	allo_profile_done(&result->profile);
}

/* Sources. */

/* The source of a function, which may not have been found. */
static const struct allo_source_file *source_of(struct allo_report *report, struct result *result,
						allo_string_id id)
{
	static const struct allo_source_file none;
	struct allo_text path = allo_profile_text(&result->profile, id);
	struct allo_source_file file = { 0 };
	struct allo_error err = { 0 };

	ALLO_ASSERT(id < result->profile.strings.len);
	if (result->file_of[id] == 0) {
		if (!allo_source_file_find(&file, &result->places, path, &err) ||
		    !allo_vec_append(&result->files, &file, 1)) {
			allo_source_file_done(&file);
			allo_report_fail_memory(report);
			return &none;
		}
		result->file_of[id] = (uint32_t)result->files.len;
		result->large += file.is_too_large;
		result->changed += file.path && result->recorded_ns &&
				   file.changed_ns > result->recorded_ns;
		if (!file.path && result->missing++ == 0)
			result->example = path;
	}
	return &result->files.at[result->file_of[id] - 1];
}

/* A line of source with spaces instead of tabs. */
static struct allo_text expand(struct allo_report *report, struct result *result,
			       struct allo_text line)
{
	result->text.len = 0;
	for (size_t i = 0; i < line.len; i++) {
		bool is_tab = line.data[i] == '\t';
		size_t spaces = is_tab ? 8 - result->text.len % 8 : 0;

		if (!allo_vec_append(&result->text, is_tab ? "        " : &line.data[i],
				     is_tab ? spaces : 1))
			allo_report_fail_memory(report);
	}
	return (struct allo_text){ result->text.at, result->text.len };
}

/* Lines. */

enum {
	FUNCTION,
	FILE_NAME,
	SELF,
	SELF_MARGIN,
	SELF_BLOCKS,
	TOTAL,
	TOTAL_MARGIN,
	BLOCKS,
	LINE,
	SOURCE,
	COLUMNS
};

static const struct allo_column columns[COLUMNS] = {
	[FUNCTION] = { NULL, "function", NULL, ALLO_CELL_TEXT },
	[FILE_NAME] = { NULL, "file", NULL, ALLO_CELL_TEXT },
	[SELF] = { "self", "self", "self" },
	[SELF_MARGIN] = { NULL, NULL, "self_margin" },
	[SELF_BLOCKS] = { NULL, NULL, "self_blocks" },
	[TOTAL] = { "total", "total", "total" },
	[TOTAL_MARGIN] = { NULL, NULL, "total_margin" },
	[BLOCKS] = { "blocks", "blocks", "total_blocks" },
	[LINE] = { "line", "line", NULL, ALLO_CELL_TEXT, ALLO_ALIGN_RIGHT },
	[SOURCE] = { "source", "source", NULL, ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "lines", columns, COLUMNS };

static void begin_table(struct allo_report *report, const struct result *result)
{
	allo_report_table(report, &table);
	if (!result->figures.has_margins) {
		allo_report_hide(report, SELF_MARGIN);
		allo_report_hide(report, TOTAL_MARGIN);
	}
	if (!result->figures.columns.has_blocks) {
		allo_report_hide(report, SELF_BLOCKS);
		allo_report_hide(report, BLOCKS);
	}
}

static void describe_numbers(struct allo_report *report, const struct result *result,
			     const struct allo_listed_line *line)
{
	const struct allo_figures *figures = &result->figures;

	allo_cell_value(report, SELF, figures, line->self.value);
	allo_cell_margin(report, SELF_MARGIN, figures, &line->self);
	allo_cell_blocks(report, SELF_BLOCKS, figures, line->self.blocks);
	allo_cell_value(report, TOTAL, figures, line->total.value);
	allo_cell_margin(report, TOTAL_MARGIN, figures, &line->total);
	allo_cell_blocks(report, BLOCKS, figures, line->total.blocks);
}

/* The more of the function's memory a line holds, the stronger its colour. */
static void style_line(struct allo_report *report, const struct allo_listed_line *line,
		       double whole)
{
	double share = line && whole > 0 ? (double)line->total.value / whole : 0;
	enum allo_text_style style = !line           ? ALLO_STYLE_DIM
				     : share >= 0.5  ? ALLO_STYLE_HOT
				     : share >= 0.2  ? ALLO_STYLE_RED
				     : share >= 0.05 ? ALLO_STYLE_YELLOW
						     : ALLO_STYLE_PLAIN;

	for (size_t i = 0; i < COLUMNS; i++)
		allo_cell_style(report, i, style);
}

/* `line` is NULL for context, which holds nothing. */
static void describe_line(struct allo_report *report, struct result *result,
			  const struct allo_source_file *source, uint64_t number,
			  const struct allo_listed_line *line)
{
	bool is_there;
	struct allo_text text = allo_source_file_line(source, number, &is_there);

	result->short_of += line && number > 0 && !is_there && source->lines.len > 0;
	allo_report_row(report);
	allo_report_field_u64(report, "line", number);
	if (line)
		describe_numbers(report, result, line);
	if (is_there)
		allo_report_field_name(report, "source", text);
	allo_cell_string(report, LINE,
			 number > 0 ? allo_report_string(report, "%llu", (unsigned long long)number)
				    : "?");
	allo_cell_text(report, SOURCE, expand(report, result, text));
	style_line(report, line, (double)result->function->total.value);
}

/* The lines before one that holds memory, after the last one that was shown. */
static void describe_context(struct allo_report *report, struct result *result,
			     const struct allo_source_file *source, uint64_t *shown, uint64_t to)
{
	uint64_t context = result->opt->context, from = to > context ? to - context : 1;

	if (from > *shown + 1 && *shown > 0) {
		allo_report_row(report);
		allo_cell_string(report, LINE, "...");
	}
	if (from <= *shown)
		from = *shown + 1;
	for (; from < to && from <= source->lines.len; from++)
		describe_line(report, result, source, from, NULL);
	*shown = to;
}

/* The lines after one, up to the next one that holds memory. */
static void describe_context_after(struct allo_report *report, struct result *result,
				   const struct allo_source_file *source, uint64_t *shown,
				   uint64_t next)
{
	uint64_t room = source->lines.len > *shown ? source->lines.len - *shown : 0;
	uint64_t more = room < result->opt->context ? room : result->opt->context;

	for (; more > 0 && *shown + 1 < next; more--)
		describe_line(report, result, source, ++*shown, NULL);
}

/* For people, with context. */
static void describe_lines(struct allo_report *report, struct result *result,
			   const struct allo_listed_function *function,
			   const struct allo_source_file *source)
{
	const struct allo_listed_line *lines = &result->listing.lines.at[function->first];
	uint64_t shown = 0;

	for (size_t i = 0; i < function->count; i++) {
		uint64_t next = i + 1 < function->count ? lines[i + 1].line : UINT64_MAX;

		/* A line without a number comes first, and has no neighbours. */
		if (lines[i].line > 0 && source->lines.len > 0)
			describe_context(report, result, source, &shown, lines[i].line);
		describe_line(report, result, source, lines[i].line, &lines[i]);
		if (lines[i].line > 0)
			describe_context_after(report, result, source, &shown, next);
	}
}

/* For programs. */
static void describe_data(struct allo_report *report, struct result *result,
			  const struct allo_listed_function *function,
			  const struct allo_source_file *source)
{
	const struct allo_profile *profile = &result->profile;

	for (size_t i = 0; i < function->count; i++) {
		const struct allo_listed_line *line =
			&result->listing.lines.at[function->first + i];

		describe_line(report, result, source, line->line, line);
		allo_cell_text(report, FUNCTION, allo_profile_text(profile, function->name));
		allo_cell_text(report, FILE_NAME, allo_profile_text(profile, function->file));
	}
}

/* Functions. */

/* The path of a source, cut to the rest of the line. */
static void put_path(struct allo_report *report, struct allo_text path)
{
	size_t width = report->options.max_width, used = report->column + strlen(" (not found)");
	size_t room = width > used + 8 ? width - used : 8;

	allo_report_put_cut(report, path, width ? room : 0);
}

static void describe_title(struct allo_report *report, const struct result *result,
			   const struct allo_listed_function *function,
			   const struct allo_source_file *source)
{
	struct allo_text file = allo_profile_text(&result->profile, function->file);

	allo_report_blank(report);
	allo_report_heading(report);
	allo_report_put_text(
		report, ALLO_STYLE_BOLD,
		allo_report_name(report, allo_profile_text(&result->profile, function->name)));
	allo_report_put(report, ALLO_STYLE_PLAIN, "  ");
	put_path(report, source->path ? allo_text_of(source->path) : file);
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s%s",
			source->path || file.len == 0 ? "" : " (not found)",
			file.len ? "" : "(no file)");
	allo_report_end_line(report);
	allo_report_line(report, "self %s, total %s (%s)",
			 allo_report_value(report, &result->figures, function->self.value),
			 allo_report_value(report, &result->figures, function->total.value),
			 allo_report_share(report, (double)function->total.value,
					   (double)result->listing.sum.value));
}

static void describe_function(struct allo_report *report, struct result *result,
			      const struct allo_listed_function *function)
{
	const struct allo_source_file *source = source_of(report, result, function->file);
	const struct allo_profile *profile = &result->profile;

	result->function = function;
	describe_title(report, result, function, source);
	allo_report_object(report, NULL);
	allo_report_field_name(report, "name", allo_profile_text(profile, function->name));
	allo_report_field_short(report, allo_profile_text(profile, function->name));
	allo_report_field_text(report, "file", allo_profile_text(profile, function->file));
	if (source->path)
		allo_report_field_text(report, "found", allo_text_of(source->path));
	allo_report_field_values(report, &result->figures, "self", &function->self);
	allo_report_field_values(report, &result->figures, "total", &function->total);
	begin_table(report, result);
	if (allo_report_is_prose(report))
		describe_lines(report, result, function, source);
	else
		describe_data(report, result, function, source);
	allo_report_end_table(report);
	allo_report_close(report);
}

static void describe_heading(struct allo_report *report, const struct result *result, size_t shown)
{
	size_t count = result->listing.functions.len;

	allo_report_metric_heading(report, &result->figures, &result->listing.sum);
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s function%s \"",
			allo_report_count(report, count), count == 1 ? " matches" : "s match");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(result->pattern));
	allo_report_put(report, ALLO_STYLE_PLAIN, "\"");
	if (shown < count)
		allo_report_put(report, ALLO_STYLE_PLAIN,
				", the %zu largest of them are here: -n 0 shows all", shown);
	allo_report_end_line(report);
}

static void describe(struct allo_report *report, struct result *result)
{
	size_t count = result->listing.functions.len, wanted = result->opt->count;
	size_t shown = wanted > 0 && wanted < count ? wanted : count;

	allo_report_json_lines(report, 4);
	describe_heading(report, result, shown);
	allo_report_field_metric(report, &result->profile, result->figures.columns.metric);
	allo_report_field_values(report, &result->figures, "sum", &result->listing.sum);
	allo_report_field_u64(report, "function_count", count);
	allo_report_list(report, "functions");
	for (size_t i = 0; i < shown; i++)
		allo_report_add_name(
			report,
			allo_profile_text(&result->profile, result->listing.functions.at[i].name));
	for (size_t i = 0; i < shown; i++)
		describe_function(report, result, &result->listing.functions.at[i]);
	allo_report_close(report);
	/* CSV has its titles even if nothing matches. */
	if (count == 0 && allo_report_is(report, ALLO_REPORT_CSV)) {
		begin_table(report, result);
		allo_report_end_table(report);
	}
}

static bool print(struct result *result, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = &result->opt->common;

	result->file_of = calloc(result->profile.strings.len + 1, sizeof(*result->file_of));
	if (!result->file_of)
		return allo_fail_memory(err);
	if (!allo_common_report(common, &report, result->figures.is_estimated, err))
		return false;
	describe(&report, result);
	return allo_common_finish(common, &report, &result->profile.notes, err);
}

/* The end of the run, or, if the profile does not have it, the time of the file. */
static int64_t recorded_ns(const struct allo_profile *profile, char **files)
{
	const struct allo_meta *meta = &profile->meta;
	int64_t newest = 0, duration;
	struct stat status;

	if (meta->start_ns > 0) {
		duration = meta->clock == ALLO_CLOCK_NS && meta->duration < INT64_MAX / 4
				   ? (int64_t)meta->duration
				   : 0;
		return meta->start_ns < INT64_MAX / 4 ? meta->start_ns + duration : 0;
	}
	for (; *files; files++) {
		if (strcmp(*files, "-") != 0 && stat(*files, &status) == 0 &&
		    S_ISREG(status.st_mode) && status.st_mtim.tv_sec > newest)
			newest = status.st_mtim.tv_sec;
	}
	return newest * 1000000000 + (newest ? 999999999 : 0);
}

static void note_sources(const struct result *result, struct allo_pattern *pattern)
{
	if (result->listing.functions.len == 0 &&
	    !allo_tell_other_metric_of(&result->profile, result->figures.columns.metric, pattern))
		allo_say_note("no function matches \"%s\"; 'allo top -n 0' lists them",
			      result->pattern);
	if (result->missing > 0 && result->example.len == 0)
		allo_say_note("not all functions have a file: compile with -g for lines");
	else if (result->missing > 0)
		allo_say_note("%zu source file%s not found, such as %.*s: --source-dir DIR says "
			      "where to look",
			      result->missing, result->missing == 1 ? " was" : "s were",
			      ALLO_TEXT_WHOLE(result->example));
	if (result->large > 0)
		allo_say_note("%zu source file%s too large to be shown", result->large,
			      result->large == 1 ? " is" : "s are");
	if (result->changed > 0)
		allo_say_note("%zu source file%s changed since: lines may not be those that were "
			      "compiled",
			      result->changed, result->changed == 1 ? " has" : "s have");
	if (result->short_of > 0)
		allo_say_note("%zu line%s beyond the end of the source: it is not the one that was "
			      "compiled",
			      result->short_of, result->short_of == 1 ? " is" : "s are");
}

static bool run_list(const void *options_given, char **arguments, struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	const struct list *opt = options_given;
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution attribution = { .wrappers = ALLO_WRAPPERS_NONE };
	ALLO_DEFER(result_done)
	struct result result = {
		.opt = opt,
		.pattern = arguments[0],
		.listing = { .attribution = opt->common.keep_allocator ? NULL : &attribution },
		.places = { &opt->substitutes, &opt->folders, getenv("ALLO_SOURCE_PATH"),
			    opt->only_folders },
	};
	struct allo_profile *profile = &result.profile;
	size_t metric;

	if (!allo_common_check(&opt->common, err) ||
	    !allo_source_places_check(&result.places, err) ||
	    !allo_pattern_init(&pattern, arguments[0], err) ||
	    !allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read_all(&opt->common, arguments + 1, NULL, profile, err) ||
	    !allo_common_metric(&opt->common, profile, &metric, err))
		return false;
	if (pattern.field == ALLO_FIELD_ANY)
		pattern.field = ALLO_FIELD_FUNCTION;
	result.figures = allo_figures_of(profile, metric, opt->common.verbose);
	result.recorded_ns = recorded_ns(profile, arguments + 1);
	if ((!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, profile, err)) ||
	    !allo_listing_of(&result.listing, profile, &result.figures.columns, &pattern, err) ||
	    !print(&result, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	if (!opt->common.quiet)
		note_sources(&result, &pattern);
	return true;
}

const struct allo_command allo_cmd_list = {
	.name = "list",
	.heading = "Look",
	.summary = "show source lines with the memory they hold",
	.arguments = "PATTERN FILE...",
	.about =
		"Prints the source of each function that matches, the largest first. Each line has "
		"the memory it holds itself, and the total with its callees. Lines far from any "
		"that holds memory are left out.\n\n"
		"The pattern is a part of a function's name, =NAME for a whole name, or /REGEX/, "
		"as in --focus. Sources are read from the paths they were compiled at, unless "
		"options say otherwise; if a source cannot be found, the numbers are printed "
		"without it.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct list),
	.defaults = &defaults,
	.files_least = 2,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_list,
};
