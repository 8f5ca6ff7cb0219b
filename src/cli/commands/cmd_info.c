/* cmd_info.c - allo info: the contents of a file. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/debian_packages.h"
#include "cli/show/show_recording.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "profile/offset_name.h"
#include "replay/recording_profile.h"
#include "report/figures.h"
#include "report/messages.h"
#include "writers/writers.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct info {
	struct allo_common common;
};

#define AT(field) offsetof(struct info, field)
static const struct allo_option options[] = {
	OPT_PLAIN(common.plain),
	OPT_END,
};

static const struct allo_option_group group = { "Numbers", options };

static const struct allo_option_group *const groups[] = { &group, &allo_printing_group,
							  &allo_symbols_group, &allo_reading_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo info heap.pb.gz", "the program, the metrics, the quality of names" },
	{ NULL, NULL },
};

/* Modules that lack names or lines. */

/* Debian packages with the debug information of modules; all zeros is empty. */
struct module_report {
	const struct allo_profile *profile;
	const struct allo_symbols *symbols;
	ALLO_VEC(struct allo_packaged) packages; /* by module */
};

enum lack { LACKS_NOTHING, LACKS_LINES, LACKS_NAMES };

static void module_report_done(struct module_report *report)
{
	allo_vec_done(&report->packages);
}

/* Names of a stripped module may have been enough.  Lines may be those of a library that was linked
 * in, and assembly code seldom has any. */
static enum lack lack_of(const struct allo_module_symbols *module)
{
	bool has_few_lines = module->with_line < module->frames / 2;

	if (module->source == ALLO_SYMBOLS_NOT_ASKED || module->source == ALLO_SYMBOLS_STORED)
		return LACKS_NOTHING;
	if (module->named < module->frames && module->source < ALLO_SYMBOLS_NAMES)
		return LACKS_NAMES;
	return (module->with_line < module->frames && module->source < ALLO_SYMBOLS_LINES) ||
			       has_few_lines
		       ? LACKS_LINES
		       : LACKS_NOTHING;
}

static const char *reason_of(const struct allo_module_symbols *module)
{
	return module->source == ALLO_SYMBOLS_LINES ? "lines of a part only"
						    : allo_symbol_source_text(module->source);
}

static size_t module_count(const struct module_report *report)
{
	return report->symbols->modules.len < report->profile->modules.len
		       ? report->symbols->modules.len
		       : report->profile->modules.len;
}

static struct allo_text path_of(const struct module_report *report, size_t module)
{
	return allo_profile_text(report->profile, report->profile->modules.at[module].path);
}

static struct allo_text build_id_of(const struct module_report *report, size_t module)
{
	return allo_profile_text(report->profile, report->profile->modules.at[module].build_id);
}

/* `root` is that of the machine that was recorded, or NULL. */
static bool module_report_init(struct module_report *report, const struct allo_profile *profile,
			       const struct allo_symbols *symbols, const char *root,
			       struct allo_error *err)
{
	ALLO_VEC(struct allo_packaged) wanted = { 0 };
	ALLO_VEC(size_t) modules = { 0 };
	bool ok;

	*report = (struct module_report){ .profile = profile, .symbols = symbols };
	ok = allo_vec_cover(&report->packages, module_count(report));
	for (size_t i = 1; i < module_count(report) && ok; i++) {
		struct allo_packaged file = { .path = path_of(report, i) };

		if (lack_of(&symbols->modules.at[i]) != LACKS_NOTHING)
			ok = allo_vec_append(&wanted, &file, 1) && allo_vec_append(&modules, &i, 1);
	}
	if (ok)
		allo_debian_packages_find(root, wanted.at, wanted.len);
	for (size_t i = 0; i < wanted.len && ok; i++)
		report->packages.at[modules.at[i]] = wanted.at[i];
	allo_vec_done(&wanted);
	allo_vec_done(&modules);
	return ok || allo_fail_memory(err);
}

/* A profile and, if the file is one, the recording. */
struct contents {
	struct allo_source source;
	struct allo_profile profile;
	struct allo_summary summary;
	struct allo_marks marks;
	struct allo_symbols symbols;
	struct module_report modules;
};

