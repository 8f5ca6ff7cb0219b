/* cmd_list.c - allo list: source lines with what they hold. */
#include "base/defer.h"
#include "cli/show_list.h"
#include "report/messages.h"

#include <stdlib.h>
#include <sys/stat.h>

struct list {
	struct allo_common common;
	uint64_t count, context;
	struct allo_list folders, substitutes;
};

static const struct list defaults = { .count = 10, .context = 5 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many functions to show at most, 10 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct list, count) },
	{ .letter = 'C',
	  .name = "context",
	  .argument = "N",
	  .help = "how many lines to show around those that hold anything, 5 without it",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct list, context) },
	{ .name = "source-dir",
	  .argument = "DIR",
	  .help = "look for sources in this folder: for the recorded path below it, then for the "
		  "path without its outer folders, one after the other; may be given several times. "
		  "ALLO_SOURCE_PATH has more such folders, with colons between them",
	  .kind = ALLO_OPTION_LIST,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct list, folders) },
	{ .name = "substitute",
	  .argument = "FROM=TO",
	  .help = "look for sources whose recorded path begins with FROM where it begins with TO "
		  "instead; may be given several times",
	  .kind = ALLO_OPTION_LIST,
	  .offset = offsetof(struct list, substitutes) },
	{ .name = NULL },
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
	{ "allo list parse_config server.allo", "which lines of a function allocate" },
	{ "allo list --source-dir ~/src/server parse_config heap.pb.gz",
	  "with sources that are elsewhere than where they were compiled" },
	{ "allo list -M alloc_blocks -C 100 =main server.allo", "a whole function" },
	{ NULL, NULL },
};

/* When the program ran or, where the profile does not tell, when it was written. */
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

/* What is not there, or is not what it seems. */
static void tell(const struct allo_show_list *p)
{
	if (p->listing->functions.len == 0)
		allo_say_note("no function matches \"%s\"; 'allo top -n 0' lists them", p->pattern);
	if (p->missing > 0 && p->example.len == 0)
		allo_say_note("not all functions have a file: compile with -g for lines");
	else if (p->missing > 0)
		allo_say_note("%zu source file%s not found, such as %.*s: --source-dir DIR says "
			      "where to look",
			      p->missing, p->missing == 1 ? " was" : "s were",
			      ALLO_TEXT_ARG(p->example));
	if (p->large > 0)
		allo_say_note("%zu source file%s too large to be shown", p->large,
			      p->large == 1 ? " is" : "s are");
	if (p->changed > 0)
		allo_say_note("%zu source file%s changed since: lines may not be those that were "
			      "compiled",
			      p->changed, p->changed == 1 ? " has" : "s have");
	if (p->short_of > 0)
		allo_say_note("%zu line%s beyond the end of the source: it is not the one that was "
			      "compiled",
			      p->short_of, p->short_of == 1 ? " is" : "s are");
}

static bool run_list(const void *options_given, char **arguments, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	const struct list *opt = options_given;
	ALLO_DEFER(allo_listing_done)
	struct allo_listing listing = { .trims_allocator = !opt->common.keep_allocator };
	ALLO_DEFER(allo_show_list_done)
	struct allo_show_list p = {
		.common = &opt->common,
		.count = opt->count,
		.context = opt->context,
		.pattern = arguments[0],
		.listing = &listing,
		.profile = &profile,
		.places = { &opt->substitutes, &opt->folders, getenv("ALLO_SOURCE_PATH") },
	};
	size_t metric;

	if (!allo_common_check(&opt->common, err) || !allo_source_places_check(&p.places, err) ||
	    !allo_pattern_init(&pattern, arguments[0], err) ||
	    !allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read_all(&opt->common, arguments + 1, NULL, &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err))
		return false;
	if (pattern.field == ALLO_FIELD_ANY)
		pattern.field = ALLO_FIELD_FUNCTION;
	p.figures = allo_figures_of(&opt->common, &profile, metric);
	p.recorded_ns = recorded_ns(&profile, arguments + 1);
	if ((!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, &profile, err)) ||
	    !allo_listing_of(&listing, &profile, &p.figures.columns, &pattern, err) ||
	    !allo_show_list(&p, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	if (!opt->common.quiet)
		tell(&p);
	return true;
}

const struct allo_command allo_cmd_list = {
	.name = "list",
	.heading = "Look",
	.summary = "show source lines with what they hold",
	.arguments = "PATTERN FILE...",
	.about =
		"Prints the source of each function that matches, the largest first, with what each "
		"line holds itself and what passes through it in front of the line. Lines far from any "
		"that holds something are left out.\n\n"
		"The pattern is a part of a function's name, =NAME for a whole one, or /REGEX/, as in "
		"--focus. Sources are read where they were when they were compiled, unless told "
		"otherwise; where they cannot be found, the numbers are printed without them.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct list),
	.defaults = &defaults,
	.files_least = 2,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_list,
};
