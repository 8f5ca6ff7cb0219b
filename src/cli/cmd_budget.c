/* cmd_budget.c - allo budget: checks limits, for those who test. */
#include "base/defer.h"
#include "cli/read_leaks.h"
#include "cli/show_budget.h"
#include "report/messages.h"

#include <stdio.h>

struct budget {
	struct allo_common common;
	const char *peak, *total, *blocks, *leaks, *growth, *baseline;
	struct allo_list in, limits, files, suppressions;
	const char *junit, *markdown;
	bool force;
};

static const struct allo_option limit_options[] = {
	{ .name = "max-peak",
	  .argument = "SIZE",
	  .help = "what may be live at once: peak <= SIZE",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct budget, peak) },
	{ .name = "max-total",
	  .argument = "SIZE",
	  .help = "what may be allocated in all: total <= SIZE",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct budget, total) },
	{ .name = "max-blocks",
	  .argument = "N",
	  .help = "how many blocks may be allocated in all: blocks <= N",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct budget, blocks) },
	{ .name = "max-leaks",
	  .argument = "SIZE",
	  .help = "what may be left in the end: leaks <= SIZE",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct budget, leaks) },
	{ .name = "in",
	  .argument = "PATTERN=SIZE",
	  .help = "what functions that match, and those that they call, may allocate in all: total "
		  "in PATTERN <= SIZE; may be given several times. Patterns are those of --focus",
	  .kind = ALLO_OPTION_LIST,
	  .offset = offsetof(struct budget, in) },
	{ .name = "growth",
	  .argument = "PERCENT",
	  .help = "how much peak, total, blocks and leaks may grow, each that the profile has, "
		  "compared with --baseline: peak growth <= PERCENT, and so on",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct budget, growth) },
	{ .name = "limit",
	  .argument = "LIMIT",
	  .help = "a limit as a file has it; may be given several times",
	  .kind = ALLO_OPTION_LIST,
	  .offset = offsetof(struct budget, limits) },
	{ .letter = 'c',
	  .name = "limits",
	  .argument = "FILE",
	  .help = "read limits from a file; may be given several times",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct budget, files) },
	{ .name = "baseline",
	  .argument = "FILE",
	  .help = "the profile that growth is measured against, of any format",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct budget, baseline) },
	{ .name = "suppressions",
	  .argument = "FILE",
	  .help = "do not count what this file lists as a leak; see 'allo help leaks'. May be given "
		  "several times",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct budget, suppressions) },
	{ .name = NULL },
};

static const struct allo_option_group limit_group = { "Limits", limit_options };

static const struct allo_option report_options[] = {
	{ .name = "junit",
	  .argument = "FILE",
	  .help = "write the results as JUnit's XML, too; - prints it instead of the table",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct budget, junit) },
	{ .name = "markdown",
	  .argument = "FILE",
	  .help = "write the results as Markdown, too; - prints it instead of the table",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct budget, markdown) },
	{ .letter = 'f',
	  .name = "force",
	  .help = "replace these files if they exist",
	  .offset = offsetof(struct budget, force) },
	{ .name = NULL },
};

static const struct allo_option_group report_group = { "Reports", report_options };

static const struct allo_option_group *const groups[] = {
	&limit_group,        &report_group,       &allo_view_group,
	&allo_filter_group,  &allo_number_group,  &allo_no_markdown_group,
	&allo_symbols_group, &allo_reading_group, NULL,
};

static const struct allo_example examples[] = {
	{ "allo budget --max-peak 50MiB --max-leaks 0 test.allo", "fail if a test needs more" },
	{ "allo budget -c budget.txt --junit budget.xml test.allo",
	  "limits from a file, results for what runs the tests" },
	{ "allo budget --growth 5% --baseline main.pb.gz branch.pb.gz",
	  "fail if memory has grown by more than a twentieth" },
	{ "allo budget --limit 'alloc_blocks in fn:parse <= 1000' test.allo",
	  "how often functions may allocate" },
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

/* --growth is for what there is. */
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

/* Reports. */

typedef void write_report(const struct allo_show_budget *show, struct allo_output *out);

static bool report(const struct budget *opt, const struct allo_show_budget *show, const char *path,
		   write_report *write, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = opt->force };

	if (!path)
		return true;
	if (!allo_output_open(&out, path, &options, err))
		return false;
	write(show, &out);
	return allo_output_finish(&out, err);
}

static bool print(const struct budget *opt, const struct allo_show_budget *show,
		  const struct allo_notes *notes, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if ((opt->junit && strcmp(opt->junit, "-") == 0) ||
	    (opt->markdown && strcmp(opt->markdown, "-") == 0))
		return true;
	if (!allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		allo_show_budget_json(show, &out);
	else if (!allo_show_budget_text(show, &out, err))
		return false;
	return allo_common_end(&opt->common, &out, notes, err);
}

static bool read_side(const struct budget *opt, const char *file, struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };

	if (!allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read(&opt->common, file, NULL, profile, err) ||
	    (!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, profile, err)))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	return true;
}

static bool check(const struct budget *opt, const char *file, struct allo_limits *limits,
		  struct allo_suppressions *suppressions, struct allo_verdicts *verdicts,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile base = { 0 };
	struct allo_show_budget show = { &opt->common, file, opt->baseline, verdicts, false };

	if (!read_side(opt, file, &profile, err) ||
	    (opt->baseline && !read_side(opt, opt->baseline, &base, err)))
		return false;
	show.is_estimated = allo_profile_is_estimated(&profile) || allo_profile_is_estimated(&base);
	return add_growth(opt, &profile, limits, err) &&
	       allo_budget_check(verdicts, limits, suppressions, &profile,
				 opt->baseline ? &base : NULL, err) &&
	       report(opt, &show, opt->junit, allo_show_budget_junit, err) &&
	       report(opt, &show, opt->markdown, allo_show_budget_markdown, err) &&
	       print(opt, &show, &profile.notes, err);
}

static bool run_budget(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	ALLO_DEFER(allo_verdicts_done) struct allo_verdicts verdicts = { 0 };
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	const struct budget *opt = options_given;

	if (!add_options(opt, &limits, err) || !add_files(opt, &limits, err) ||
	    !check_options(opt, &limits, err) ||
	    !allo_read_suppressions(&suppressions, &opt->suppressions, err) ||
	    !check(opt, files[0], &limits, &suppressions, &verdicts, err))
		return false;
	if (!opt->common.quiet)
		allo_tell_unused_suppressions(&suppressions);
	if (verdicts.exceeded > 0)
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "a limit is exceeded");
	return true;
}

const struct allo_command allo_cmd_budget = {
	.name = "budget",
	.heading = "Compare",
	.summary = "check limits, for tests",
	.arguments = "FILE",
	.about =
		"Compares what a profile says with limits, prints each with what was measured, and "
		"exits with status 3 if any is exceeded. Counts and sizes of a recording are exact, "
		"unless it was sampled: they do not depend on how busy the machine is.\n\n"
		"A file has a limit a line, such as: peak <= 50MiB, or leaks <= 0, or alloc_blocks in "
		"fn:parse <= 1000, or peak growth <= 5%; and lines with # in front, which are "
		"comments.\n\n"
		"In front stands a metric ('allo info' lists them; total is alloc_bytes, blocks "
		"alloc_blocks, leaks what was never freed), then perhaps a pattern for the functions "
		"whose stacks it is for, as in --focus, and growth if it is compared with --baseline. "
		"Growth may be limited by a percentage, a size or a number.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct budget),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_budget,
};
