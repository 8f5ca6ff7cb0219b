/* common.c - see common.h. */
#include "cli/common.h"

#include "base/defer.h"
#include "cli/view_text.h"
#include "engine/merged_profile.h"
#include "report/messages.h"
#include "report/pager.h"
#include "writers/writers.h"

#include <sys/stat.h>
#include <unistd.h>

#define AT(field) offsetof(struct allo_common, field)

static const char *const colors[] = { "auto", "always", "never", NULL };

static const struct allo_option reading_options[] = {
	{ .name = "from",
	  .argument = "FORMAT",
	  .help = "take the input for this format instead of finding out by its content",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_READERS,
	  .offset = AT(from) },
	{ .letter = 'q',
	  .name = "quiet",
	  .help = "say nothing but errors on standard error",
	  .offset = AT(quiet) },
	{ .name = NULL },
};
const struct allo_option_group allo_reading_group = { "Reading", reading_options };

static const struct allo_option trace_options[] = {
	{ .name = "fields",
	  .argument = "NAMES",
	  .help = "what stands in the columns before the stacks of a trace, separated by commas: "
		  "timestamp, pid, tid, execname, cpu, or - for anything else. Without it, columns "
		  "are known by how they look",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = AT(fields) },
	{ .name = "freq",
	  .argument = "HZ",
	  .help = "how often a second the samples of a trace were taken, if it does not say so "
		  "itself; without it, 1000",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = AT(frequency) },
	{ .name = "no-modules",
	  .help = "leave the module out of a trace's names: malloc, not libc.so.1`malloc",
	  .offset = AT(no_modules) },
	{ .name = NULL },
};
const struct allo_option_group allo_trace_group = { "Traces", trace_options };

static const struct allo_option symbols_options[] = {
	{ .name = "no-symbols",
	  .help = "leave the frames of a recording as addresses, without looking for the programs "
		  "and libraries that they are in",
	  .offset = AT(no_symbols) },
	{ .name = "debug-dir",
	  .argument = "DIR",
	  .help = "look for debug information there first: by build-id as under /usr/lib/debug "
		  "or as debuginfod keeps it, or by the names of the programs and libraries. "
		  "Nothing is used whose build-id is not the recorded one",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = AT(debug_dirs) },
	{ .name = "sysroot",
	  .argument = "DIR",
	  .help = "take this for the root directory of the machine or container that was "
		  "recorded",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = AT(sysroot) },
	{ .name = "no-cache",
	  .help = "read debug information and events anew, and do not keep in ~/.cache/allotrope "
		  "what they come to; so does ALLO_NO_CACHE=1 in the environment",
	  .offset = AT(no_cache) },
	{ .name = NULL },
};
const struct allo_option_group allo_symbols_group = { "Recordings", symbols_options };

enum { REALLOC_LAST, REALLOC_FIRST };
static const char *const realloc_sites[] = { "last", "first", NULL };

/* All but the first, for a command that is about nothing but names. */
const struct allo_option_group allo_places_group = { "Debug information", symbols_options + 1 };

static const struct allo_option view_options[] = {
	{ .name = "range",
	  .argument = "RANGE",
	  .help = "only this part of a recording, in times from its start: 2s..5s, 300ms.. or "
		  "..1m, or from one mark of the program to another: load..serve, by the first of "
		  "each name. What was allocated before counts as live, but not as allocated",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = AT(range) },
	{ .name = "at",
	  .argument = "INSTANT",
	  .help = "what was live at one moment of a recording: peak, end, a time such as 2.5s, or a "
		  "mark of the program",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = AT(at) },
	{ .name = "thread",
	  .argument = "THREAD",
	  .help = "only what this thread of a recording has allocated, by its number or name",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = AT(thread) },
	{ .name = "realloc",
	  .argument = "SITE",
	  .help = "to whom a block belongs that realloc has resized: the last one who did, or the "
		  "first one, who allocated it, which a sampled recording does not tell",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = AT(realloc_site),
	  .choices = realloc_sites },
	{ .name = NULL },
};
const struct allo_option_group allo_view_group = { "Parts of recordings", view_options };

