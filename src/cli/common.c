/* common.c - see common.h. */
#include "cli/common.h"

#include "base/defer.h"
#include "base/trust.h"
#include "cli/config_file.h"
#include "cli/quote.h"
#include "engine/fetch.h"
#include "engine/input_files.h"
#include "engine/live/process_summary.h"
#include "engine/merged_profile.h"
#include "engine/view_text.h"
#include "report/messages.h"
#include "report/pager.h"
#include "writers/writers.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(field) offsetof(struct allo_common, field)

static const char *const colors[] = { "auto", "always", "never", NULL };

static const struct allo_option reading_options[] = {
	OPT_NAME(0, "from", "FORMAT", from, READERS,
		 "input format (default: recognised by the content)"),
	OPT_FLAG(0, "strict", strict,
		 "fail if a part of the input cannot be read (default: skip it and say so)"),
	OPT_TRUST(trust),
	OPT_QUIET(quiet),
	OPT_END,
};
const struct allo_option_group allo_reading_group = { "Reading", reading_options };

static const struct allo_option trace_options[] = {
	OPT_TEXT(0, "fields", "NAMES", fields,
		 "columns before the stacks of a trace, separated by commas: timestamp, pid, tid, "
		 "execname, cpu, or - for a column to skip (default: guessed from the values)"),
	OPT_COUNT(0, "freq", "HZ", frequency,
		  "samples per second of a trace that does not state it (default: 1000)"),
	OPT_FLAG(0, "no-modules", no_modules,
		 "leave the module out of a trace's names: malloc, not libc.so.1`malloc"),
	OPT_END,
};
const struct allo_option_group allo_trace_group = { "Traces", trace_options };

static const struct allo_option symbols_options[] = {
	OPT_FLAG(0, "no-symbols", no_symbols,
		 "show the frames of a recording as addresses, without symbols"),
	OPT_FILES(
		0, "debug-dir", "DIR", debug_dirs,
		"search this directory for debug information first (may be repeated). Files are "
		"found by build-id, as in /usr/lib/debug or a debuginfod cache, or by the name of "
		"the program or library; a file with another build-id is not used"),
	OPT_FILE(0, "sysroot", "DIR", sysroot,
		 "root directory of the recorded machine or container"),
	OPT_NO_CACHE(no_cache),
	OPT_END,
};
const struct allo_option_group allo_symbols_group = { "Recordings", symbols_options };

/* Without the first option, for 'allo symbolize'. */
const struct allo_option_group allo_places_group = { "Debug information", symbols_options + 1 };

enum { REALLOC_LAST, REALLOC_FIRST };
static const char *const realloc_sites[] = { "last", "first", NULL };

static const struct allo_option view_options[] = {
	OPT_TEXT(
		0, "range", "RANGE", range,
		"only this part of a recording, in times since its start (2s..5s, 300ms.., ..1m) or "
		"from one mark to another (load..serve; the first mark of each name). Older blocks "
		"count as live, but not as allocated"),
	OPT_TEXT(
		0, "at", "INSTANT", at,
		"only blocks that were live at this instant of a recording: peak, end, a time such "
		"as 2.5s, or a mark"),
	OPT_TEXT(0, "thread", "THREAD", thread,
		 "only allocations of this thread of a recording, by number or name"),
	OPT_CHOICE(
		0, "realloc", "SITE", realloc_site, realloc_sites,
		"call site of a block that realloc resized: last (the last realloc) or first (the "
		"first allocation, which a sampled recording does not have) (default: last)"),
	OPT_END,
};
const struct allo_option_group allo_view_group = { "Parts of recordings", view_options };

static const struct allo_option metric_options[] = {
	OPT_NAME('M', "metric", "NAME", metric, METRICS,
		 "metric to show: alloc_bytes, peak_bytes, end_bytes, ... or its name in pprof or "
		 "DHAT; 'allo info' lists the metrics of a file (default: bytes live at the peak, "
		 "else at the end, else all allocated bytes)"),
	OPT_END,
};
const struct allo_option_group allo_metric_group = { "Metric", metric_options };

