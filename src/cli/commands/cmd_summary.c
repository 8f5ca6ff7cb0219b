/* cmd_summary.c - allo summary: an overview of a file on one page. */
#include "analysis/overview.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/config_file.h"
#include "cli/quote.h"
#include "cli/show/show_coverage.h"
#include "cli/show/show_findings.h"
#include "cli/show/show_losses.h"
#include "cli/show/show_marks.h"
#include "cli/show/show_missing_symbols.h"
#include "cli/show/show_processes.h"
#include "cli/show/show_recording.h"
#include "engine/input_files.h"
#include "engine/source_facts.h"
#include "profile/naming.h"
#include "replay/coverage.h"
#include "replay/recording_profile.h"
#include "report/chart.h"
#include "report/figures.h"
#include "report/row_names.h"
#include "run/name_pattern.h"

#include <stdlib.h>

struct summary {
	struct allo_common common;
	uint64_t count;
	bool is_ascii;
};

static const struct summary defaults = { .count = 5 };

#define AT(field) offsetof(struct summary, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count, "number of rows of each table (default: 5; 0 for all)"),
	OPT_FLAG(0, "ascii", is_ascii,
		 "draw with ASCII characters (default where the locale is not UTF-8)"),
	OPT_END,
};

static const struct allo_option_group group = { "Page", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_site_group,
	&allo_number_group,
	&allo_estimate_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo summary server.allo", "the overview of a recording" },
	{ "allo summary make.4711.allo.d", "all processes of a run, and their sums" },
	{ "allo summary --json server.allo | jq .peak_bytes", "one number, for a script" },
	{ NULL, NULL },
};

/* The others have 'allo findings'. */
enum { FINDINGS_SHOWN = 3 };

struct contents {
	struct allo_source source;
	struct allo_profile profile;
	struct allo_timeline timeline;
	struct allo_summary summary;
	struct allo_marks marks;
	struct allo_process_summaries processes; /* of several files */
	struct allo_source_facts facts;          /* of one file */
};

static void contents_done(struct contents *contents)
{
	allo_source_facts_done(&contents->facts);
	allo_process_summaries_done(&contents->processes);
	allo_profile_done(&contents->profile);
	allo_timeline_done(&contents->timeline);
	allo_marks_done(&contents->marks);
	allo_source_close(&contents->source);
}

/* One pass over the events, or none if the cache has the heap. */
static bool read_contents(struct contents *contents, struct allo_error *err)
{
	struct allo_profile_request request = { .timeline = &contents->timeline,
						.marks = &contents->marks,
						.summary = &contents->summary };

	contents->timeline.most = ALLO_PAGE_STEPS;
	return allo_source_profile_and_facts(&contents->source, &request, &contents->profile,
					     &contents->facts, err);
}

/* The sums of several files; those that are recordings have a row each. */
static bool read_several(struct contents *contents, const struct summary *opt, char **files,
			 struct allo_error *err)
{
	for (size_t i = 0; files[i]; i++) {
		struct allo_error no_recording = { 0 };

		if (strcmp(files[i], "-") != 0)
			allo_process_summaries_add(&contents->processes, files[i], NULL,
						   &no_recording);
	}
	allo_process_summaries_sort(&contents->processes);
	return allo_common_read_all(&opt->common, files, NULL, &contents->profile, err);
}

static bool read_one(struct contents *contents, const struct summary *opt, const char *file,
		     struct allo_error *err)
{
	struct allo_source_options reading;

	return allo_common_source(&opt->common, &reading, err) &&
	       allo_source_open(&contents->source, file, &reading, err) &&
	       read_contents(contents, err);
}

/* The whole page.  The recording, timeline, summary and marks are NULL for other files. */
struct page {
	const struct summary *opt;
	const char *file; /* or a title for several */
	bool is_one;      /* file or directory, which other commands can read */
	const struct allo_profile *profile;
	struct allo_attribution attribution;
	struct allo_overview overview;
	struct allo_evidence evidence; /* of one file, as the findings */
	struct allo_findings findings;
	const struct allo_recording *recording;
	const struct allo_timeline *timeline;
	const struct allo_summary *summary;
	const struct allo_marks *marks;
	const struct allo_process_summaries *processes; /* empty for one file */
};