static const struct allo_option metric_options[] = {
	{ .letter = 'M',
	  .name = "metric",
	  .argument = "NAME",
	  .help = "which number to show: alloc_bytes, peak_bytes, end_bytes, ... or the names "
		  "that pprof and DHAT have for them; 'allo info' lists what a file has. Without "
		  "it: what was live at the peak, else at the end, else all that was allocated",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_METRICS,
	  .offset = AT(metric) },
	{ .name = NULL },
};
const struct allo_option_group allo_metric_group = { "Metric", metric_options };

static const struct allo_option filter_options[] = {
	{ .letter = 'L',
	  .name = "label",
	  .argument = "KEY=VALUE",
	  .help = "only what has this label, as a program gives it by allo_label_push() or as pprof "
		  "has it; given several times, all must be there. KEY alone: with any value",
	  .kind = ALLO_OPTION_LIST,
	  .offset = AT(labels) },
	{ .letter = 'F',
	  .name = "focus",
	  .argument = "PATTERN",
	  .help = "only stacks with a frame that matches; given several times, all must match. A "
		  "pattern is a part of a name (an upper-case letter makes it tell cases apart), "
		  "=NAME for a whole name, or /REGEX/; fn:, file: or mod: in front looks at "
		  "functions, files or modules only",
	  .kind = ALLO_OPTION_LIST,
	  .offset = AT(focus) },
	{ .letter = 'I',
	  .name = "ignore",
	  .argument = "PATTERN",
	  .help = "no stacks with a frame that matches",
	  .kind = ALLO_OPTION_LIST,
	  .offset = AT(ignore) },
	{ .letter = 'H',
	  .name = "hide",
	  .argument = "PATTERN",
	  .help = "take frames that match out of all stacks",
	  .kind = ALLO_OPTION_LIST,
	  .offset = AT(hide) },
	{ .name = "show",
	  .argument = "PATTERN",
	  .help = "take frames that do not match out of all stacks",
	  .kind = ALLO_OPTION_LIST,
	  .offset = AT(show) },
	{ .name = "trim-allocator",
	  .help = "take malloc, operator new, alloc::alloc and their like off the inner end of "
		  "stacks",
	  .offset = AT(trim_allocator) },
	{ .name = "keep-allocator",
	  .help = "leave them on, where a command takes them off by itself",
	  .offset = AT(keep_allocator) },
	{ .name = "trim-startup",
	  .help = "take _start, start_thread, Rust's lang_start and their like off the outer end "
		  "of stacks",
	  .offset = AT(trim_startup) },
	{ .name = "stack-depth",
	  .argument = "N",
	  .help = "keep at most so many frames of a stack, the innermost ones, with what is "
		  "inlined into them",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = AT(stack_depth) },
	{ .name = NULL },
};
const struct allo_option_group allo_filter_group = { "Filters", filter_options };

/* All but the first, for a command that has an option of that name. */
const struct allo_option_group allo_stack_filter_group = { "Filters", filter_options + 1 };

static const struct allo_option number_options[] = {
	{ .name = "bytes",
	  .help = "print plain numbers, without units and separators",
	  .offset = AT(plain) },
	{ .name = "full-names",
	  .help = "print names whole; without it, a terminal gets them cut to fit its width",
	  .offset = AT(full_names) },
	{ .name = NULL },
};
const struct allo_option_group allo_number_group = { "Numbers and names", number_options };

static const struct allo_option estimate_options[] = {
	{ .letter = 'v',
	  .name = "verbose",
	  .help = "show how far off the estimates of a sampled recording may be: 95 of 100 such "
		  "intervals hold the truth",
	  .offset = AT(verbose) },
	{ .name = NULL },
};
const struct allo_option_group allo_estimate_group = { "Estimates", estimate_options };

static const struct allo_option table_options[] = {
	{ .name = "csv",
	  .help = "print the table as comma-separated values, with plain numbers and whole names",
	  .offset = AT(csv) },
	{ .name = NULL },
};
const struct allo_option_group allo_table_group = { "Table", table_options };

static const struct allo_option printing_options[] = {
	{ .name = "markdown",
	  .help = "print Markdown: headings, tables and lists to paste into a pull request",
	  .offset = AT(markdown) },
	{ .name = "json", .help = "print JSON, as doc/json.md describes it", .offset = AT(json) },
	{ .name = "color",
	  .argument = "WHEN",
	  .help = "auto, always or never; NO_COLOR is honoured",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = AT(color),
	  .choices = colors },
	{ .name = "no-pager",
	  .help = "print all at once; without it, what does not fit on a terminal's screen goes "
		  "through $PAGER, or less",
	  .offset = AT(no_pager) },
	{ .name = NULL },
};
const struct allo_option_group allo_printing_group = { "Printing", printing_options };