static const struct allo_option filter_options[] = {
	OPT_LIST(
		'L', "label", "KEY=VALUE", labels,
		"only allocations with this label: set by allo_label_push(), stored by pprof, or "
		"thread and 'thread name' of a recording; KEY alone matches any value. If repeated, "
		"all must match"),
	OPT_LIST('F', "focus", "PATTERN", focus,
		 "only stacks with a matching frame; if repeated, all must match. A pattern is a "
		 "part of a name (an upper-case letter makes it case-sensitive), =NAME for a whole "
		 "name, or /REGEX/; functions match by their short or their full name. The prefix "
		 "fn:, file: or mod: restricts it to functions, files or modules"),
	OPT_LIST('I', "ignore", "PATTERN", ignore, "leave out stacks with a matching frame"),
	OPT_LIST('H', "hide", "PATTERN", hide, "remove matching frames from all stacks"),
	OPT_LIST(0, "show", "PATTERN", show, "remove frames that do not match from all stacks"),
	OPT_FLAG(
		0, "trim-allocator", trim_allocator,
		"remove malloc, operator new, alloc::alloc and similar frames from the inner end of "
		"stacks"),
	OPT_FLAG(0, "keep-allocator", keep_allocator,
		 "keep them, in commands that remove them by default"),
	OPT_FLAG(0, "trim-startup", trim_startup,
		 "remove _start, start_thread, Rust's lang_start and similar frames from the outer "
		 "end of stacks"),
	OPT_COUNT(0, "stack-depth", "N", stack_depth,
		  "keep at most N frames of each stack, the innermost ones with the functions "
		  "inlined into them"),
	OPT_END,
};
const struct allo_option_group allo_filter_group = { "Filters", filter_options };

/* Without the first option, for a command that has another --label. */
const struct allo_option_group allo_stack_filter_group = { "Filters", filter_options + 1 };

static const struct allo_option site_options[] = {
	OPT_FLAG(0, "mine", mine,
		 "remove the frames of libraries from all stacks: those of modules and source "
		 "files in folders of the system, a toolchain or a package manager"),
	OPT(TEXT, CHOICES, 0, "wrappers", "WHICH", wrappers,
	    "functions that are passed over in the search for the code that is responsible for an "
	    "allocation: auto (known wrappers, containers and language runtimes, and functions "
	    "that have the shape of a wrapper), known (without the latter) or none (only malloc, "
	    "operator new and the like) (default: auto)",
	    .choices = allo_wrappers_names),
	OPT_LIST(0, "alloc-fn", "NAME", alloc_fns,
		 "pass over this function, too (may be repeated)"),
	OPT_END,
};
const struct allo_option_group allo_site_group = { "Sites", site_options };

/* Without the first option. */
const struct allo_option_group allo_wrappers_group = { "Sites", site_options + 1 };

static const struct allo_option number_options[] = {
	OPT_PLAIN(plain),
	OPT_FLAG(0, "full-names", full_names,
		 "print full names of functions (default: C++ and Rust names are short, and on a "
		 "terminal long names are cut to fit; CSV and JSON always have full names)"),
	OPT_END,
};
const struct allo_option_group allo_number_group = { "Numbers and names", number_options };

static const struct allo_option estimate_options[] = {
	OPT_FLAG('v', "verbose", verbose,
		 "show the margins of a sampled recording's estimates (95% confidence)"),
	OPT_END,
};
const struct allo_option_group allo_estimate_group = { "Estimates", estimate_options };

static const struct allo_option table_options[] = {
	OPT_FLAG(0, "csv", csv,
		 "print the table as comma-separated values, with plain numbers and whole names"),
	OPT_END,
};
const struct allo_option_group allo_table_group = { "Table", table_options };