static void page_done(struct page *page)
{
	allo_overview_done(&page->overview);
	allo_findings_done(&page->findings);
	allo_evidence_done(&page->evidence);
	allo_attribution_done(&page->attribution);
}

static size_t shown_rows(const struct page *page, size_t count)
{
	return page->opt->count > 0 && page->opt->count < count ? page->opt->count : count;
}

/* The run. */

/* Memory that the libraries of C, C++ and Rust keep until the end. */
static uint64_t runtime_bytes(const struct page *page)
{
	const struct allo_overview_table *end = allo_overview_find(&page->overview, "end");
	allo_sum bytes = end ? end->runtime.value : 0, most = (allo_sum)page->summary->end_bytes;

	return (uint64_t)(bytes < most ? bytes : most);
}

static const char *plus_runtime(struct allo_report *report, uint64_t bytes)
{
	return bytes == 0 ? ""
			  : allo_report_string(report, ", plus %s of language runtimes",
					       allo_report_bytes(report, bytes));
}

static void describe_totals(struct allo_report *report, const struct page *page)
{
	const struct allo_summary *summary = page->summary;
	char sampled[ALLO_SAMPLED_SIZE], seen[ALLO_SEEN_SIZE], coverage[ALLO_COVERAGE_SIZE],
		overhead[ALLO_OVERHEAD_SIZE];
	uint64_t runtime = runtime_bytes(page);
	struct allo_loss_lines losses;

	allo_report_line(report, "%s, %s allocation%s, %s total, peak %s at %s, %s %s%s",
			 allo_report_number(report, summary->duration_ns, ALLO_UNIT_NS),
			 allo_report_number(report, summary->allocations, ALLO_UNIT_COUNT),
			 allo_plural(summary->allocations),
			 allo_report_bytes(report, summary->total_bytes),
			 allo_report_bytes(report, summary->peak_bytes),
			 allo_report_number(report, summary->peak_ns, ALLO_UNIT_NS),
			 allo_report_bytes(report, summary->end_bytes - runtime),
			 page->profile->meta.part.is_attached ? "not freed" : "never freed",
			 plus_runtime(report, runtime));
	if (allo_coverage_text(summary, report->options.is_plain, coverage)[0])
		allo_report_wrapped(report, coverage, 0);
	allo_show_losses(summary, &losses);
	for (size_t i = 0; i < losses.count; i++)
		allo_report_line(report, "missing: %s", losses.text[i]);
	if (!allo_summary_is_estimated(summary))
		return;
	allo_show_sampled(&summary->sampling, sampled);
	allo_show_seen(&summary->sampling, report->options.is_plain, seen);
	allo_report_line(report, "sampled: %s%s%s", sampled, seen[0] ? "; " : "", seen);
	if (allo_show_overhead(summary, overhead)[0])
		allo_report_line(report, "overhead: %s", overhead);
}

static void describe_heading(struct allo_report *report, const struct page *page)
{
	const struct allo_meta *meta = &page->profile->meta;
	struct allo_text command = allo_profile_text(page->profile, meta->command);

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_BOLD, allo_text_of(page->file));
	allo_report_put(report, ALLO_STYLE_PLAIN, "   %s", meta->format);
	if (page->summary)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", ended: %s, %s",
				allo_end_name(page->recording->head.end),
				allo_report_counted(report, page->summary->threads, "thread"));
	if (meta->part.is_attached)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", since attach");
	allo_report_end_line(report);
	if (command.len > 0 && page->processes->all.len == 0) {
		allo_report_put_cut(report, command, report->options.max_width);
		allo_report_end_line(report);
	}
	if (page->summary)
		describe_totals(report, page);
}

/* Functions without names in the first table. */
static void describe_symbols(struct allo_report *report, const struct page *page)
{
	const struct allo_top *first = &page->overview.tables[0].top;

	allo_report_missing_scripts(report, page->profile);
	if (page->overview.count > 0)
		allo_report_missing_symbols(report, page->profile, first,
					    shown_rows(page, first->rows.len),
					    page->opt->common.sysroot);
}

