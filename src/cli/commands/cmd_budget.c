/* cmd_budget.c - allo budget: checks the numbers of a profile against limits, for tests. */
#include "analysis/budget.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/gate.h"
#include "cli/read_leaks.h"
#include "cli/show/report_output.h"
#include "cli/show/verdict_files.h"
#include "cli/source_root.h"
#include "profile/short_name.h"
#include "report/messages.h"

#include <stdio.h>
#include <stdlib.h>

struct budget {
	struct allo_common common;
	const char *peak, *total, *blocks, *leaks, *growth, *baseline;
	struct allo_list in, limits, files, suppressions;
	const char *junit, *markdown, *sarif, *bench, *bencher, *report, *source_root;
	bool github, force, allow_incomplete;
};

#define AT(field) offsetof(struct budget, field)
static const struct allo_option limit_options[] = {
	OPT_TEXT(0, "max-peak", "SIZE", peak, "most live bytes at once: peak <= SIZE"),
	OPT_TEXT(0, "max-total", "SIZE", total, "most allocated bytes: total <= SIZE"),
	OPT_TEXT(0, "max-blocks", "N", blocks, "most allocated blocks: blocks <= N"),
	OPT_TEXT(0, "max-leaks", "SIZE", leaks, "most bytes live at the end: leaks <= SIZE"),
	OPT_LIST(0, "in", "PATTERN=SIZE", in,
		 "most bytes that matching functions and their callees allocate: total in PATTERN "
		 "<= SIZE (may be repeated). Patterns are those of --focus"),
	OPT_TEXT(0, "growth", "PERCENT", growth,
		 "most growth, compared with --baseline, of peak, total, blocks and leaks: peak "
		 "growth <= PERCENT, and so on for each that the profile has"),
	OPT_LIST(0, "limit", "LIMIT", limits, "a limit, written as in a file (may be repeated)"),
	OPT_FILES('c', "limits", "FILE", files, "read limits from a file (may be repeated)"),
	OPT_FILE(0, "baseline", "FILE", baseline,
		 "the profile, of any format, to compare growth with"),
	OPT_FILES(0, "suppressions", "FILE", suppressions,
		  "do not count the leaks that this file lists (may be repeated); see 'allo help "
		  "leaks'"),
	OPT_ALLOW_INCOMPLETE(allow_incomplete),
	OPT_END,
};
static const struct allo_option_group limit_group = { "Limits", limit_options };

static const struct allo_option report_options[] = {
	OPT_FILE(0, "junit", "FILE", junit,
		 "write JUnit XML as well; - prints it instead of the table"),
	OPT_FILE(0, "markdown", "FILE", markdown,
		 "write Markdown as well; - prints it instead of the table"),
	OPT_FLAG(0, "github", github,
		 "print annotations for GitHub Actions on standard error: the file and line with "
		 "most of the excess"),
	OPT_FILE(
		0, "sarif", "FILE", sarif,
		"write SARIF 2.1.0, for code-scanning services, as well; - prints it instead of the "
		"table"),
	OPT_SOURCE_ROOT(source_root),
	OPT_FILE(
		0, "bench", "FILE", bench,
		"write the measured numbers for github-action-benchmark (customSmallerIsBetter) as "
		"well; - prints them instead of the table"),
	OPT_FILE(0, "bencher", "FILE", bencher,
		 "write the measured numbers for bencher.dev (adapter json) as well; - prints them "
		 "instead of the table"),
	OPT_FILE(0, "report", "FILE", report,
		 "write an HTML report of the file, and of its change since --baseline; see 'allo "
		 "report'"),
	OPT_FLAG('f', "force", force, "replace these files if they exist"),
	OPT_END,
};
static const struct allo_option_group report_group = { "Reports", report_options };

static const struct allo_option_group *const groups[] = {
	&limit_group,
	&report_group,
	&allo_view_group,
	&allo_filter_group,
	&allo_site_group,
	&allo_number_group,
	&allo_no_markdown_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo budget --max-peak 50MiB --max-leaks 0 test.allo", "fail if a test needs more" },
	{ "allo budget -c budget.txt --junit budget.xml test.allo",
	  "limits from a file, results for the test runner" },
	{ "allo budget --max-leaks 0 --github --sarif budget.sarif test.allo",
	  "annotate the lines of a pull request" },
	{ "allo budget --growth 5% --baseline main.pb.gz branch.pb.gz",
	  "fail if memory use has grown by more than 5%" },
	{ "allo budget --limit 'alloc_blocks in fn:parse <= 1000' test.allo",
	  "limit the allocations of functions" },
	{ NULL, NULL },
};

