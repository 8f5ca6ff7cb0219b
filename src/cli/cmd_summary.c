/* cmd_summary.c - allo summary: the page to read first. */
#include "base/defer.h"
#include "cli/opened.h"
#include "cli/quote.h"
#include "cli/show_summary.h"
#include "profile/naming.h"
#include "replay/recording_profile.h"

#include <stdio.h>
#include <stdlib.h>

struct summary {
	struct allo_common common;
	uint64_t count;
	bool is_ascii;
};

static const struct summary defaults = { .count = 5 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many rows each table has, 5 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct summary, count) },
	{ .name = "ascii",
	  .help = "draw with plain characters, as where the locale is not UTF-8",
	  .offset = offsetof(struct summary, is_ascii) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Page", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_number_group,
	&allo_estimate_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo summary server.allo", "what there is to know first" },
	{ "allo summary --json server.allo | jq .peak_bytes", "one number, for a script" },
	{ NULL, NULL },
};

/* Of the timeline: enough for any terminal, and always the same, so that it can be kept. */
enum { STEPS = 512 };

/* What a file has. */
struct contents {
	struct allo_opened opened;
	struct allo_profile profile;
	struct allo_timeline timeline;
	struct allo_summary summary;
	struct allo_marks marks;
};

static void contents_done(struct contents *contents)
{
	allo_profile_done(&contents->profile);
	allo_timeline_done(&contents->timeline);
	allo_marks_done(&contents->marks);
	allo_opened_close(&contents->opened);
}

/* One pass over the events. */
static bool read_recording(struct contents *contents, const struct summary *opt,
			   struct allo_error *err)
{
	struct allo_recording *recording = &contents->opened.recording;
	struct allo_replay replay = { .by_thread = allo_recording_thread_count(recording) > 1,
				      .timeline = &contents->timeline,
				      .marks = &contents->marks,
				      .use_cache = !opt->common.no_cache };

	contents->timeline.most = STEPS;
	contents->profile.meta.format = "allo";
	if (!allo_profile_from_recording(&contents->profile, recording, &replay, &contents->summary,
					 err) ||
	    !allo_profile_validate(&contents->profile, err))
		return false;
	contents->summary.peak_ns = allo_window_peak_ns(
		&contents->opened.window, &contents->opened.recording, contents->summary.peak_bytes,
		contents->summary.peak_ns);
	allo_opened_end_bar(&contents->opened);
	return allo_common_name(&opt->common, &contents->profile, NULL, err);
}

/* Advice. */

static bool advise(struct allo_page *page, const char *about, const char *command,
		   const char *pattern, struct allo_error *err)
{
	struct allo_advice *advice = &page->advice[page->advice_count];
	ALLO_DEFER(allo_free_pointer) char *file = allo_shell_quote(page->file);
	ALLO_DEFER(allo_free_pointer) char *quoted = pattern ? allo_shell_quote(pattern) : NULL;
	int len;

	/* Standard input is gone. */
	if (page->advice_count == ALLO_ADVICE_MOST || strcmp(page->file, "-") == 0)
		return true;
	if (!file || (pattern && !quoted))
		return allo_fail_memory(err);
	len = quoted ? asprintf(&advice->command, "allo %s %s %s", command, quoted, file)
		     : asprintf(&advice->command, "allo %s %s", command, file);
	if (len < 0)
		return allo_fail_memory(err);
	advice->about = about;
	page->advice_count++;
	return true;
}

/* The function that holds most, as a pattern that finds no other. */
static bool advise_tree(struct allo_page *page, struct allo_error *err)
{
	const struct allo_overview_table *table = &page->overview.tables[0];
	char pattern[256], scratch[ALLO_TOP_SCRATCH];
	const struct allo_top_row *row;
	struct allo_text name;

	if (page->overview.count == 0 || table->top.rows.len == 0)
		return true;
	row = &table->top.rows.at[0];
	name = allo_top_name(&table->top, page->profile, row, scratch);
	if (!row->key.function || name.len + sizeof("=") > sizeof(pattern) ||
	    memchr(name.data, '\0', name.len))
		return advise(page, "on whose behalf memory is held", "tree", NULL, err);
	snprintf(pattern, sizeof(pattern), "=%.*s", ALLO_TEXT_ARG(name));
	return advise(page, "on whose behalf most is held", "tree -F", pattern, err);
}