static void describe_run(struct allo_report *report, const struct page *page)
{
	const struct allo_summary *summary = page->summary;

	allo_report_field_string(report, "end", allo_end_name(page->recording->head.end));
	allo_report_field_u64(report, "duration_ns", summary->duration_ns);
	allo_report_field_u64(report, "events", summary->events);
	allo_report_field_u64(report, "allocations", summary->allocations);
	allo_report_field_u64(report, "reallocs", summary->resizes);
	allo_report_field_u64(report, "frees", summary->frees);
	allo_report_field_u64(report, "alloc_bytes", summary->total_bytes);
	allo_report_field_u64(report, "peak_bytes", summary->peak_bytes);
	allo_report_field_u64(report, "peak_blocks", summary->peak_blocks);
	allo_report_field_u64(report, "peak_ns", summary->peak_ns);
	allo_report_field_u64(report, "end_bytes", summary->end_bytes);
	allo_report_field_u64(report, "end_blocks", summary->end_blocks);
	allo_report_field_coverage(report, summary);
	allo_report_field_u64(report, "thread_count", summary->threads);
	allo_report_field_u64(report, "stacks", summary->stacks);
	allo_report_field_u64(report, "dropped_events", summary->dropped_events);
	allo_report_field_losses(report, summary);
	allo_report_field_sampling(report, summary);
	allo_report_field_marks(report, page->recording, page->marks);
}

/* The heap over time. */

static void describe_timeline(struct allo_report *report, const struct allo_timeline *timeline)
{
	allo_report_object(report, "timeline");
	allo_report_field_u64(report, "from_ns", timeline->from_ns);
	allo_report_field_u64(report, "end_ns", timeline->end_ns);
	allo_report_field_u64(report, "step_ns", timeline->step_ns);
	allo_report_list(report, "max_bytes");
	for (size_t i = 0; i < timeline->steps.len; i++)
		allo_report_field_u64(report, NULL, timeline->steps.at[i].max_bytes);
	allo_report_close(report);
	allo_report_close(report);
}

static void draw_chart(struct allo_report *report, const struct page *page)
{
	enum { CHART_ROWS = 4 };
	const struct allo_timeline *timeline = page->timeline;
	ALLO_DEFER(allo_free_pointer)
	uint64_t *values = calloc(timeline->steps.len + 1, sizeof(*values));
	struct allo_chart chart = {
		.values = values,
		.count = timeline->steps.len,
		.from_ns = timeline->from_ns,
		.step_ns = timeline->step_ns,
		.end_ns = timeline->end_ns,
		.unit = ALLO_UNIT_BYTES,
		.unit_end = "",
		.mark_ns = page->summary->peak_ns,
		.mark = allo_report_string(
			report, "peak %s at %s",
			allo_report_bytes(report, page->summary->peak_bytes),
			allo_report_number(report, page->summary->peak_ns, ALLO_UNIT_NS)),
		.columns = allo_terminal_columns(),
		.rows = CHART_ROWS,
		.is_ascii = page->opt->is_ascii || !allo_terminal_is_utf8(),
		.is_plain = report->options.is_plain,
		.is_estimated = report->options.is_estimated,
		.style = report->options.style,
	};
	struct allo_output *out = allo_report_drawing(report);

	if (!values) {
		allo_report_fail_memory(report);
		return;
	}
	for (size_t i = 0; i < timeline->steps.len; i++)
		values[i] = timeline->steps.at[i].max_bytes;
	if (out)
		allo_chart_draw(&chart, out);
}

static void describe_chart(struct allo_report *report, const struct page *page)
{
	if (!page->timeline)
		return;
	describe_timeline(report, page->timeline);
	if (page->summary->allocations == 0)
		return;
	allo_report_blank(report);
	draw_chart(report, page);
	if (page->marks->list.len == 0)
		return;
	allo_report_put(report, ALLO_STYLE_PLAIN, "marks ");
	allo_report_put_marks(report, page->recording, page->marks);
	allo_report_end_line(report);
}

