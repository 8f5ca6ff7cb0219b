/* cmd_budget.c - allo budget: checks the numbers of a profile against limits, for tests. */
#include "analysis/budget.h"
#include "base/defer.h"
#include "base/xml.h"
#include "cli/gate.h"
#include "cli/read_leaks.h"
#include "profile/short_name.h"
#include "report/messages.h"

#include <math.h>
#include <stdio.h>

struct budget {
	struct allo_common common;
	const char *peak, *total, *blocks, *leaks, *growth, *baseline;
	struct allo_list in, limits, files, suppressions;
	const char *junit, *markdown;
	bool force, allow_incomplete;
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
	OPT_ALLOW_INCOMPLETE(AT(allow_incomplete)),
	OPT_END,
};
static const struct allo_option_group limit_group = { "Limits", limit_options };

static const struct allo_option report_options[] = {
	OPT_FILE(0, "junit", "FILE", junit,
		 "write JUnit XML as well; - prints it instead of the table"),
	OPT_FILE(0, "markdown", "FILE", markdown,
		 "write Markdown as well; - prints it instead of the table"),
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

static bool check_options(const struct budget *opt, const struct allo_limits *limits,
			  struct allo_error *err)
{
	bool needs_baseline = opt->growth || allo_limits_need_baseline(limits);
	bool prints_junit = opt->junit && strcmp(opt->junit, "-") == 0;
	bool prints_markdown = opt->markdown && strcmp(opt->markdown, "-") == 0;

	if (limits->list.len == 0 && !opt->growth) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no limit to check");
		return allo_hint(err, "--max-peak 50MiB is one, -c FILE reads some");
	}
	if (needs_baseline && !opt->baseline) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "growth is measured against a baseline");
		return allo_hint(err, "name one with --baseline FILE");
	}
	if (prints_junit + prints_markdown + opt->common.json > 1)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "only one of --json, --junit - and --markdown - can be printed");
	return true;
}

/* Results. */

/* The profile and its verdicts. */
struct result {
	const struct budget *opt;
	char **files;     /* NULL ends */
	const char *name; /* of the profile, or of several */
	struct allo_limits limits;
	struct allo_suppressions suppressions;
	struct allo_verdicts verdicts;
	bool is_estimated; /* the measured numbers */
	bool is_complete;  /* no data are missing, or the user accepts that */
};

static void result_done(struct result *result)
{
	allo_limits_done(&result->limits);
	allo_suppressions_done(&result->suppressions);
	allo_verdicts_done(&result->verdicts);
}

/* A verdict in words. */

enum { PHRASE_SIZE = 160 };

/* A verdict in words. */
struct phrases {
	char measured[PHRASE_SIZE];
	char allowed[PHRASE_SIZE];
	char why[3 * PHRASE_SIZE]; /* empty: nothing to explain */
};

static const char *format(const struct result *result, const struct allo_verdict *verdict,
			  allo_sum sum, bool is_change, char out[ALLO_NUMBER_SIZE])
{
	enum allo_unit unit = allo_unit_of(allo_text_of(verdict->unit));
	struct allo_number number = allo_sum_estimate(sum, result->is_estimated);
	bool is_plain = result->opt->common.plain;

	return is_change ? allo_format_change(number, unit, is_plain, out)
			 : allo_format(number, unit, is_plain, out);
}

/* A limit is exact. */
static const char *format_limit(const struct result *result, const struct allo_verdict *verdict,
				char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ .magnitude = verdict->limit->value },
			   allo_unit_of(allo_text_of(verdict->unit)), result->opt->common.plain,
			   out);
}

static void phrase_percent(const struct allo_verdict *verdict, char out[PHRASE_SIZE])
{
	double percent = allo_verdict_percent(verdict);

	if (isinf(percent))
		snprintf(out, PHRASE_SIZE, "from nothing");
	else
		snprintf(out, PHRASE_SIZE, "%+.1f%%", percent);
}