static void contents_done(struct contents *contents)
{
	allo_profile_done(&contents->profile);
	allo_symbols_done(&contents->symbols);
	module_report_done(&contents->modules);
	allo_marks_done(&contents->marks);
	allo_source_close(&contents->source);
}

static bool read_contents(const struct allo_common *common, const char *file,
			  struct contents *contents, struct allo_error *err)
{
	const struct allo_profile_request request = { .describes = true,
						      .marks = &contents->marks,
						      .summary = &contents->summary,
						      .symbols = &contents->symbols };
	struct allo_source_options reading;

	file = allo_common_one_file(common, file, err);
	return file && allo_common_source(common, &reading, err) &&
	       allo_source_open(&contents->source, file, &reading, err) &&
	       allo_source_profile(&contents->source, &request, &contents->profile, err);
}

/* How many frames have names and lines. */
struct quality {
	size_t frames, named, with_line;
	size_t functions; /* of frames */
};

static bool find_quality(struct quality *quality, const struct allo_profile *profile,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	bool *is_seen = calloc(profile->functions.len + 1, sizeof(*is_seen));

	if (!is_seen)
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		const struct allo_line *lines = frame->line_count
							? &profile->lines.at[frame->first_line]
							: NULL;

		quality->frames++;
		quality->named += lines && profile->functions.at[lines->function].name != 0 &&
				  !allo_call_has_offset_name(profile, frame, 0);
		quality->with_line += lines && lines->line != 0;
		for (uint32_t k = 0; k < frame->line_count; k++) {
			quality->functions += !is_seen[lines[k].function];
			is_seen[lines[k].function] = true;
		}
	}
	return true;
}

static size_t count_of(size_t len)
{
	return len ? len - 1 : 0; /* entry 0 stands for none */
}

static const char *format_time(int64_t ns, char out[64])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(out, 64, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		out[0] = '\0';
	return out;
}

enum { MODULE, SYMBOLS, MODULE_COLUMNS };