/* Tables. */

enum { VALUE, MARGIN, SHARE, BLOCKS, NAME, FILE_NAME, LINE, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[VALUE] = { "bytes", NULL, "value" },
	[MARGIN] = { "+/-", NULL, "margin" },
	[SHARE] = { "share", NULL, NULL, ALLO_CELL_SHARE },
	[BLOCKS] = { "blocks", NULL, "blocks" },
	[NAME] = { "function", NULL, "name", ALLO_CELL_TEXT, .is_bold = true },
	[FILE_NAME] = { NULL, NULL, "file", ALLO_CELL_TEXT },
	[LINE] = { NULL, NULL, "line", ALLO_CELL_ID },
};

static const struct allo_report_table row_table = { "rows", columns, COLUMNS, .needs_rows = true };
static const struct allo_report_table thread_table = { "threads", columns, COLUMNS };

static const char *unit_noun(const struct allo_figures *figures)
{
	const struct allo_metric *metric = &figures->profile->metrics.at[figures->columns.metric];

	if (figures->unit == ALLO_UNIT_BYTES)
		return "bytes";
	return metric->meaning == ALLO_TEMPORARY_BLOCKS ? "blocks" : "count";
}

static void describe_title(struct allo_report *report, const struct allo_figures *figures,
			   const char *title, const struct allo_values *sum,
			   const struct allo_values *runtime)
{
	allo_report_blank(report);
	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "%s", title);
	allo_report_put(report, ALLO_STYLE_PLAIN, ": %s",
			sum->value == 0 ? "nothing" : allo_report_values(report, figures, sum));
	if (sum->value != 0 && strcmp(unit_noun(figures), "blocks") == 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, " block%s", sum->value == 1 ? "" : "s");
	if (runtime->value != 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", plus %s of language runtimes",
				allo_report_value(report, figures, runtime->value));
	allo_report_end_line(report);
}

static void begin_table(struct allo_report *report, const struct allo_report_table *table,
			const struct allo_figures *figures, const char *noun)
{
	allo_report_table(report, table);
	allo_report_retitle(report, VALUE, unit_noun(figures));
	allo_report_retitle(report, NAME, noun);
	if (!figures->has_margins)
		allo_report_hide(report, MARGIN);
	if (!figures->columns.has_blocks)
		allo_report_hide(report, BLOCKS);
}

static void describe_numbers(struct allo_report *report, const struct allo_figures *figures,
			     const struct allo_values *values, const struct allo_values *sum)
{
	allo_cell_value(report, VALUE, figures, values->value);
	allo_cell_margin(report, MARGIN, figures, values);
	allo_cell_blocks(report, BLOCKS, figures, values->blocks);
	allo_cell_share(report, SHARE, (double)values->value, (double)sum->value);
}

/* The sum of all memory, and the part of it that no row has. */
static void describe_sum(struct allo_report *report, const struct allo_figures *figures,
			 const struct allo_values *rows, const struct allo_values *runtime)
{
	struct allo_values sum = *rows;

	allo_values_add(&sum, runtime);
	allo_report_field_sum(report, "sum", sum.value);
	if (figures->has_margins)
		allo_report_field_sum(report, "margin", allo_values_margin(&sum));
	if (figures->columns.has_blocks)
		allo_report_field_sum(report, "blocks", sum.blocks);
	if (runtime->value != 0)
		allo_report_field_sum(report, "runtime", runtime->value);
}

static void note_rest(struct allo_report *report, size_t count, size_t shown, const char *noun)
{
	if (shown < count)
		allo_report_note(report, "%s more %s%s: -n 0 shows all",
				 allo_report_count(report, count - shown), noun,
				 allo_plural(count - shown));
}