/* The excess, or the numbers before and after, and the function with most of it. */
static void phrase_why(const struct result *result, const struct allo_verdict *verdict,
		       struct phrases *phrases)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	const struct allo_budget_limit *limit = verdict->limit;
	char a[ALLO_NUMBER_SIZE], b[ALLO_NUMBER_SIZE];
	struct allo_text mostly;
	int used = 0;

	if (limit->is_growth)
		used = snprintf(phrases->why, sizeof(phrases->why), "%s now, %s before",
				format(result, verdict, verdict->now, false, a),
				format(result, verdict, verdict->before, false, b));
	else if (!verdict->is_kept)
		used = snprintf(
			phrases->why, sizeof(phrases->why), "%s over",
			format(result, verdict, verdict->now - (allo_sum)limit->value, false, a));
	if (!verdict->mostly)
		return;
	mostly = allo_text_of(verdict->mostly);
	if (!result->opt->common.full_names)
		mostly = allo_short_name(mostly, ALLO_NAME_BRIEF, &buffer);
	snprintf(phrases->why + used, sizeof(phrases->why) - (size_t)used,
		 ", mostly %.*s%s%s (%s%s)", ALLO_TEXT_ARG(mostly),
		 verdict->mostly_file[0] ? "  " : "", verdict->mostly_file,
		 format(result, verdict, verdict->mostly_value, limit->is_growth, a),
		 verdict->others_shrank ? ", others shrank" : "");
}

static void phrase(const struct result *result, const struct allo_verdict *verdict,
		   struct phrases *phrases)
{
	const struct allo_budget_limit *limit = verdict->limit;
	char number[ALLO_NUMBER_SIZE];

	*phrases = (struct phrases){ 0 };
	if (limit->is_percent) {
		phrase_percent(verdict, phrases->measured);
		snprintf(phrases->allowed, PHRASE_SIZE, "%g%%", limit->percent);
	} else {
		allo_sum measured = verdict->now - (limit->is_growth ? verdict->before : 0);

		snprintf(phrases->measured, PHRASE_SIZE, "%s",
			 format(result, verdict, measured, limit->is_growth, number));
		snprintf(phrases->allowed, PHRASE_SIZE, "%s",
			 format_limit(result, verdict, number));
	}
	phrase_why(result, verdict, phrases);
}

/* "1 of 3 limits exceeded" */
static const char *phrase_sum(const struct result *result, char out[PHRASE_SIZE])
{
	size_t count = result->verdicts.list.len, exceeded = result->verdicts.exceeded;

	if (exceeded > 0)
		snprintf(out, PHRASE_SIZE, "%zu of %zu limit%s exceeded", exceeded, count,
			 allo_plural(count));
	else if (!result->is_complete)
		snprintf(out, PHRASE_SIZE, "the input is incomplete");
	else if (count == 1)
		snprintf(out, PHRASE_SIZE, "the limit is kept");
	else
		snprintf(out, PHRASE_SIZE, "all %zu limits are kept", count);
	return out;
}

/* Text, JSON and Markdown. */