/* Limits. */

static bool add(struct allo_limits *limits, struct allo_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool add(struct allo_limits *limits, struct allo_error *err, const char *fmt, ...)
{
	ALLO_DEFER(allo_free_pointer) char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		return allo_fail_memory(err);
	}
	return allo_limits_add(limits, allo_text_of(text), ALLO_NOWHERE, err);
}

/* PATTERN=SIZE */
static bool add_in(struct allo_limits *limits, const char *item, struct allo_error *err)
{
	const char *equals = strrchr(item, '=');

	if (!equals || equals == item)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--in expects PATTERN=SIZE, not '%.100s'", item);
	return add(limits, err, "total in %.*s <= %s", (int)(equals - item), item, equals + 1);
}

static bool add_options(const struct budget *opt, struct allo_limits *limits,
			struct allo_error *err)
{
	const struct {
		const char *name, *value;
	} given[] = { { "peak", opt->peak },
		      { "total", opt->total },
		      { "blocks", opt->blocks },
		      { "leaks", opt->leaks } };

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		if (given[i].value && !add(limits, err, "%s <= %s", given[i].name, given[i].value))
			return false;
	}
	for (size_t i = 0; i < opt->in.count; i++) {
		if (!add_in(limits, opt->in.item[i], err))
			return false;
	}
	for (size_t i = 0; i < opt->limits.count; i++) {
		if (!add(limits, err, "%s", opt->limits.item[i]))
			return false;
	}
	return true;
}

static bool add_files(const struct budget *opt, struct allo_limits *limits, struct allo_error *err)
{
	for (size_t i = 0; i < opt->files.count; i++) {
		ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };

		if (!allo_input_open(&in, opt->files.item[i], NULL, err) ||
		    !allo_limits_read(limits, &in, err))
			return false;
	}
	return true;
}

/* --growth limits those of the four metrics that the profile has. */
static bool add_growth(const struct budget *opt, const struct allo_profile *profile,
		       struct allo_limits *limits, struct allo_error *err)
{
	static const char *const names[] = { "peak", "total", "blocks", "leaks" };
	static const enum allo_meaning meanings[] = { ALLO_PEAK_BYTES, ALLO_ALLOC_BYTES,
						      ALLO_ALLOC_BLOCKS, ALLO_END_BYTES };
	bool has_percent = opt->growth && opt->growth[0] && strchr(opt->growth, '%');
	size_t metric;

	for (size_t i = 0; opt->growth && i < sizeof(names) / sizeof(*names); i++) {
		if (allo_profile_find_metric(profile, meanings[i], &metric) &&
		    !add(limits, err, "%s growth <= %s%s", names[i], opt->growth,
			 has_percent ? "" : "%"))
			return false;
	}
	return true;
}

/* The files that "-" names. */
static size_t count_printed(const struct budget *opt)
{
	const char *const files[] = { opt->junit, opt->markdown, opt->sarif, opt->bench,
				      opt->bencher };
	size_t count = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		count += files[i] && strcmp(files[i], "-") == 0;
	return count;
}

static bool check_options(const struct budget *opt, const struct allo_limits *limits,
			  struct allo_error *err)
{
	bool needs_baseline = opt->growth || allo_limits_need_baseline(limits);

	if (limits->list.len == 0 && !opt->growth) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no limit to check");
		return allo_hint(err, opt->baseline
					      ? "--growth 5%% limits the growth since the baseline"
					      : "--max-peak 50MiB is one, -c FILE reads some");
	}
	if (needs_baseline && !opt->baseline) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "growth is measured against a baseline");
		return allo_hint(err, "name one with --baseline FILE");
	}
	if (count_printed(opt) + opt->common.json > 1)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "only one of --json, --junit -, --markdown -, --sarif -, --bench "
				 "- and --bencher - can be printed");
	return true;
}

/* Results. */

struct result {
	const struct budget *opt;
	char **files; /* NULL ends */
	struct allo_limits limits;
	struct allo_suppressions suppressions;
	struct allo_verdicts verdicts;
	char root[PATH_MAX];
	struct allo_judgement judgement;
};

static void result_done(struct result *result)
{
	allo_limits_done(&result->limits);
	allo_suppressions_done(&result->suppressions);
	allo_verdicts_done(&result->verdicts);
}