static const struct allo_option printing_options[] = {
	OPT_FLAG(0, "markdown", markdown,
		 "print Markdown: headings, tables and lists to paste into a pull request"),
	OPT_JSON(json),
	OPT_CHOICE(0, "color", "WHEN", color, colors,
		   "auto, always or never (default: auto, which respects NO_COLOR)"),
	OPT_FLAG(0, "no-pager", no_pager,
		 "print directly (default: output longer than the screen goes through $PAGER, or "
		 "less)"),
	OPT_END,
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

bool allo_common_labels(const struct allo_common *common, struct allo_label_filter *filter,
			struct allo_error *err)
{
	for (size_t i = 0; i < common->labels.count; i++) {
		if (!allo_label_filter_add(filter, common->labels.item[i], err))
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
	filter->hide_libraries = common->mine;
	return allo_common_labels(common, &filter->labels, err) &&
	       add_patterns(&filter->focus, &common->focus, err) &&
	       add_patterns(&filter->ignore, &common->ignore, err) &&
	       add_patterns(&filter->hide, &common->hide, err) &&
	       add_patterns(&filter->show, &common->show, err);
}

static bool find_wrappers(const char *name, enum allo_wrappers *wrappers, struct allo_error *err)
{
	for (int i = 0; allo_wrappers_names[i]; i++) {
		if (strcmp(allo_wrappers_names[i], name) == 0) {
			*wrappers = (enum allo_wrappers)i;
			return true;
		}
	}
	return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			 "--wrappers takes auto, known or none, not '%s'", name);
}

bool allo_common_attribution(const struct allo_common *common, struct allo_attribution *attribution,
			     struct allo_error *err)
{
	const struct allo_settings_file *config = allo_config_read(err);

	if (!config)
		return false;
	attribution->wrappers = config->wrappers;
	for (size_t i = 0; i < config->alloc_fns.count; i++)
		attribution->names[attribution->name_count++] = config->alloc_fns.item[i];
	for (size_t i = 0; i < common->alloc_fns.count; i++)
		attribution->names[attribution->name_count++] = common->alloc_fns.item[i];
	return !common->wrappers || find_wrappers(common->wrappers, &attribution->wrappers, err);
}

void allo_common_tell_passed(struct allo_report *report, struct allo_attribution *attribution,
			     const struct allo_profile *profile)
{
	struct allo_passed_code passed;
	struct allo_error err = { 0 };
	const char *names = "";

	if (!allo_attribution_passed(attribution, profile, &passed, &err)) {
		allo_report_fail_memory(report);
		return;
	}
	allo_report_list(report, "skipped");
	for (size_t i = 0; i < passed.count; i++) {
		allo_report_field_text(report, NULL, allo_text_of(passed.names[i]));
		names = allo_report_string(report, "%s%s%s", names, i ? ", " : "", passed.names[i]);
	}
	allo_report_close(report);
	if (passed.others > 0)
		names = allo_report_string(report, "%s, %zu more", names, passed.others);
	if (passed.count > 0)
		allo_report_note(report, "skipped wrappers: %s; --wrappers=none shows them", names);
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
	bar.is_on = false; /* a later pass over the same input would draw into the result */
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

/* Readers tell threads apart only if they are asked to. */
static bool filters_threads(const struct allo_common *common)
{
	for (size_t i = 0; i < common->labels.count; i++) {
		const char *label = common->labels.item[i];
		struct allo_text key = { label, strcspn(label, "=") };

		if (allo_text_equal(key, ALLO_TEXT("thread")) ||
		    allo_text_equal(key, ALLO_TEXT("thread name")))
			return true;
	}
	return false;
}

struct allo_symbol_options allo_common_symbols(const struct allo_common *common)
{
	return (struct allo_symbol_options){
		.places = { .folders = common->debug_dirs.item,
			    .folder_count = common->debug_dirs.count,
			    .root = common->sysroot },
		.has_no_cache = common->no_cache,
	};
}

bool allo_common_source(const struct allo_common *common, struct allo_source_options *source,
			struct allo_error *err)
{
	allo_trust_set(common->trust);
	*source = (struct allo_source_options){
		.format = common->from,
		.trace = { .fields = common->fields,
			   .frequency = (double)common->frequency,
			   .drops_modules = common->no_modules },
		.symbols = allo_common_symbols(common),
		.no_symbols = common->no_symbols,
		.no_cache = common->no_cache,
		.by_thread = filters_threads(common),
		.is_strict = common->strict,
		.fetch = allo_fetch,
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

char **allo_common_files(char *const *files, struct allo_error *err)
{
	static struct allo_arena arena;

	return allo_input_files(files, &arena, err);
}

const char *allo_common_name_files(char *const *files, char name[ALLO_FILES_NAME_SIZE])
{
	size_t more = 0;

	while (files[more + 1])
		more++;
	if (more == 0)
		return files[0];
	snprintf(name, ALLO_FILES_NAME_SIZE, "%.256s and %zu more", files[0], more);
	return name;
}

/* The largest of several recordings; damaged ones do not count.  NULL without any. */
static const char *find_largest(char **files, struct allo_process_summaries *processes)
{
	for (; *files; files++) {
		struct allo_error none = { 0 };

		allo_process_summaries_add(processes, *files, NULL, &none);
	}
	allo_process_summaries_sort(processes);
	return processes->all.len > 0 ? processes->all.at[0].path : NULL;
}

const char *allo_common_one_file(const struct allo_common *common, const char *file,
				 struct allo_error *err)
{
	ALLO_DEFER(allo_process_summaries_done) struct allo_process_summaries processes = { 0 };
	ALLO_DEFER(allo_free_pointer) char *quoted = allo_shell_quote(file);
	char **files = allo_common_files((char *const[]){ (char *)file, NULL }, err);
	char name[ALLO_PROCESS_NAME_SIZE];
	const char *largest;

	if (!files || !files[1])
		return files ? files[0] : NULL;
	largest = find_largest(files, &processes);
	if (!largest)
		return allo_common_only_file(file, err);
	if (!common->quiet && quoted)
		allo_say_note(
			"%s has %zu recordings: this is the largest, of %s; 'allo summary %s' "
			"lists all",
			file, processes.all.len,
			allo_process_summary_name(&processes.all.at[0], name), quoted);
	return largest;
}

const char *allo_common_only_file(const char *file, struct allo_error *err)
{
	char **files = allo_common_files((char *const[]){ (char *)file, NULL }, err);

	if (!files || !files[1])
		return files ? files[0] : NULL;
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file },
		  "has several recordings: this command reads one");
	allo_hint(err, "name one of them, such as %s", files[0]);
	return NULL;
}

bool allo_common_read_all(const struct allo_common *common, char **files,
			  const struct allo_profile_request *request, struct allo_profile *profile,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_inputs_end) struct allo_inputs inputs = { .signals.fd = -1 };

	files = allo_common_files(files, err);
	return files && allo_inputs_begin(&inputs, common, files, err) &&
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

	file = allo_common_one_file(common, file, err);
	return file && allo_common_source(common, &options, err) &&
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
	if (!allo_pager_open(out, !common->no_pager, err))
		return false;
	if (common->json || common->csv)
		allo_output_clean_terminal(out);
	return true;
}

bool allo_common_end(const struct allo_common *common, struct allo_output *out,
		     const struct allo_notes *notes, struct allo_error *err)
{
	bool has_notes = notes && !common->quiet;

	if (has_notes)
		allo_say_missing(notes);
	if (!allo_pager_finish(out, err))
		return false;
	if (has_notes)
		allo_say_other_notes(notes);
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
		.has_full_names = common->full_names,
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
	bool has_notes = notes && !common->quiet;

	if (has_notes)
		allo_say_missing(notes);
	if (!allo_report_finish(report, err))
		return false;
	if (has_notes)
		allo_say_other_notes(notes);
	return true;
}

void allo_report_heap_counts(struct allo_report *report, const struct allo_heap_counts *counts)
{
	allo_report_field_u64(report, "alloc_blocks", counts->total_blocks);
	allo_report_field_u64(report, "alloc_bytes", counts->total_bytes);
	allo_report_field_u64(report, "live_blocks", counts->live_blocks);
	allo_report_field_u64(report, "live_bytes", counts->live_bytes);
	allo_report_field_u64(report, "peak_blocks", counts->peak_blocks);
	allo_report_field_u64(report, "peak_bytes", counts->peak_bytes);
}

struct allo_style allo_common_style(const struct allo_common *common)
{
	return allo_style_of(allo_wants_color((enum allo_color)common->color, STDOUT_FILENO));
}

size_t allo_common_width(const struct allo_common *common)
{
	return allo_terminal_is_output() && !common->full_names ? allo_terminal_columns() : 0;
}

bool allo_common_keep_error(struct allo_error *err)
{
	static char file[PATH_MAX];

	if (allo_failed(err) && err->pos.file) {
		snprintf(file, sizeof(file), "%s", err->pos.file);
		err->pos.file = file;
	}
	return !allo_failed(err);
}