enum { VERDICT, NAME, MEASURED, ALLOWED, WHY, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[VERDICT] = { "verdict", NULL, NULL, ALLO_CELL_TEXT },
	[NAME] = { "limit for", NULL, "name", ALLO_CELL_TEXT },
	[MEASURED] = { "measured", NULL, NULL, ALLO_CELL_TEXT, ALLO_ALIGN_RIGHT },
	[ALLOWED] = { "allowed", NULL, NULL, ALLO_CELL_TEXT },
	[WHY] = { "why", NULL, NULL, ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table table = { "limits", columns, COLUMNS, .has_no_titles = true };

static void add_percent(struct allo_report *report, const struct allo_verdict *verdict)
{
	double percent = allo_verdict_percent(verdict);

	allo_report_field_double(report, "allowed_percent", verdict->limit->percent);
	if (isinf(percent))
		allo_report_field_null(report, "growth_percent");
	else
		allo_report_field_double(report, "growth_percent", percent);
}

/* The members of a verdict in JSON. */
static void add_fields(struct allo_report *report, const struct allo_verdict *verdict)
{
	const struct allo_budget_limit *limit = verdict->limit;

	allo_report_field_string(report, "metric", verdict->metric);
	allo_report_field_string(report, "unit", verdict->unit);
	if (limit->pattern)
		allo_report_field_text(report, "pattern", allo_text_of(limit->pattern));
	allo_report_field_bool(report, "ok", verdict->is_kept);
	allo_report_field_sum(report, "measured", verdict->now);
	if (limit->is_growth)
		allo_report_field_sum(report, "baseline", verdict->before);
	if (limit->is_percent)
		add_percent(report, verdict);
	else
		allo_report_field_u64(report, limit->is_growth ? "allowed_growth" : "allowed",
				      limit->value);
	if (!verdict->mostly)
		return;
	allo_report_field_text(report, "mostly", allo_text_of(verdict->mostly));
	allo_report_field_text(report, "mostly_file", allo_text_of(verdict->mostly_file));
	allo_report_field_sum(report, "mostly_value", verdict->mostly_value);
}

static void describe_limits(struct allo_report *report, const struct result *result)
{
	allo_report_table(report, &table);
	for (size_t i = 0; i < result->verdicts.list.len; i++) {
		const struct allo_verdict *verdict = &result->verdicts.list.at[i];
		struct phrases phrases;

		phrase(result, verdict, &phrases);
		allo_report_row(report);
		allo_cell_string(report, VERDICT, verdict->is_kept ? "ok" : "FAIL");
		allo_cell_style(report, VERDICT,
				verdict->is_kept ? ALLO_STYLE_GREEN : ALLO_STYLE_HOT);
		allo_cell_string(report, NAME, verdict->limit->name);
		allo_cell_string(report, MEASURED, phrases.measured);
		allo_cell_join(
			report, ALLOWED,
			(struct allo_text[]){ ALLO_TEXT("limit "), allo_text_of(phrases.allowed) },
			2);
		allo_cell_string(report, WHY, phrases.why);
		add_fields(report, verdict);
	}
	allo_report_end_table(report);
}

static void describe(struct allo_report *report, const struct result *result)
{
	char sum[PHRASE_SIZE];

	allo_report_field_bool(report, "ok", result->verdicts.exceeded == 0 && result->is_complete);
	allo_report_field_bool(report, "complete", result->is_complete);
	allo_report_field_u64(report, "exceeded", result->verdicts.exceeded);
	describe_limits(report, result);
	allo_report_line(report, "%s", phrase_sum(result, sum));
}

/* Files. */

static void put_attribute(struct allo_output *out, const char *name, const char *value)
{
	allo_output_printf(out, " %s=\"", name);
	allo_xml_text(out, allo_text_of(value));
	allo_output_byte(out, '"');
}

static void put_case(const struct result *result, struct allo_output *out,
		     const struct allo_verdict *verdict)
{
	char name[1024], message[6 * PHRASE_SIZE];
	struct phrases phrases;

	phrase(result, verdict, &phrases);
	snprintf(name, sizeof(name), "%s <= %s", verdict->limit->name, phrases.allowed);
	allo_output_string(out, "    <testcase");
	put_attribute(out, "classname", result->name);
	put_attribute(out, "name", name);
	if (verdict->is_kept) {
		allo_output_string(out, " time=\"0\"/>\n");
		return;
	}
	snprintf(message, sizeof(message), "%s where at most %s is allowed: %s", phrases.measured,
		 phrases.allowed, phrases.why);
	allo_output_string(out, " time=\"0\">\n      <failure");
	put_attribute(out, "type", "limit");
	put_attribute(out, "message", message);
	allo_output_string(out, "/>\n    </testcase>\n");
}

/* A test case that fails. */
static void put_incomplete(const struct result *result, struct allo_output *out)
{
	allo_output_string(out, "    <testcase");
	put_attribute(out, "classname", result->name);
	put_attribute(out, "name", "the input is complete");
	allo_output_string(out, " time=\"0\">\n      <failure type=\"incomplete\" "
				"message=\"events are missing\"/>\n    </testcase>\n");
}

/* JUnit XML: a test case for each limit. */
static void write_junit(const struct result *result, struct allo_output *out)
{
	const struct allo_verdicts *verdicts = &result->verdicts;
	size_t more = !result->is_complete;
	size_t tests = verdicts->list.len + more, failures = verdicts->exceeded + more;

	allo_output_printf(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\">\n"
		"  <testsuite name=\"allo budget\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"0\" time=\"0\">\n",
		tests, failures, tests, failures);
	if (!result->is_complete)
		put_incomplete(result, out);
	for (size_t i = 0; i < verdicts->list.len; i++)
		put_case(result, out, &verdicts->list.at[i]);
	allo_output_string(out, "  </testsuite>\n</testsuites>\n");
}

/* A heading and a table. */
static void write_markdown(const struct result *result, struct allo_output *out)
{
	struct allo_report_options options = { .format = ALLO_REPORT_MARKDOWN };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const char *baseline = result->opt->baseline;
	char sum[PHRASE_SIZE];

	allo_report_begin(&report, &options, out);
	allo_report_heading(&report);
	allo_report_line(&report, "allo budget: %s", phrase_sum(result, sum));
	allo_report_line(&report, "%s%s%s", result->name, baseline ? ", compared with " : "",
			 baseline ? baseline : "");
	describe_limits(&report, result);
	allo_report_end(&report);
}

typedef void write_function(const struct result *result, struct allo_output *out);

static bool write_file(const struct result *result, const char *path, write_function *write,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = result->opt->force };

	if (!path)
		return true;
	if (!allo_output_open(&out, path, &options, err))
		return false;
	write(result, &out);
	return allo_output_finish(&out, err);
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static bool print(const struct result *result, const struct allo_notes *notes,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct budget *opt = result->opt;

	if (is_stdout(opt->junit) || is_stdout(opt->markdown))
		return true;
	if (!allo_common_report(&opt->common, &report, result->is_estimated, err))
		return false;
	describe(&report, result);
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
	result->is_estimated = allo_profile_is_estimated(&profile) ||
			       allo_profile_is_estimated(&base);
	result->is_complete = opt->allow_incomplete || (allo_notes_are_complete(&profile.notes) &&
							allo_notes_are_complete(&base.notes));
	return add_growth(opt, &profile, &result->limits, err) &&
	       allo_budget_check(&result->verdicts, &result->limits, &result->suppressions,
				 &attribution, &profile, opt->baseline ? &base : NULL, err) &&
	       write_file(result, opt->junit, write_junit, err) &&
	       write_file(result, opt->markdown, write_markdown, err) &&
	       print(result, &profile.notes, err);
}

static bool run_budget(const void *options_given, char **files, struct allo_error *err)
{
	const struct budget *opt = options_given;
	char name[ALLO_FILES_NAME_SIZE];
	ALLO_DEFER(result_done)
	struct result result = { .opt = opt,
				 .files = files,
				 .name = allo_common_name_files(files, name) };

	if (!add_options(opt, &result.limits, err) || !add_files(opt, &result.limits, err) ||
	    !check_options(opt, &result.limits, err) ||
	    !allo_read_suppressions(&result.suppressions, &opt->suppressions, err) ||
	    !check(&result, err))
		return false;
	if (!opt->common.quiet)
		allo_tell_unused_suppressions(&result.suppressions);
	if (result.verdicts.exceeded > 0)
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "a limit is exceeded");
	return allo_gate_check(result.is_complete, result.name, err);
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