static bool write_file(const struct result *result, const char *path, allo_verdict_writer *write,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = result->opt->force };

	if (!path)
		return true;
	if (!allo_output_open(&out, path, &options, err))
		return false;
	write(&result->judgement, &out);
	return allo_output_finish(&out, err);
}

static bool write_files(const struct result *result, struct allo_error *err)
{
	const struct budget *opt = result->opt;

	return write_file(result, opt->junit, allo_verdicts_junit, err) &&
	       write_file(result, opt->markdown, allo_verdicts_markdown, err) &&
	       write_file(result, opt->sarif, allo_verdicts_sarif, err) &&
	       write_file(result, opt->bench, allo_verdicts_bench, err) &&
	       write_file(result, opt->bencher, allo_verdicts_bencher, err);
}

/* The runner reads both streams of a step; standard output may be a file. */
static bool annotate(const struct result *result, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_free_pointer) char *lines = NULL;
	size_t len;

	if (!result->opt->github)
		return true;
	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err))
		return false;
	allo_verdicts_github(&result->judgement, &out);
	if (!allo_output_finish(&out, err))
		return false;
	lines = allo_output_take_memory(&out, &len, err);
	if (lines)
		fwrite(lines, 1, len, stderr);
	return lines != NULL;
}

static bool print(const struct result *result, const struct allo_notes *notes,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct budget *opt = result->opt;

	if (count_printed(opt) > 0)
		return true;
	if (!allo_common_report(&opt->common, &report, result->judgement.is_estimated, err))
		return false;
	allo_report_judgement(&report, &result->judgement);
	return allo_common_finish(&opt->common, &report, notes, err);
}

static bool read_side(const struct budget *opt, char **files, struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };

	if (!allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read_all(&opt->common, files, NULL, profile, err) ||
	    (!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, profile, err)))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	return true;
}

/* Limits whose pattern matches nothing. */

typedef ALLO_VEC(const char *) name_list;

/* Adds the short names of all functions, and their last parts: place_order of shop::place_order. */
static bool add_names(const struct allo_profile *profile, bool has_parts, struct allo_arena *arena,
		      name_list *names, struct allo_error *err)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };

	for (size_t i = 1; i < profile->functions.len && !allo_failed(err); i++) {
		struct allo_text name = allo_profile_text(profile, profile->functions.at[i].name);
		struct allo_text brief = allo_short_name(name, ALLO_NAME_BRIEF, &buffer);
		const char *copy = allo_arena_copy(arena, brief.data, brief.len), *part;

		if (!copy)
			return allo_fail_memory(err);
		allo_vec_add(names, copy, err);
		part = strrchr(copy, ':');
		if (has_parts && part && allo_vec_add(names, part, err))
			names->at[names->len - 1]++;
	}
	return !allo_failed(err);
}

/* The function that a pattern probably means; NULL: none.  A regular expression has no name, a file
 * or module is no function. */
static bool find_nearest(struct result *result, const struct allo_profile *profile,
			 struct allo_verdict *verdict, struct allo_error *err)
{
	const char *pattern = verdict->limit->pattern, *end = NULL;
	name_list names = { 0 };
	bool is_whole;

	if (strncmp(pattern, "file:", 5) == 0 || strncmp(pattern, "mod:", 4) == 0)
		return true;
	pattern += strncmp(pattern, "fn:", 3) == 0 ? 3 : 0;
	is_whole = pattern[0] == '=';
	pattern += is_whole;
	if (pattern[0] != '/' &&
	    add_names(profile, !is_whole, &result->verdicts.arena, &names, err) &&
	    allo_vec_add(&names, end, err))
		verdict->nearest = allo_nearest(pattern, names.at);
	allo_vec_done(&names);
	return !allo_failed(err);
}

static bool find_all_nearest(struct result *result, const struct allo_profile *profile,
			     struct allo_error *err)
{
	for (size_t i = 0; i < result->verdicts.list.len; i++) {
		struct allo_verdict *verdict = &result->verdicts.list.at[i];

		if (verdict->matches_nothing && !find_nearest(result, profile, verdict, err))
			return false;
	}
	return true;
}