static const struct allo_column module_columns[MODULE_COLUMNS] = {
	[MODULE] = { "module", NULL, NULL, ALLO_CELL_TEXT },
	[SYMBOLS] = { "symbols", NULL, NULL, ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table module_table = { NULL, module_columns, MODULE_COLUMNS,
						       .indent = 4, .has_no_titles = true };

static void describe_module(struct allo_report *report, const struct module_report *modules,
			    size_t id)
{
	const struct allo_module_symbols *module = &modules->symbols->modules.at[id];
	struct allo_text build_id = build_id_of(modules, id);

	allo_report_row(report);
	allo_cell_text(report, MODULE, path_of(modules, id));
	allo_cell_string(report, SYMBOLS,
			 allo_report_string(
				 report, "%zu of %zu frames named, %zu with a line; %s; %s%.*s",
				 module->named, module->frames, module->with_line,
				 reason_of(module), build_id.len > 0 ? "build-id " : "no build-id",
				 ALLO_TEXT_WHOLE(build_id)));
}

/* Begins a part of the page below a name of two words or more. */
static void describe_part(struct allo_report *report, const char *name, const char *rest)
{
	allo_report_put(report, ALLO_STYLE_PLAIN, "  ");
	allo_report_put(report, ALLO_STYLE_BOLD, "%s", name);
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s", rest);
	allo_report_end_line(report);
}

static size_t count_lacks(const struct module_report *modules, enum lack lack)
{
	size_t count = 0;

	for (size_t i = 1; i < module_count(modules); i++)
		count += lack_of(&modules->symbols->modules.at[i]) == lack;
	return count;
}

static void describe_lack(struct allo_report *report, const struct module_report *modules,
			  enum lack lack)
{
	if (count_lacks(modules, lack) == 0)
		return;
	describe_part(report, lack == LACKS_NAMES ? "no symbols" : "no lines", "");
	allo_report_table(report, &module_table);
	for (size_t i = 1; i < module_count(modules); i++) {
		if (lack_of(&modules->symbols->modules.at[i]) == lack)
			describe_module(report, modules, i);
	}
	allo_report_end_table(report);
}

enum { COMMAND, PURPOSE, HELP_COLUMNS };

static const struct allo_column help_columns[HELP_COLUMNS] = {
	[COMMAND] = { "command", NULL, NULL, ALLO_CELL_TEXT },
	[PURPOSE] = { "purpose", NULL, NULL, ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table help_table = { NULL, help_columns, HELP_COLUMNS, .indent = 4,
						     .has_no_titles = true };

/* The package with the debug information; else a server that has it by build-id; else the build. */
static void describe_help(struct allo_report *report, const struct module_report *modules,
			  size_t id)
{
	const char *package = modules->packages.at[id].debug_name;
	const struct allo_text fetch[] = { ALLO_TEXT_INIT("debuginfod-find debuginfo "),
					   build_id_of(modules, id) };
	const struct allo_text purpose[] = { ALLO_TEXT_INIT("for "), path_of(modules, id) };

	allo_report_row(report);
	if (package[0] != '\0')
		allo_cell_string(report, COMMAND,
				 allo_report_string(report, "apt install %s", package));
	else if (fetch[1].len > 0)
		allo_cell_join(report, COMMAND, fetch, 2);
	else
		allo_cell_string(report, COMMAND, "compile with -g, do not strip");
	allo_cell_join(report, PURPOSE, purpose, 2);
}

static void describe_lacks(struct allo_report *report, const struct module_report *modules)
{
	describe_lack(report, modules, LACKS_NAMES);
	describe_lack(report, modules, LACKS_LINES);
	if (count_lacks(modules, LACKS_NAMES) + count_lacks(modules, LACKS_LINES) == 0)
		return;
	describe_part(report, "to get them",
		      ", or pass --debug-dir or --sysroot if they are elsewhere");
	allo_report_table(report, &help_table);
	for (size_t i = 1; i < module_count(modules); i++) {
		if (lack_of(&modules->symbols->modules.at[i]) != LACKS_NOTHING)
			describe_help(report, modules, i);
	}
	allo_report_end_table(report);
}

static void describe_symbols(struct allo_report *report, const struct module_report *modules)
{
	allo_report_list(report, "symbols");
	for (size_t i = 1; i < module_count(modules); i++) {
		const struct allo_module_symbols *module = &modules->symbols->modules.at[i];

		if (module->source == ALLO_SYMBOLS_NOT_ASKED)
			continue;
		allo_report_object(report, NULL);
		allo_report_field_text(report, "module", path_of(modules, i));
		allo_report_field_text(report, "build_id", build_id_of(modules, i));
		allo_report_field_string(report, "source", allo_symbol_source_key(module->source));
		allo_report_field_text(report, "found_build_id",
				       allo_profile_text(modules->profile, module->build_id));
		allo_report_field_u64(report, "frames", module->frames);
		allo_report_field_u64(report, "named", module->named);
		allo_report_field_u64(report, "with_line", module->with_line);
		allo_report_field_u64(report, "stored", module->stored);
		allo_report_field_text(report, "install",
				       allo_text_of(modules->packages.at[i].debug_name));
		allo_report_close(report);
	}
	allo_report_close(report);
}

/* The run. */

/* By the profile's clock. */
static const char *format_duration(struct allo_report *report, const struct allo_meta *meta,
				   uint64_t duration)
{
	char text[ALLO_NUMBER_SIZE];

	return allo_report_string(
		report, "%s",
		allo_format((struct allo_number){ duration },
			    meta->clock == ALLO_CLOCK_NS ? ALLO_UNIT_NS : ALLO_UNIT_COUNT, false,
			    text));
}

static void describe_time(struct allo_report *report, const struct allo_meta *meta)
{
	char date[64];

	if (!meta->start_ns && !meta->duration)
		return;
	allo_report_fact(report, "time");
	if (meta->start_ns)
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s%s", format_time(meta->start_ns, date),
				meta->duration ? ", " : "");
	if (meta->duration)
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s%s",
				format_duration(report, meta, meta->duration),
				meta->clock == ALLO_CLOCK_INSTRUCTIONS ? " instructions" : "");
	if (meta->duration && meta->peak_time)
		allo_report_put(
			report, ALLO_STYLE_PLAIN, "; peak after %s (%s)",
			format_duration(report, meta, meta->peak_time),
			allo_report_share(report, (double)meta->peak_time, (double)meta->duration));
	allo_report_end_line(report);
}

static void describe_text(struct allo_report *report, const char *name, struct allo_text text)
{
	allo_report_fact(report, name);
	allo_report_put_text(report, ALLO_STYLE_PLAIN, text);
	allo_report_end_line(report);
}

static void describe_run(struct allo_report *report, const struct allo_profile *profile)
{
	const struct allo_meta *meta = &profile->meta;

	if (meta->command) {
		allo_report_fact(report, "program");
		allo_report_put_text(report, ALLO_STYLE_PLAIN,
				     allo_profile_text(profile, meta->command));
		if (meta->pid)
			allo_report_put(report, ALLO_STYLE_PLAIN, "   (pid %llu)",
					(unsigned long long)meta->pid);
		allo_report_end_line(report);
	}
	if (meta->producer)
		describe_text(report, "made by", allo_profile_text(profile, meta->producer));
	describe_time(report, meta);
	if (meta->period > 1) {
		/* For a count, the type says more than the unit. */
		bool is_count = allo_text_equal(allo_profile_text(profile, meta->period_unit),
						ALLO_TEXT("count"));

		allo_report_fact(report, "sampled");
		allo_report_put(report, ALLO_STYLE_PLAIN, "one in %s ",
				allo_report_count(report, (uint64_t)meta->period));
		allo_report_put_text(report, ALLO_STYLE_PLAIN,
				     allo_profile_text(profile, is_count ? meta->period_type
									 : meta->period_unit));
		allo_report_end_line(report);
	}
}

static void describe_meta(struct allo_report *report, const struct allo_profile *profile)
{
	const struct allo_meta *meta = &profile->meta;
	bool is_ns = meta->clock != ALLO_CLOCK_INSTRUCTIONS;

	allo_report_field_text(report, "format", allo_text_of(meta->format));
	allo_report_field_text(report, "dialect", allo_profile_text(profile, meta->dialect));
	allo_report_field_text(report, "command", allo_profile_text(profile, meta->command));
	allo_report_field_text(report, "producer", allo_profile_text(profile, meta->producer));
	allo_report_field_u64(report, "pid", meta->pid);
	allo_report_field_i64(report, "start_ns", meta->start_ns);
	allo_report_field_u64(report, is_ns ? "duration_ns" : "duration_instructions",
			      meta->duration);
	allo_report_field_u64(report, is_ns ? "peak_ns" : "peak_instructions", meta->peak_time);
	allo_report_field_i64(report, "period", meta->period);
}

/* The contents. */

static void describe_counts(struct allo_report *report, const struct allo_profile *profile,
			    const struct quality *quality)
{
	double frames = (double)quality->frames;
	char holds[256];

	allo_report_fact(report, "stacks");
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s   frames %s   functions %s   modules %s",
			allo_report_count(report, allo_profile_sample_count(profile)),
			allo_report_count(report, quality->frames),
			allo_report_count(report, quality->functions),
			allo_report_count(report, count_of(profile->modules.len)));
	allo_report_end_line(report);
	if (quality->frames > 0) {
		allo_report_fact(report, "names");
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s of frames named, %s with a line",
				allo_report_share(report, (double)quality->named, frames),
				allo_report_share(report, (double)quality->with_line, frames));
		allo_report_end_line(report);
	}
	allo_holds_names(allo_profile_holds(profile), holds, sizeof(holds));
	allo_report_fact(report, "has");
	allo_report_wrapped(report, holds[0] ? holds : "stacks and one metric", 12);
	for (size_t i = 0; i < profile->comments.len; i++)
		describe_text(report, "comment",
			      allo_profile_text(profile, profile->comments.at[i]));
}

