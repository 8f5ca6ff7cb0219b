/* cmd_tree.c - allo tree: who calls whom, and how much each branch holds. */
#include "analysis/dhat_tree.h"
#include "analysis/tree.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show/other_metric.h"
#include "cli/show/show_dhat.h"
#include "report/call_tree.h"
#include "report/messages.h"

struct tree {
	struct allo_common common;
	struct allo_call_tree show;
	bool invert, dhat;
	int grain, sort; /* -1 where none is named */
};

/* Less than 0 of the whole: whatever each kind of tree takes for small. */
static const struct tree defaults = { .show = { .min_share = -1 }, .grain = -1, .sort = -1 };

/* In the order of enum allo_tree_grain. */
static const char *const grains[] = { "function", "line", "address", NULL };

/* In the order of allo_pp_sorts. */
static const char *const sorts[ALLO_PP_SORTS + 1] = {
	"total-bytes",
	"total-blocks",
	"tiny",
	"short-lived",
	"unused-bytes",
	"unused-blocks",
	"low-access-bytes",
	"low-access-blocks",
	"peak-bytes",
	"end-bytes",
	"reads",
	"high-reads",
	"writes",
	"high-writes",
};

#define AT(field) offsetof(struct tree, field)
static const struct allo_option options[] = {
	OPT_FLAG('i', "invert", invert,
		 "start at the allocating functions and go up to their callers"),
	OPT_PERCENT(0, "min", "PERCENT", show.min_share,
		    "leave out branches with less than this share of the whole (default: 1; 0.5 "
		    "for some values of --sort)"),
	OPT_COUNT(0, "depth", "N", show.max_depth, "number of levels (default: 0, for all)"),
	OPT_CHOICE('g', "by", "GROUP", grain, grains,
		   "merge calls of the same function, line or address (default: function)"),
	OPT_FLAG(0, "dhat", dhat,
		 "print the tree of DHAT's own viewer: program points with all their metrics, "
		 "from the allocating functions on, one call a line"),
	OPT_CHOICE(0, "sort", "NAME", sort, sorts,
		   "with --dhat, sort program points by this, and decide which are significant: "
		   "total-bytes; total-blocks (default, if known); tiny, blocks of at most 16 "
		   "bytes on average; short-lived; unused-bytes and unused-blocks, never read or "
		   "never written; low-access-bytes and low-access-blocks, read or written at most "
		   "0.4 times a byte; peak-bytes; end-bytes; reads; writes; high-reads and "
		   "high-writes, read or written at least 1000 times a byte"),
	OPT_FLAG(0, "ascii", show.is_ascii, "draw with ASCII characters"),
	OPT_END,
};

static const struct allo_option_group group = { "Tree", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_metric_group,
	&allo_view_group,
	&allo_filter_group,
	&allo_number_group,
	&allo_estimate_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_trace_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo tree heap.pb.gz", "from main down to the allocations" },
	{ "allo tree --invert -M end dhat.out.1234",
	  "from the memory that was never freed up to its callers" },
	{ "allo tree --dhat --sort short-lived dhat.out.1234",
	  "short-lived blocks, as in DHAT's viewer" },
	{ NULL, NULL },
};

/* Options that belong to the other kind of tree. */
static bool check_options(const struct tree *opt, struct allo_error *err)
{
	if (!opt->dhat && opt->sort >= 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "--sort is for the tree that --dhat shows");
		return allo_hint(err, "other trees go by the metric that -M names");
	}
	if (opt->dhat && (opt->common.metric || opt->invert || opt->grain >= 0)) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s does not go with --dhat",
			  opt->common.metric ? "--metric"
			  : opt->invert      ? "--invert"
					     : "--by");
		return allo_hint(err,
				 "its tree has all metrics, begins with the allocating calls, and "
				 "is sorted by --sort");
	}
	return true;
}