/* Without the first option. */
const struct allo_option_group allo_no_markdown_group = { "Printing", printing_options + 1 };

bool allo_common_check(const struct allo_common *common, struct allo_error *err)
{
	static const char *const names[] = { "--csv", "--json", "--markdown" };
	const bool is_given[] = { common->csv, common->json, common->markdown };
	const char *first = NULL;

	for (size_t i = 0; i < 3; i++) {
		if (is_given[i] && first)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "%s and %s exclude each other", first, names[i]);
		if (is_given[i])
			first = names[i];
	}
	return true;
}

static bool add_patterns(struct allo_patterns *patterns, const struct allo_list *list,
			 struct allo_error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!allo_patterns_add(patterns, list->item[i], err))
			return false;
	}
	return true;
}

bool allo_common_labels(const struct allo_common *common, struct allo_label_wishes *wishes,
			struct allo_error *err)
{
	for (size_t i = 0; i < common->labels.count; i++) {
		if (!allo_label_wishes_add(wishes, common->labels.item[i], err))
			return false;
	}
	return true;
}

bool allo_common_filter(const struct allo_common *common, bool trims_by_default,
			struct allo_filter *filter, struct allo_error *err)
{
	filter->trim_allocator = (trims_by_default || common->trim_allocator) &&
				 !common->keep_allocator;
	filter->trim_startup = common->trim_startup;
	filter->stack_depth = common->stack_depth;
	return allo_common_labels(common, &filter->labels, err) &&
	       add_patterns(&filter->focus, &common->focus, err) &&
	       add_patterns(&filter->ignore, &common->ignore, err) &&
	       add_patterns(&filter->hide, &common->hide, err) &&
	       add_patterns(&filter->show, &common->show, err);
}

void allo_common_tell_filter(const struct allo_common *common, const struct allo_filter *filter)
{
	if (!common->quiet && filter->kept == 0 && filter->dropped > 0)
		allo_say_note("no stack matches: the filters leave nothing");
}

bool allo_common_view(const struct allo_common *common, struct allo_view *view,
		      struct allo_error *err)
{
	if (common->view) {
		*view = *common->view;
		view->use_cache = !common->no_cache;
		return true;
	}
	*view = (struct allo_view){ .thread = common->thread,
				    .keeps_first = common->realloc_site == REALLOC_FIRST,
				    .use_cache = !common->no_cache };
	if (common->range && common->at)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--range and --at exclude each other");
	return (!common->range || allo_view_parse_range(view, allo_text_of(common->range), err)) &&
	       (!common->at || allo_view_parse_instant(view, allo_text_of(common->at), err));
}

/* The engine's host: a progress bar and notes on standard error. */

static struct allo_progress_bar bar; /* a terminal has one */

static void begin_bar(void *context, const char *title, const char *unit)
{
	(void)context;
	allo_progress_bar_init(&bar, title);
	bar.counts = unit;
}

static void move_bar(void *context, uint64_t done, uint64_t total)
{
	(void)context;
	if (bar.is_on)
		bar.progress.tell(bar.progress.context, done, total);
}

static void end_bar(void *context)
{
	(void)context;
	allo_progress_bar_done(&bar);
}

static void say_note(void *context, const char *text)
{
	(void)context;
	allo_say_note("%s", text);
}

static const struct allo_host terminal_host = { begin_bar, move_bar, end_bar, say_note, NULL };

const struct allo_host *allo_common_host(const struct allo_common *common)
{
	return common->quiet ? NULL : &terminal_host;
}

bool allo_common_source(const struct allo_common *common, struct allo_source_options *source,
			struct allo_error *err)
{
	*source = (struct allo_source_options){
		.format = common->from,
		.trace = { .fields = common->fields,
			   .frequency = (double)common->frequency,
			   .drops_modules = common->no_modules },
		.symbols = { .places = { .folders = common->debug_dirs.item,
					 .folder_count = common->debug_dirs.count,
					 .root = common->sysroot } },
		.no_symbols = common->no_symbols,
		.no_cache = common->no_cache,
		.host = allo_common_host(common),
	};
	return allo_common_view(common, &source->view, err);
}