static void describe_row(struct allo_report *report, const struct allo_figures *figures,
			 const struct allo_top *top, const struct allo_top_row *row)
{
	char scratch[ALLO_TOP_SCRATCH];
	bool has_line = top->by == ALLO_BY_SITE && row->key.function;

	allo_report_row(report);
	allo_cell_place(
		report, NAME, allo_report_row_name(report, top, figures->profile, row, scratch),
		allo_profile_text(figures->profile, row->key.file), has_line ? row->key.number : 0);
	allo_report_style_row(report, NAME, figures->profile, row);
	allo_report_field_row_short(report, top, figures->profile, row);
	describe_numbers(report, figures, &row->self, &top->sum);
}

/* Rows that hold something themselves; the others are only callers. */
static size_t own_rows(const struct allo_top *top)
{
	size_t count = 0;

	while (count < top->rows.len && top->rows.at[count].self.value != 0)
		count++;
	return count;
}

static void describe_top(struct allo_report *report, const struct page *page, const char *title,
			 const struct allo_top *top, const struct allo_values *runtime,
			 size_t metric)
{
	struct allo_figures figures = allo_figures_of(page->profile, metric,
						      page->opt->common.verbose);
	size_t own = own_rows(top), shown = shown_rows(page, own);

	describe_title(report, &figures, title, &top->sum, runtime);
	describe_sum(report, &figures, &top->sum, runtime);
	allo_report_field_u64(report, "row_count", own);
	begin_table(report, &row_table, &figures, allo_by_names[top->by]);
	for (size_t i = 0; i < shown; i++)
		allo_report_add_row_name(report, top, page->profile, &top->rows.at[i]);
	for (size_t i = 0; i < shown; i++)
		describe_row(report, &figures, top, &top->rows.at[i]);
	allo_report_end_table(report);
	note_rest(report, own, shown, allo_by_names[top->by]);
}

/* Several programs have no common peak. */
static const char *title_of(const struct page *page, const struct allo_overview_table *table)
{
	bool is_sum = page->processes->all.len > 0 && strcmp(table->name, "peak") == 0;

	return is_sum ? "held at the peak of each process, in sum" : table->title;
}

static allo_sum sum_of(const struct page *page, enum allo_meaning meaning)
{
	size_t metric;

	return allo_profile_find_metric(page->profile, meaning, &metric)
		       ? allo_metric_sum(page->profile, metric)
		       : 0;
}

/* Nobody looks for the cause of temporary blocks that are less than one in a hundred. */
static bool is_trifle(const struct page *page, const struct allo_overview_table *table)
{
	return page->profile->metrics.at[table->columns.metric].meaning == ALLO_TEMPORARY_BLOCKS &&
	       table->top.sum.value * 100 < sum_of(page, ALLO_ALLOC_BLOCKS);
}

static void describe_tables(struct allo_report *report, const struct page *page)
{
	const struct allo_overview *overview = &page->overview;

	allo_report_list(report, "tables");
	for (size_t i = 0; i < overview->count; i++) {
		const struct allo_overview_table *table = &overview->tables[i];

		if (allo_report_is_prose(report) && is_trifle(page, table))
			continue;
		allo_report_object(report, NULL);
		allo_report_field_string(report, "name", table->name);
		allo_report_field_metric(report, page->profile, table->columns.metric);
		describe_top(report, page, title_of(page, table), &table->top, &table->runtime,
			     table->columns.metric);
		allo_report_close(report);
	}
	allo_report_close(report);
}

/* Whether the file tells modules: without, all memory is in one row, "???". */
static bool has_modules(const struct allo_top *modules)
{
	const struct allo_top_key *first = modules->rows.len > 0 ? &modules->rows.at[0].key : NULL;

	return modules->rows.len > 1 || (first && (first->module || first->script));
}

/* People see modules where there is only one thread. */
static void describe_modules(struct allo_report *report, const struct page *page)
{
	const struct allo_overview *overview = &page->overview;

	if (overview->count == 0 ||
	    (allo_report_is_prose(report) &&
	     (overview->threads.rows.len > 1 || overview->modules.sum.value == 0 ||
	      !has_modules(&overview->modules))))
		return;
	allo_report_object(report, "modules");
	describe_top(report, page,
		     allo_report_string(report, "%s, by module", title_of(page, overview->tables)),
		     &overview->modules, &(struct allo_values){ 0 },
		     overview->tables[0].columns.metric);
	allo_report_close(report);
}