static bool print_dhat_json(const struct tree *opt, const struct allo_show_dhat *show,
			    const struct allo_dhat_tree *tree, const struct allo_profile *profile,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };

	if (!allo_common_report(&opt->common, &report, allo_profile_is_estimated(profile), err))
		return false;
	allo_show_dhat_fields(show, &report, tree, profile);
	return allo_common_finish(&opt->common, &report, &profile->notes, err);
}

static bool print_dhat_text(const struct tree *opt, const struct allo_show_dhat *show,
			    const struct allo_dhat_tree *tree, const struct allo_profile *profile,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	return allo_common_begin(&opt->common, &out, err) &&
	       allo_show_dhat_text(show, &opt->common, &out, tree, profile, err) &&
	       allo_common_end(&opt->common, &out, &profile->notes, err);
}

static bool run_dhat(const struct tree *opt, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_dhat_tree_done) struct allo_dhat_tree tree = { 0 };
	struct allo_profile_request reading = { .keep_accesses = true };
	struct allo_dhat_options dhat = { .sort = opt->sort >= 0 ? &allo_pp_sorts[opt->sort] : NULL,
					  .min_share = opt->show.min_share };
	struct allo_show_dhat show = { .max_depth = opt->show.max_depth,
				       .is_ascii = opt->show.is_ascii };

	if (!allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read_all(&opt->common, files, &reading, &profile, err) ||
	    (!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, &profile, err)) ||
	    !allo_dhat_tree_from_profile(&tree, &profile, &dhat, err))
		return false;
	show.hides_max = files[1] || allo_filter_joins(&filter);
	if (!(opt->common.json ? print_dhat_json : print_dhat_text)(opt, &show, &tree, &profile,
								    err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	return true;
}

static bool run_calls(const struct tree *opt, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_tree_options tree_options = {
		.grain = opt->grain >= 0 ? (enum allo_tree_grain)opt->grain : ALLO_GRAIN_FUNCTION,
		.is_inverted = opt->invert,
	};
	struct allo_call_tree show = opt->show;
	struct allo_figures figures;
	size_t metric;

	if (show.min_share < 0)
		show.min_share = 1;
	if (!allo_common_filter(&opt->common, true, &filter, err) ||
	    !allo_common_read_all(&opt->common, files, NULL, &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err) ||
	    !allo_filter_apply(&filter, &profile, err))
		return false;
	figures = allo_figures_of(&profile, metric, opt->common.verbose);
	if (!allo_tree_from_profile(&tree, &profile, &figures.columns, &tree_options, err) ||
	    !allo_common_report(&opt->common, &report, figures.is_estimated, err))
		return false;
	allo_report_tree(&report, &show, &tree, &figures);
	if (!allo_common_finish(&opt->common, &report, &profile.notes, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	if (!opt->common.quiet)
		allo_tell_other_metric(&profile, metric);
	if (tree.cut_level && !opt->common.quiet)
		allo_say_note("the tree of this deep recursion ends after %u callers",
			      tree.cut_level);
	return true;
}

static bool run_tree(const void *options_given, char **files, struct allo_error *err)
{
	const struct tree *opt = options_given;

	return allo_common_check(&opt->common, err) && check_options(opt, err) &&
	       (opt->dhat ? run_dhat(opt, files, err) : run_calls(opt, files, err));
}

const struct allo_command allo_cmd_tree = {
	.name = "tree",
	.heading = "Look",
	.summary = "show the tree of calls, top-down or bottom-up",
	.arguments = "[FILE...]",
	.about =
		"Prints the tree of calls with the memory of each branch. A chain of calls without "
		"side branches shares a line. Small branches are counted together at the end of "
		"their parent.\n\n"
		"--dhat prints the tree of DHAT's own viewer: program points (PP), numbered like "
		"1.1.2/3 (the second of three children of 1.1), from the allocating calls on. "
		"Each shows its total allocations, the part that was live at the peak and at the "
		"end, the lifetimes of blocks and their reads and writes, if the profile has "
		"them. Points that are insignificant by --sort are counted together. Allocator "
		"calls are included unless --trim-allocator removes them.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct tree),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_tree,
};