/* Such a limit is always kept: after a function is renamed it checks nothing. */
static void tell_unmatched(const struct result *result)
{
	for (size_t i = 0; i < result->verdicts.list.len; i++) {
		const struct allo_verdict *verdict = &result->verdicts.list.at[i];

		if (!verdict->matches_nothing)
			continue;
		allo_say_note("nothing in %s matches '%s', so '%s' checks nothing%s%s%s",
			      result->judgement.name, verdict->limit->pattern, verdict->limit->name,
			      verdict->nearest ? ": did you mean '" : "",
			      verdict->nearest ? verdict->nearest : "",
			      verdict->nearest ? "'?" : "");
	}
}

static bool check(struct result *result, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile base = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	const struct budget *opt = result->opt;
	char *baseline[] = { (char *)opt->baseline, NULL };

	if (!allo_common_attribution(&opt->common, &attribution, err) ||
	    !read_side(opt, result->files, &profile, err) ||
	    (opt->baseline && !read_side(opt, baseline, &base, err)))
		return false;
	result->judgement.is_estimated = allo_profile_is_estimated(&profile) ||
					 allo_profile_is_estimated(&base);
	result->judgement.is_complete = opt->allow_incomplete ||
					(allo_notes_are_complete(&profile.notes) &&
					 allo_notes_are_complete(&base.notes));
	return add_growth(opt, &profile, &result->limits, err) &&
	       allo_budget_check(&result->verdicts, &result->limits, &result->suppressions,
				 &attribution, &profile, opt->baseline ? &base : NULL, err) &&
	       find_all_nearest(result, &profile, err) && write_files(result, err) &&
	       print(result, &profile.notes, err) && annotate(result, err);
}

/* The report shows one file: of several, or of a directory, the sum has no time axis. */
static bool write_report(const struct budget *opt, char **files, struct allo_error *err)
{
	struct allo_source_options reading;
	const char *file, *base = NULL;

	if (!opt->report)
		return true;
	if (files[1])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--report needs a single file: 'allo report' writes one for each");
	file = allo_common_one_file(&opt->common, files[0], err);
	if (file && opt->baseline)
		base = allo_common_one_file(&opt->common, opt->baseline, err);
	return !allo_failed(err) && allo_common_source(&opt->common, &reading, err) &&
	       allo_report_beside(file, base, opt->report, opt->force, opt->common.quiet, &reading,
				  err);
}

static bool run_budget(const void *options_given, char **files, struct allo_error *err)
{
	const struct budget *opt = options_given;
	char name[ALLO_FILES_NAME_SIZE];
	ALLO_DEFER(result_done)
	struct result result = { .opt = opt,
				 .files = files,
				 .judgement = { .name = allo_common_name_files(files, name),
						.file = files[0],
						.baseline = opt->baseline,
						.is_plain = opt->common.plain,
						.full_names = opt->common.full_names } };

	result.judgement.verdicts = &result.verdicts;
	result.judgement.root = result.root;
	if (!allo_source_root(opt->source_root, result.root, err) ||
	    !add_options(opt, &result.limits, err) || !add_files(opt, &result.limits, err) ||
	    !check_options(opt, &result.limits, err) ||
	    !allo_read_suppressions(&result.suppressions, &opt->suppressions, err) ||
	    !check(&result, err) || !write_report(opt, files, err))
		return false;
	if (!opt->common.quiet) {
		tell_unmatched(&result);
		allo_tell_unused_suppressions(&result.suppressions);
	}
	if (result.verdicts.exceeded > 0)
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "a limit is exceeded");
	return allo_gate_check(result.judgement.is_complete, result.judgement.name, err);
}

const struct allo_command allo_cmd_budget = {
	.name = "budget",
	.heading = "Compare",
	.summary = "check limits, for tests",
	.arguments = "FILE...",
	.about =
		"Checks a profile, or the sum of several, against limits, prints each limit with the measured number, and "
		"exits with status 3 if one is exceeded. The numbers of a recording are exact, "
		"unless it was sampled, and do not depend on the load of the machine.\n\n"
		"A file has one limit per line, such as: peak <= 50MiB, or leaks <= 0, or "
		"alloc_blocks in fn:parse <= 1000, or peak growth <= 5%. Lines that begin with # "
		"are comments.\n\n"
		"A limit begins with a metric: one that 'allo info' lists, or total "
		"(alloc_bytes), blocks (alloc_blocks) or leaks (bytes never freed). 'in PATTERN' "
		"restricts it to stacks with matching functions, as in --focus. 'growth' "
		"compares with --baseline; its limit is a percentage, a size or a number.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct budget),
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_budget,
};
