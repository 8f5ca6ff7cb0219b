/* cmd_leaks.c - allo leaks: what was never freed. */
#include "base/defer.h"
#include "cli/show_leaks.h"
#include "report/messages.h"

struct leaks {
	struct allo_common common;
	uint64_t count, depth;
	unsigned only;
	struct allo_list suppressions;
	bool exit_code;
};

static const struct leaks defaults = { .count = 10, .depth = 6 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many stacks to show, 10 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct leaks, count) },
	{ .name = "depth",
	  .argument = "N",
	  .help = "how many frames of each to show, from the allocating one on; 6 without it; 0 "
		  "shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct leaks, depth) },
	{ .name = "only",
	  .argument = "KINDS",
	  .help = "start, growing or later, or several of them with commas: by when the blocks of a "
		  "stack were allocated. start: all in the first tenth of the run. growing: in at "
		  "least three tenths, and still in the last three. later: neither",
	  .kind = ALLO_OPTION_SET,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct leaks, only),
	  .choices = allo_leak_kind_names },
	{ .name = "suppressions",
	  .argument = "FILE",
	  .help = "leave out what this file lists, in LeakSanitizer's syntax: a line leak:PATTERN "
		  "hides stacks with a frame whose function, file or module has the pattern in its "
		  "name; * is anything, ^ and $ are the beginning and the end. May be given several "
		  "times",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct leaks, suppressions) },
	{ .name = "exit-code",
	  .help = "exit with status 3 if anything is left that was never freed",
	  .offset = offsetof(struct leaks, exit_code) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Leaks", options };

static const struct allo_option_group *const groups[] = {
	&group,
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
	{ "allo leaks server.allo", "what was never freed, the largest first" },
	{ "allo leaks --only growing server.allo", "what kept growing until the end" },
	{ "allo leaks --exit-code --suppressions lsan.supp dhat.out.1234",
	  "fail if anything else than what is known is left" },
	{ NULL, NULL },
};

/* Takes away what is suppressed, then what the filters leave out. */
static bool narrow(const struct leaks *opt, struct allo_leak_files *files,
		   const struct allo_columns *columns, struct allo_error *err)
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

static bool print(const struct leaks *opt, const struct allo_show_leaks *show,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		allo_show_leaks_json(show, &out);
	else if (!(opt->common.csv ? allo_show_leaks_csv : allo_show_leaks_text)(show, &out, err))
		return false;
	return allo_common_end(&opt->common, &out, &show->files->profile.notes, err);
}

static bool check_options(const struct leaks *opt, const struct allo_leak_files *files,
			  struct allo_error *err)
{
	if (opt->only == 0 || files->has_births)
		return true;
	allo_fail(
		err, ALLO_USAGE, ALLO_NOWHERE,
		"--only is for a single recording: nothing else tells when blocks were allocated");
	return allo_hint(err, "'allo run' makes recordings");
}

static bool run_leaks(const void *options_given, char **arguments, struct allo_error *err)
{
	ALLO_DEFER(allo_leak_files_done) struct allo_leak_files files = { 0 };
	ALLO_DEFER(allo_leaks_done) struct allo_leaks leaks = { 0 };
	const struct leaks *opt = options_given;
	struct allo_show_leaks show = { &opt->common, &files, &leaks, { 0 }, 0, opt->depth };
	size_t metric;

	if (!allo_common_check(&opt->common, err) ||
	    !allo_leak_files_read(&files, &opt->common, arguments, err) ||
	    !check_options(opt, &files, err) ||
	    !allo_find_leak_metric(&files.profile, &metric, err))
		return false;
	show.figures = allo_figures_of(&opt->common, &files.profile, metric);
	if (!narrow(opt, &files, &show.figures.columns, err) ||
	    !allo_leaks_of(&leaks, &files.profile, &show.figures.columns,
			   files.has_births ? &files.births : NULL, err))
		return false;
	if (opt->only)
		allo_leaks_keep(&leaks, opt->only);
	show.count = opt->count > 0 && opt->count < leaks.list.len ? opt->count : leaks.list.len;
	if (!print(opt, &show, err))
		return false;
	if (!opt->common.quiet)
		allo_tell_unused_suppressions(&files.suppressions);
	if (opt->exit_code && leaks.list.len > 0)
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "something was never freed");
	return true;
}

const struct allo_command allo_cmd_leaks = {
	.name = "leaks",
	.heading = "Look",
	.summary = "show what was never freed, by stack",
	.arguments = "FILE...",
	.about =
		"Prints the stacks whose blocks were still there when recording ended, the largest "
		"first; of a profile that was taken on the way, those that were live then. That is no "
		"proof of a leak: the program may have had a use for them until its end, and nothing "
		"here tells whether they could still be reached.\n\n"
		"A single recording also tells when they were allocated: what belongs to the start "
		"of a program is rarely worth a look, what has kept growing nearly always is. "
		"--only chooses, and says how they are told apart.\n\n"
		"Nothing is suppressed unless asked for. What is suppressed is counted, and "
		"suppressions that hide nothing are told.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct leaks),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_leaks,
};