static void describe_fields(struct allo_report *report, const struct allo_profile *profile,
			    const struct quality *quality)
{
	allo_report_field_u64(report, "stacks", allo_profile_sample_count(profile));
	allo_report_field_u64(report, "frames", quality->frames);
	allo_report_field_u64(report, "frames_named", quality->named);
	allo_report_field_u64(report, "frames_with_line", quality->with_line);
	allo_report_field_u64(report, "functions", quality->functions);
	allo_report_field_u64(report, "modules", count_of(profile->modules.len));
	allo_report_list(report, "comments");
	for (size_t i = 0; i < profile->comments.len; i++)
		allo_report_field_name(report, NULL,
				       allo_profile_text(profile, profile->comments.at[i]));
	allo_report_close(report);
}

enum { NAME, SUM, ABOUT, METRIC_COLUMNS };

static const struct allo_column metric_columns[METRIC_COLUMNS] = {
	[NAME] = { "metric", NULL, NULL, ALLO_CELL_TEXT, .is_bold = true },
	[SUM] = { "sum", NULL, "sum" },
	[ABOUT] = { "meaning", NULL, NULL, ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table metric_table = { "metrics", metric_columns, METRIC_COLUMNS,
						       .indent = 4, .has_no_titles = true };

static void describe_metric(struct allo_report *report, const struct allo_profile *profile,
			    size_t index)
{
	const struct allo_metric *metric = &profile->metrics.at[index];
	struct allo_text unit = allo_profile_text(profile, metric->unit);
	bool is_default = index == allo_default_metric(profile);
	char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];

	/* Bytes and times show their unit. */
	if (allo_unit_of(unit) != ALLO_UNIT_COUNT || allo_text_equal(unit, ALLO_TEXT("count")))
		unit.len = 0;
	allo_report_row(report);
	allo_report_field_metric(report, profile, index);
	allo_cell_text(report, NAME, allo_metric_name(profile, index, scratch));
	allo_cell_number(report, SUM,
			 allo_sum_estimate(allo_metric_sum(profile, index),
					   allo_profile_estimates(profile, index)),
			 allo_unit_of(allo_profile_text(profile, metric->unit)));
	allo_report_field_bool(report, "default", is_default);
	allo_cell_string(report, ABOUT,
			 allo_report_string(report, "%.*s%s%s%s", ALLO_TEXT_WHOLE(unit),
					    unit.len ? " " : "",
					    allo_metric_about(profile, index, about),
					    is_default ? "  (shown by default)" : ""));
}

static void describe_heading(struct allo_report *report, const struct allo_profile *profile,
			     const char *file)
{
	struct allo_text dialect = allo_profile_text(profile, profile->meta.dialect);

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_BOLD, allo_text_of(file));
	allo_report_put(report, ALLO_STYLE_PLAIN, "   %s%s", profile->meta.format,
			dialect.len ? ", " : "");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, dialect);
	allo_report_end_line(report);
	allo_report_field_text(report, "file", allo_text_of(file));
}