bool allo_inputs_begin(struct allo_inputs *inputs, const struct allo_common *common,
		       char *const *files, struct allo_error *err)
{
	inputs->signals.is_quiet = common->quiet;
	if (!allo_common_source(common, &inputs->source, err) ||
	    !allo_input_signals_begin(&inputs->signals, files, err))
		return false;
	inputs->source.watch = &inputs->signals.input;
	return true;
}

void allo_inputs_end(struct allo_inputs *inputs)
{
	allo_input_signals_end(&inputs->signals);
}

bool allo_common_read_all(const struct allo_common *common, char **files,
			  const struct allo_profile_request *request, struct allo_profile *profile,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_inputs_end) struct allo_inputs inputs = { .signals.fd = -1 };

	return allo_inputs_begin(&inputs, common, files, err) &&
	       allo_read_merged(files, &inputs.source, request, NULL, profile, err);
}

bool allo_common_read(const struct allo_common *common, const char *file,
		      const struct allo_profile_request *request, struct allo_profile *profile,
		      struct allo_error *err)
{
	char *files[] = { (char *)file, NULL };

	return allo_common_read_all(common, files, request, profile, err);
}

bool allo_common_open_recording(const struct allo_common *common, const char *file,
				const char *needed, struct allo_source *source,
				struct allo_error *err)
{
	struct allo_source_options options;

	return allo_common_source(common, &options, err) &&
	       allo_source_open_recording(source, file, &options, needed, err);
}

bool allo_common_metric(const struct allo_common *common, const struct allo_profile *profile,
			size_t *metric, struct allo_error *err)
{
	if (profile->metrics.len == 0)
		return allo_fail(err, ALLO_FORMAT, ALLO_NOWHERE,
				 "the profile has no numbers at all");
	if (common->metric)
		return allo_find_metric(profile, common->metric, metric, err);
	*metric = allo_default_metric(profile);
	return true;
}

bool allo_common_open_result(struct allo_output *out, struct allo_error *err)
{
	return allo_output_open(out, "-", &(struct allo_output_options){ 0 }, err);
}

bool allo_common_begin(const struct allo_common *common, struct allo_output *out,
		       struct allo_error *err)
{
	return allo_pager_open(out, !common->no_pager, err);
}

bool allo_common_end(const struct allo_common *common, struct allo_output *out,
		     const struct allo_notes *notes, struct allo_error *err)
{
	if (!allo_pager_finish(out, err))
		return false;
	if (notes && !common->quiet)
		allo_say_notes(notes);
	return true;
}

struct allo_report_options allo_common_report_options(const struct allo_common *common,
						      bool are_estimated)
{
	struct allo_report_options options = {
		.format = common->json       ? ALLO_REPORT_JSON
			  : common->csv      ? ALLO_REPORT_CSV
			  : common->markdown ? ALLO_REPORT_MARKDOWN
					     : ALLO_REPORT_TEXT,
		.is_plain = common->plain,
		.is_estimated = are_estimated,
		.has_pager = !common->no_pager,
		.style = allo_style_of(false),
		.json_lines = 2,
	};

	/* Other formats are for files, even if a terminal shows them. */
	if (options.format == ALLO_REPORT_TEXT) {
		options.max_width = allo_common_width(common);
		options.style = allo_common_style(common);
	}
	return options;
}

bool allo_common_report(const struct allo_common *common, struct allo_report *report,
			bool are_estimated, struct allo_error *err)
{
	struct allo_report_options options = allo_common_report_options(common, are_estimated);

	return allo_report_open(report, &options, err);
}

bool allo_common_finish(const struct allo_common *common, struct allo_report *report,
			const struct allo_notes *notes, struct allo_error *err)
{
	if (!allo_report_finish(report, err))
		return false;
	if (notes && !common->quiet)
		allo_say_notes(notes);
	return true;
}

struct allo_style allo_common_style(const struct allo_common *common)
{
	return allo_style_of(allo_wants_color((enum allo_color)common->color, STDOUT_FILENO));
}

size_t allo_common_width(const struct allo_common *common)
{
	return allo_terminal_is_output() && !common->full_names ? allo_terminal_columns() : 0;
}