static allo_sum sum_of(const struct allo_page *page, enum allo_meaning meaning)
{
	size_t metric;

	return allo_profile_find_metric(page->profile, meaning, &metric)
		       ? allo_metric_sum(page->profile, metric)
		       : 0;
}

/* What deserves a look, most of all. */
static bool find_advice(struct allo_page *page, struct allo_error *err)
{
	allo_sum peak = sum_of(page, ALLO_PEAK_BYTES), end = sum_of(page, ALLO_END_BYTES);
	allo_sum blocks = sum_of(page, ALLO_ALLOC_BLOCKS);
	allo_sum temporary = sum_of(page, ALLO_TEMPORARY_BLOCKS);
	bool is_recording = page->recording != NULL;

	if (!advise_tree(page, err))
		return false;
	if (end > 0 && end * 20 >= peak &&
	    !(is_recording ? advise(page, "blocks that were never freed, one by one",
				    "blocks --live --stacks", NULL, err)
			   : advise(page, "what was never freed", "tree -M end_bytes", NULL, err)))
		return false;
	if (temporary * 5 >= blocks && temporary > 0 &&
	    !advise(page, "blocks that are freed at once: reuse them", "top -M temporary_blocks",
		    NULL, err))
		return false;
	if (is_recording && page->overview.threads.rows.len > 1 &&
	    !advise(page, "what each thread holds, and who frees it", "threads", NULL, err))
		return false;
	if (is_recording &&
	    (!advise(page, "how large blocks are, and how long they live", "hist", NULL, err) ||
	     !advise(page, "the heap over time, larger", "timeline", NULL, err)))
		return false;
	return true;
}

static bool print(const struct summary *opt, struct contents *contents, const char *file,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_page_done)
	struct allo_page page = { .file = file,
				  .profile = &contents->profile,
				  .common = &opt->common,
				  .rows = opt->count,
				  .is_ascii = opt->is_ascii || !allo_terminal_is_utf8() };

	if (contents->opened.is_recording) {
		page.recording = &contents->opened.recording;
		page.timeline = &contents->timeline;
		page.summary = &contents->summary;
		page.marks = &contents->marks;
	}
	if (!allo_overview_of(&page.overview, &contents->profile, err) ||
	    !find_advice(&page, err) || !allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		allo_show_json_summary(&out, &page);
	else if (!allo_show_summary(&out, &page, err))
		return false;
	return allo_common_end(&opt->common, &out, &contents->profile.notes, err);
}

static bool run_summary(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(contents_done) struct contents contents = { 0 };
	const struct summary *opt = options_given;

	return allo_opened_open(&contents.opened, &opt->common, files[0], err) &&
	       (contents.opened.is_recording ? read_recording(&contents, opt, err)
					     : allo_opened_read(&contents.opened, &opt->common,
								&contents.profile, err)) &&
	       print(opt, &contents, files[0], err);
}

const struct allo_command allo_cmd_summary = {
	.name = "summary",
	.heading = "Look",
	.summary = "show what there is to know first",
	.arguments = "FILE",
	.about = "Prints the page to read first. Of a recording: what ran, how much it allocated, "
		 "the heap over time with its peak, then who held most at the peak, what was never "
		 "freed, who allocated most, who made most temporary blocks, and which threads or "
		 "modules held most; last, commands that go on from there. Of other profiles, as "
		 "much of it as their metrics tell.\n\n"
		 "What the events of a long recording amount to is kept in "
		 "$XDG_CACHE_HOME/allotrope/replays, or ~/.cache/allotrope/replays, so that the "
		 "next time takes none. --no-cache and ALLO_NO_CACHE=1 keep nothing.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct summary),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_summary,
};