static void describe(struct allo_report *report, const struct contents *contents, const char *file,
		     const struct quality *quality)
{
	const struct allo_profile *profile = &contents->profile;

	describe_heading(report, profile, file);
	describe_meta(report, profile);
	describe_fields(report, profile, quality);
	describe_run(report, profile);
	if (contents->source.is_recording) {
		describe_symbols(report, &contents->modules);
		allo_report_recording(report, &contents->source.recording, &contents->summary,
				      &contents->marks);
	}
	describe_counts(report, profile, quality);
	describe_lacks(report, &contents->modules);
	describe_part(report, "metrics", "");
	allo_report_table(report, &metric_table);
	for (size_t i = 0; i < profile->metrics.len; i++)
		describe_metric(report, profile, i);
	allo_report_end_table(report);
}

static bool run_info(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(contents_done) struct contents contents = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct info *opt = options_given;
	struct quality quality = { 0 };

	if (!allo_common_check(&opt->common, err) ||
	    !read_contents(&opt->common, files[0], &contents, err) ||
	    !module_report_init(&contents.modules, &contents.profile, &contents.symbols,
				opt->common.sysroot, err) ||
	    !find_quality(&quality, &contents.profile, err) ||
	    !allo_common_report(&opt->common, &report, allo_profile_is_estimated(&contents.profile),
				err))
		return false;
	describe(&report, &contents, files[0], &quality);
	return allo_common_finish(&opt->common, &report, &contents.profile.notes, err);
}

const struct allo_command allo_cmd_info = {
	.name = "info",
	.heading = "Look",
	.summary = "show the contents of a file",
	.arguments = "[FILE]",
	.about =
		"Prints the program that a profile is of, its metrics and their sums, and the share "
		"of its frames that have names. Of a recording it also prints how it ended, the "
		"number of events and threads, losses, and the programs and libraries that lack "
		"names or lines, with the reason and the package to install.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct info),
	.finds_newest = true,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_info,
};
