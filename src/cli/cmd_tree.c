/* cmd_tree.c - allo tree: who calls whom, and how much each branch holds. */
#include "analysis/tree.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/messages.h"
#include "cli/show_tree.h"

struct tree {
	struct allo_common common;
	struct allo_show_tree show;
	bool invert;
	int grain;
};

static const struct tree defaults = { .show = { .min_share = 1, .max_depth = 0 } };

/* In the order of enum allo_tree_grain. */
static const char *const grains[] = { "function", "line", "address", NULL };

static const struct allo_option options[] = {
	{ .letter = 'i',
	  .name = "invert",
	  .help = "begin with the functions that allocate and go up to their callers",
	  .offset = offsetof(struct tree, invert) },
	{ .name = "min",
	  .argument = "PERCENT",
	  .help = "leave out branches with less than this of the whole, 1 without it",
	  .kind = ALLO_OPTION_PERCENT,
	  .offset = offsetof(struct tree, show.min_share) },
	{ .name = "depth",
	  .argument = "N",
	  .help = "go no deeper than this",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct tree, show.max_depth) },
	{ .letter = 'g',
	  .name = "by",
	  .argument = "WHAT",
	  .help = "what makes two calls one branch: function, line or address",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct tree, grain),
	  .choices = grains },
	{ .name = "ascii",
	  .help = "draw with plain characters",
	  .offset = offsetof(struct tree, show.is_ascii) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Tree", options };

static const struct allo_option_group *const groups[] = {
	&group, &allo_metric_group, &allo_filter_group, &allo_printing_group, &allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo tree heap.pb.gz", "from main down to where memory goes" },
	{ "allo tree --invert -M end dhat.out.1234", "from what was never freed up to who asked for it" },
	{ NULL, NULL },
};

static bool run_tree(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct tree *opt = options_given;
	struct allo_tree_options tree_options = { .grain = (enum allo_tree_grain)opt->grain,
						  .is_inverted = opt->invert };
	struct allo_columns columns;
	size_t metric;

	if (!allo_common_filter(&opt->common, true, &filter, err) ||
	    !allo_common_read_all(&opt->common, files, NULL, &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err) ||
	    !allo_filter_apply(&filter, &profile, err))
		return false;
	columns = allo_columns_of(&profile, metric);
	if (!allo_tree_from_profile(&tree, &profile, &columns, &tree_options, err) ||
	    !allo_common_open_result(&out, err))
		return false;
	if (opt->common.json)
		allo_show_tree_json(&opt->show, &out, &tree, &profile, &columns);
	else
		allo_show_tree_text(&opt->show, &opt->common, &out, &tree, &profile, &columns);
	if (!opt->common.quiet)
		allo_say_notes(&profile.notes);
	return allo_output_finish(&out, err);
}

const struct allo_command allo_cmd_tree = {
	.name = "tree",
	.heading = "Look",
	.summary = "show the tree of calls, top-down or bottom-up",
	.arguments = "FILE...",
	.about = "Prints the tree of calls with what each branch holds. Calls in a row without a side "
		 "branch share a line, and branches too small to matter are counted together at the end "
		 "of their parent.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct tree),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_tree,
};