static void describe_thread(struct allo_report *report, const struct page *page,
			    const struct allo_label_sum *row)
{
	const struct allo_profile *profile = page->profile;
	const struct allo_label *thread = allo_labels_find(profile, row->labels, "thread");
	const struct allo_label *name = allo_labels_find(profile, row->labels, "thread name");
	struct allo_text text = { "", 0 };

	if (name)
		text = allo_profile_text(profile, name->text);
	else if (!thread->is_number)
		text = allo_profile_text(profile, thread->text);
	if (allo_report_is(report, ALLO_REPORT_JSON)) {
		if (thread->is_number)
			allo_report_field_i64(report, "tid", thread->number);
		allo_report_field_text(report, "name", text);
	} else if (thread->is_number) {
		allo_cell_string(report, NAME,
				 allo_report_string(report, "%lld%s%.*s", (long long)thread->number,
						    text.len > 0 ? " " : "",
						    ALLO_TEXT_WHOLE(text)));
	} else {
		allo_cell_text(report, NAME, allo_profile_text(profile, thread->text));
	}
}

static void describe_threads(struct allo_report *report, const struct page *page)
{
	const struct allo_overview_table *first = &page->overview.tables[0];
	const struct allo_label_sums *threads = &page->overview.threads;
	size_t count = threads->rows.len, shown = shown_rows(page, count);
	struct allo_figures figures = { .profile = page->profile };

	if (count <= 1 && allo_report_is_prose(report))
		return;
	if (page->overview.count > 0)
		figures = allo_figures_of(page->profile, first->columns.metric,
					  page->opt->common.verbose);
	allo_report_blank(report);
	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "%s, by thread", title_of(page, first));
	allo_report_end_line(report);
	begin_table(report, &thread_table, &figures, "thread");
	for (size_t i = 0; i < shown; i++) {
		const struct allo_label_sum *row = &threads->rows.at[i];
		const struct allo_metric_columns *of = &figures.columns;
		struct allo_values values = { .value = row->sums[of->metric],
					      .variance = row->variances[of->metric],
					      .blocks = of->has_blocks ? row->sums[of->blocks]
								       : 0 };

		allo_report_row(report);
		describe_thread(report, page, row);
		describe_numbers(report, &figures, &values, &first->top.sum);
	}
	allo_report_end_table(report);
	note_rest(report, count, shown, "thread");
}

/* Advice: commands to run next. */

enum { COMMAND, ABOUT, ADVICE_COLUMNS };

static const struct allo_column advice_columns[ADVICE_COLUMNS] = {
	[COMMAND] = { "command", NULL, "command", ALLO_CELL_TEXT },
	[ABOUT] = { "shows", NULL, "about", ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table advice_table = {
	"next",      advice_columns,        ADVICE_COLUMNS,
	.indent = 2, .has_no_titles = true, .needs_rows = true
};

struct advice {
	struct allo_report *report;
	const char *file; /* quoted for a shell */
	size_t count;
};

static const char *quote(struct allo_report *report, const char *word)
{
	ALLO_DEFER(allo_free_pointer) char *quoted = allo_shell_quote(word);

	if (!quoted)
		allo_report_fail_memory(report);
	return quoted ? allo_report_string(report, "%s", quoted) : "";
}

/* `file` is quoted for a shell. */
static void advise_on(struct advice *advice, const char *command, const char *file,
		      const char *about)
{
	struct allo_report *report = advice->report;

	/* Standard input cannot be read again; several files are no name. */
	if (strcmp(advice->file, "-") == 0)
		return;
	if (advice->count++ == 0) {
		allo_report_blank(report);
		allo_report_put(report, ALLO_STYLE_BOLD, "next");
		allo_report_end_line(report);
		allo_report_table(report, &advice_table);
	}
	allo_report_row(report);
	allo_cell_string(report, COMMAND, allo_report_string(report, "allo %s %s", command, file));
	allo_cell_string(report, ABOUT, about);
}

static void advise(struct advice *advice, const char *command, const char *about)
{
	advise_on(advice, command, advice->file, about);
}

/* The directory of a run has its recordings, but for NAME beside NAME.d. */
static const char *run_folder(struct allo_report *report, const char *file)
{
	struct allo_text folder, name;

	if (allo_text_cut_last(allo_text_of(file), '/', &folder, &name) &&
	    allo_text_ends(folder, ALLO_TEXT(".allo" ALLO_FAMILY_END)))
		return allo_report_string(report, "%.*s", ALLO_TEXT_WHOLE(folder));
	return allo_report_string(report, "%s" ALLO_FAMILY_END, file);
}

/* The other processes of the run, if there are any. */
static void advise_run(struct advice *advice, const char *file)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };
	const char *folder = run_folder(advice->report, file);
	struct allo_error ignored = { 0 };
	char *const names[] = { (char *)folder, NULL };
	char **files = allo_input_files(names, &arena, &ignored);

	if (files && files[0] && files[1])
		advise_on(advice, "summary", quote(advice->report, folder),
			  "all processes of the run together");
}

