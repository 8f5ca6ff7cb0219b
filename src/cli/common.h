/*
 * common.h - options that all commands share, and what they stand for.
 *
 * A command's own options begin with `struct allo_common common`, so that the tables below fit all.
 */
#ifndef ALLO_CLI_COMMON_H
#define ALLO_CLI_COMMON_H

#include "analysis/filters/filter.h"
#include "analysis/sites/attribution.h"
#include "analysis/sum.h"
#include "base/io/output.h"
#include "cli/command.h"
#include "cli/input_signals.h"
#include "engine/live/heap_counts.h"
#include "engine/source.h"
#include "replay/view.h"
#include "report/report.h"
#include "report/terminal.h"

struct allo_common {
	/* Reading. */
	const char *from;
	const char *metric;
	const char *range, *at, *thread; /* of recordings */
	const struct allo_view *view;    /* in their place, set by the command itself */
	int realloc_site;
	bool strict; /* refuse inputs with bad parts */
	bool quiet;
	bool trust; /* lifts the limits of base/trust.h */
	/* Of traces. */
	const char *fields;
	uint64_t frequency;
	bool no_modules;
	/* Names for the frames of recordings. */
	bool no_symbols, no_cache;
	struct allo_list debug_dirs;
	const char *sysroot;
	/* Filters. */
	struct allo_list focus, ignore, hide, show, labels;
	bool trim_allocator, keep_allocator, trim_startup;
	uint64_t stack_depth;
	/* Sites. */
	const char *wrappers; /* NULL: as the configuration says */
	struct allo_list alloc_fns;
	bool mine;
	/* Printing. */
	bool json, csv, markdown, plain, full_names, no_pager;
	bool verbose; /* shows how far off estimates may be */
	int color;
};

/* Groups for a command's table. */
extern const struct allo_option_group allo_reading_group;
extern const struct allo_option_group allo_trace_group;
extern const struct allo_option_group allo_symbols_group; /* for commands that show frames */
extern const struct allo_option_group allo_places_group;  /* the same without --no-symbols */
extern const struct allo_option_group allo_view_group;    /* for parts of recordings */
extern const struct allo_option_group allo_metric_group;
extern const struct allo_option_group allo_filter_group;
extern const struct allo_option_group allo_stack_filter_group; /* the same without --label */
extern const struct allo_option_group allo_site_group;         /* for commands that name sites */
extern const struct allo_option_group allo_wrappers_group;     /* the same without --mine */
extern const struct allo_option_group allo_number_group;       /* numbers and names */
extern const struct allo_option_group allo_estimate_group;     /* for those that tell margins */
extern const struct allo_option_group allo_table_group;        /* for commands that print tables */
extern const struct allo_option_group allo_printing_group;
extern const struct allo_option_group allo_no_markdown_group; /* printing without --markdown */

/* Whether at most one of --csv, --json and --markdown is given. */
bool allo_common_check(const struct allo_common *common, struct allo_error *err);

/* Makes the filter that the options ask for. */
bool allo_common_filter(const struct allo_common *common, bool trims_by_default,
			struct allo_filter *filter, struct allo_error *err);

/* Sets up the attribution that the options and the configuration ask for. */
bool allo_common_attribution(const struct allo_common *common, struct allo_attribution *attribution,
			     struct allo_error *err);

/* A line and JSON members that name the passed wrappers, if there are any. */
void allo_common_tell_passed(struct allo_report *report, struct allo_attribution *attribution,
			     const struct allo_profile *profile);

/* The labels that the options ask for. */
bool allo_common_labels(const struct allo_common *common, struct allo_label_filter *filter,
			struct allo_error *err);

/* Says so when the filters have left nothing. */
void allo_common_tell_filter(const struct allo_common *common, const struct allo_filter *filter);

/* The part of a recording that the options ask for. */
bool allo_common_view(const struct allo_common *common, struct allo_view *view,
		      struct allo_error *err);

/* The engine's options for a command's files.  Signals end an input that is a pipe, so that its
 * data becomes a complete result.  Must not move. */
