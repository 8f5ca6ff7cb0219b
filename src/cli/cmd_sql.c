/* cmd_sql.c - allo sql: any other question. */
#include "base/defer.h"
#include "cli/sql_prompt.h"
#include "engine/make_database.h"
#include "report/messages.h"
#include "sql/reports.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct sql {
	struct allo_common common;
	uint64_t timeout_ns;
	int report; /* -1: none */
	bool write;
};

static const struct allo_option options[] = {
	{ .name = "report",
	  .argument = "NAME",
	  .help = "ask a question that has a name: functions, growth, leaks, lifetimes, modules, "
		  "reallocs, sites, sizes, temporary, threads or timeline; '.reports' in place of "
		  "a query says what each shows",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct sql, report),
	  .choices = allo_report_names },
	{ .name = "timeout",
	  .argument = "TIME",
	  .help = "stop what takes longer: 10s, 500ms; without it nothing does but Ctrl-C",
	  .kind = ALLO_OPTION_TIME,
	  .offset = offsetof(struct sql, timeout_ns) },
	{ .name = "write",
	  .help = "let statements change a database that 'allo convert' has made",
	  .offset = offsetof(struct sql, write) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Asking", options };

static const struct allo_option_group *const groups[] = { &group,
							  &allo_table_group,
							  &allo_printing_group,
							  &allo_view_group,
							  &allo_symbols_group,
							  &allo_reading_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo sql server.allo \"select function, peak_bytes from site order by 2 desc limit 5\"",
	  "what held most when the program held most" },
	{ "allo sql server.allo --report leaks", "a question that has a name" },
	{ "allo sql server.allo --csv < query.sql > result.csv", "SQL from a file" },
	{ "allo sql server.allo", "a prompt" },
	{ NULL, NULL },
};

/* All of standard input, with a NUL behind it. */
static bool read_sql(struct allo_input *in, struct allo_output *text, struct allo_error *err)
{
	struct allo_output_options plain = { 0 };
	struct allo_text all;

	if (!allo_input_open(in, "-", NULL, err) || !allo_output_open_memory(text, &plain, err) ||
	    !allo_input_all(in, &all, err))
		return false;
	allo_output_text(text, all);
	allo_output_byte(text, '\0');
	return allo_output_finish(text, err);
}

static bool run_input(struct allo_sql_session *session, const struct allo_common *common,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_output_drop) struct allo_output text = { .fd = -1 };

	return read_sql(&in, &text, err) &&
	       allo_sql_run(session, common, allo_output_memory(&text).data, "standard input", err);
}

static bool is_prompt(const struct sql *opt, const char *query)
{
	return opt->report < 0 && !query && isatty(STDIN_FILENO);
}

static bool ask(struct allo_sql_session *session, const struct sql *opt, const char *query,
		struct allo_error *err)
{
	if (opt->report >= 0)
		return allo_sql_run(session, &opt->common, allo_report_sql((size_t)opt->report),
				    allo_report_names[opt->report], err);
	if (query)
		return allo_sql_run(session, &opt->common, query, "query", err);
	if (is_prompt(opt, query))
		return allo_sql_prompt(session, &opt->common, err);
	return run_input(session, &opt->common, err);
}

static bool check_use(const struct sql *opt, char **files, struct allo_error *err)
{
	if (opt->report >= 0 && files[1])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--report and a query exclude each other");
	if (strcmp(files[0], "-") == 0 && !files[1] && opt->report < 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "standard input cannot be both the profile and the SQL");
		return allo_hint(err, "give the query as an argument, or the profile as a file");
	}
	return allo_common_check(&opt->common, err);
}

static bool run_sql(const void *options_given, char **files, struct allo_error *err)
{
	const struct sql *opt = options_given;
	ALLO_DEFER(allo_cached_database_done)
	struct allo_cached_database cached = { .session = { .may_write = opt->write }, .fd = -1 };
	struct allo_source_options source;
	bool ok;

	cached.source = &source;
	if (!check_use(opt, files, err) || !allo_common_source(&opt->common, &source, err) ||
	    !allo_cached_database_open(&cached, files[0], err))
		return false;
	if (!opt->common.quiet)
		allo_say_notes(&cached.notes);
	cached.session.timeout_ns = opt->timeout_ns;
	ok = ask(&cached.session, opt, files[1], err);
	if (cached.session.is_interrupted && !is_prompt(opt, files[1])) {
		/* As if nobody had asked to be told: shells stop at an interrupt if they see one.
		 */
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
	}
	return ok;
}

static const struct sql defaults = { .report = -1 };

const struct allo_command allo_cmd_sql = {
	.name = "sql",
	.heading = "Look",
	.summary = "ask a recording or profile in SQL",
	.arguments = "FILE [QUERY]",
	.about = "Answers SQL about any file that can be read, or about a database that 'allo "
		 "convert' has made of one. Without a query SQL is read from standard input; on a "
		 "terminal there is a prompt. doc/sql.md describes the tables; '.schema' in place "
		 "of a query prints them, '.tables' their names.\n\n"
		 "A recording has a row for each allocation in the table allocation, and the sums "
		 "of each stack in sample, which other profiles have as well.\n\n"
		 "The database of a recording is made once and kept beside it: server.allo.db. It "
		 "is made again when the recording has changed; that of a part of a recording, and "
		 "with --no-cache any, is not kept. Nothing is ever changed by a query unless "
		 "--write allows it. LIKE tells cases apart.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct sql),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 2,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_sql,
};