/* The callers of the function that holds most, and of those that are shown like it. */
static void advise_tree(struct advice *advice, const struct page *page)
{
	const struct allo_overview_table *table = &page->overview.tables[0];
	struct allo_report *report = advice->report;
	const struct allo_top_row *row;
	struct allo_text name;
	/* A longer command does not fit a terminal. */
	size_t name_most = allo_report_is_prose(report) ? 40 : 250;

	if (page->overview.count == 0 || table->top.rows.len == 0)
		return;
	row = &table->top.rows.at[0];
	name = allo_report_name(report, allo_profile_text(page->profile, row->key.function));
	if (!row->key.function || name.len > name_most || memchr(name.data, '\0', name.len)) {
		advise(advice, "tree", "the callers of all functions");
		return;
	}
	name = allo_report_text(report, name);
	advise(advice,
	       allo_report_string(
		       report, "tree -F %s",
		       quote(report, allo_report_string(report, "=%.*s", ALLO_TEXT_WHOLE(name)))),
	       "its callers");
}

static void describe_advice(struct allo_report *report, const struct page *page)
{
	struct advice advice = { report, page->is_one ? quote(report, page->file) : "-", 0 };
	const struct allo_overview_table *table = allo_overview_find(&page->overview, "end");
	allo_sum peak = sum_of(page, ALLO_PEAK_BYTES), end = table ? table->top.sum.value : 0;
	allo_sum blocks = sum_of(page, ALLO_ALLOC_BLOCKS);
	allo_sum temporary = sum_of(page, ALLO_TEMPORARY_BLOCKS);
	bool is_recording = page->recording != NULL;

	advise_tree(&advice, page);
	if (end > 0 && (end * 200 >= peak || end >= 1 << 20))
		advise(&advice, "leaks", "the memory that was never freed");
	if (temporary * 5 >= blocks && temporary > 0)
		advise(&advice, "top -M temporary_blocks", "blocks that are freed at once");
	if (is_recording && page->overview.threads.rows.len > 1)
		advise(&advice, "threads", "the memory of each thread");
	else if (is_recording)
		advise(&advice, "hist", "sizes and lifetimes of blocks");
	if (is_recording && page->is_one)
		advise_run(&advice, page->file);
	advise(&advice, "view", "everything, in the browser");
	if (advice.count > 0) {
		allo_report_end_table(report);
	} else {
		allo_report_list(report, "next");
		allo_report_close(report);
	}
}

static void describe(struct allo_report *report, const struct page *page)
{
	const struct allo_meta *meta = &page->profile->meta;

	bool has_processes = page->processes->all.len > 0;

	describe_heading(report, page);
	if (has_processes)
		allo_report_process_totals(report, page->processes);
	describe_symbols(report, page);
	allo_report_field_text(report, "file", allo_text_of(page->file));
	allo_report_field_text(report, "format", allo_text_of(meta->format));
	allo_report_field_text(report, "command", allo_profile_text(page->profile, meta->command));
	if (page->summary)
		describe_run(report, page);
	if (has_processes)
		allo_report_processes(report, page->processes,
				      shown_rows(page, page->processes->all.len));
	describe_chart(report, page);
	if (page->is_one)
		allo_report_findings_briefly(report, &page->findings, &page->evidence,
					     FINDINGS_SHOWN);
	describe_tables(report, page);
	allo_common_tell_passed(report, page->overview.attribution, page->profile);
	describe_modules(report, page);
	describe_threads(report, page);
	describe_advice(report, page);
}