struct allo_inputs {
	struct allo_source_options source;
	struct allo_input_signals signals;
};

/* Sets `inputs` up for reading files (NULL ends). */
bool allo_inputs_begin(struct allo_inputs *inputs, const struct allo_common *common,
		       char *const *files, struct allo_error *err);
void allo_inputs_end(struct allo_inputs *inputs);

/* Where symbols are looked for. */
struct allo_symbol_options allo_common_symbols(const struct allo_common *common);

/* The engine's options alone, for files that are not pipes. */
bool allo_common_source(const struct allo_common *common, struct allo_source_options *source,
			struct allo_error *err);

/* Progress and notes on standard error; NULL with --quiet. */
const struct allo_host *allo_common_host(const struct allo_common *common);

/* Replaces directories of recordings among the files (NULL ends) by their recordings.  The result
 * lives as long as the program, since errors and notes name the files.  NULL on failure. */
char **allo_common_files(char *const *files, struct allo_error *err);

/* "FILE", or "FILE and 2 more": a title for several files (NULL ends). */
enum { ALLO_FILES_NAME_SIZE = 300 };
const char *allo_common_name_files(char *const *files, char name[ALLO_FILES_NAME_SIZE]);

/* The file itself, or the only recording of a directory.  NULL on failure. */
const char *allo_common_only_file(const char *file, struct allo_error *err);

/* The same; of several recordings the largest, with a note. */
const char *allo_common_one_file(const struct allo_common *common, const char *file,
				 struct allo_error *err);

/* Reads one file, or all recordings of a directory.  `request` may be NULL. */
bool allo_common_read(const struct allo_common *common, const char *file,
		      const struct allo_profile_request *request, struct allo_profile *profile,
		      struct allo_error *err);

/* Reads all files (NULL ends) into one profile. */
bool allo_common_read_all(const struct allo_common *common, char **files,
			  const struct allo_profile_request *request, struct allo_profile *profile,
			  struct allo_error *err);

/* Opens a recording.  `needed` is as in allo_source_open_recording(). */
bool allo_common_open_recording(const struct allo_common *common, const char *file,
				const char *needed, struct allo_source *source,
				struct allo_error *err);

/* The metric that --metric names, or the default one. */
bool allo_common_metric(const struct allo_common *common, const struct allo_profile *profile,
			size_t *metric, struct allo_error *err);

/* Opens standard output for a result that is not for a screen. */
bool allo_common_open_result(struct allo_output *out, struct allo_error *err);

/* Opens standard output for a result, which goes through a pager if it does not fit the screen. */
bool allo_common_begin(const struct allo_common *common, struct allo_output *out,
		       struct allo_error *err);

/* Ends it, and then says what is odd about the input, unless that is to be quiet.  `notes` may be
 * NULL. */
bool allo_common_end(const struct allo_common *common, struct allo_output *out,
		     const struct allo_notes *notes, struct allo_error *err);

/* Opens standard output for a report; `are_estimated`: its numbers are estimates. */
bool allo_common_report(const struct allo_common *common, struct allo_report *report,
			bool are_estimated, struct allo_error *err);

/* Prints the report and then, unless --quiet is given, the notes on the input.  `notes` may be
 * NULL. */
bool allo_common_finish(const struct allo_common *common, struct allo_report *report,
			const struct allo_notes *notes, struct allo_error *err);

/* The JSON members of a process's heap. */
void allo_report_heap_counts(struct allo_report *report, const struct allo_heap_counts *counts);

/* The options of a report that is printed elsewhere. */
struct allo_report_options allo_common_report_options(const struct allo_common *common,
						      bool are_estimated);

struct allo_style allo_common_style(const struct allo_common *common);

/* Columns that a line may take: names are cut to fit a terminal.  0: as many as it needs. */
size_t allo_common_width(const struct allo_common *common);

/* Copies the file name of an error, if there is one, so that it outlives the command's memory:
 * main() prints it.  Returns whether there is no error. */
bool allo_common_keep_error(struct allo_error *err);

#endif