/* Removes the frames of libraries, with --mine. */
static bool filter_contents(const struct summary *opt, struct contents *contents,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done)
	struct allo_filter filter = { .hide_libraries = opt->common.mine, .tells_stacks = true };

	if (!opt->common.mine)
		return true;
	if (!allo_filter_apply(&filter, &contents->profile, err))
		return false;
	allo_source_facts_move(&contents->facts, &contents->source, filter.became.at,
			       filter.became.len);
	return true;
}

static bool find(struct page *page, const struct contents *contents, struct allo_error *err)
{
	const struct allo_settings_file *config = allo_config_read(err);
	struct allo_findings_options rules;
	struct allo_evidence_input input = allo_source_evidence(
		&contents->source, &contents->profile, &contents->facts, &contents->timeline,
		&contents->summary);

	if (!config)
		return false;
	input.attribution = &page->attribution;
	rules = config->findings;
	rules.most_of_rule = ALLO_FINDINGS_OF_RULE;
	return allo_evidence_of(&page->evidence, &input, err) &&
	       allo_findings_of(&page->findings, &page->evidence, &rules, err);
}

static bool print(const struct summary *opt, struct contents *contents, char **files,
		  struct allo_error *err)
{
	char name[ALLO_FILES_NAME_SIZE];
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(page_done)
	struct page page = { .opt = opt,
			     .file = allo_common_name_files(files, name),
			     .is_one = !files[1],
			     .profile = &contents->profile,
			     .processes = &contents->processes };

	if (contents->source.is_recording) {
		page.recording = &contents->source.recording;
		page.timeline = &contents->timeline;
		page.summary = &contents->summary;
		page.marks = &contents->marks;
	}
	page.overview.attribution = &page.attribution;
	if (!allo_common_attribution(&opt->common, &page.attribution, err) ||
	    !filter_contents(opt, contents, err) || (page.is_one && !find(&page, contents, err)) ||
	    !allo_overview_of(&page.overview, &contents->profile, err) ||
	    !allo_common_report(&opt->common, &report, allo_profile_is_estimated(page.profile),
				err))
		return false;
	describe(&report, &page);
	return allo_common_finish(&opt->common, &report, &contents->profile.notes, err);
}

static bool run_summary(const void *options_given, char **given, struct allo_error *err)
{
	ALLO_DEFER(contents_done) struct contents contents = { 0 };
	const struct summary *opt = options_given;
	char **files = allo_common_check(&opt->common, err) ? allo_common_files(given, err) : NULL;

	if (!files)
		return false;
	if (files[1])
		return read_several(&contents, opt, files, err) &&
		       print(opt, &contents, given, err);
	return read_one(&contents, opt, files[0], err) && print(opt, &contents, files, err);
}

const struct allo_command allo_cmd_summary = {
	.name = "summary",
	.heading = "Look",
	.summary = "show an overview of a file",
	.arguments = "[FILE...]",
	.about =
		"Prints an overview on one page. Of a recording: the program, its totals, the heap "
		"over time with its peak, the most severe findings (see 'allo findings'), then the "
		"sites that held the most at the peak, that "
		"were never freed, that allocated the most and that made the most temporary "
		"blocks, and the threads or modules that held the most; last, commands to run "
		"next. Of other profiles, the parts that their metrics allow. Of several files, or a "
		"directory of 'allo run': each process, the largest first, and then the sums.\n\n"
		"The result of reading a long recording is kept in "
		"$XDG_CACHE_HOME/allotrope/replays, or ~/.cache/allotrope/replays, so that the "
		"next run is fast. --no-cache and ALLO_NO_CACHE=1 keep nothing.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct summary),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_summary,
};
