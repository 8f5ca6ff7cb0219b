/* sql_prompt.c - see sql_prompt.h. */
#include "cli/sql_prompt.h"

#include "base/defer.h"
#include "cli/show_rows.h"
#include "report/messages.h"
#include "sql/reports.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool print_reports(struct allo_output *out)
{
	for (size_t i = 0; allo_report_names[i]; i++)
		allo_output_printf(out, "%-12s%.*s\n", allo_report_names[i],
				   (int)allo_report_title(i).len, allo_report_title(i).data);
	return true;
}

/* A word with a dot in front, and what stands for it. */
static const struct word {
	const char *name, *sql, *about;
} words[] = {
	{ ".tables",
	  "select name, type from sqlite_schema where type in ('table', 'view') order by type, name",
	  "the names of all tables and views" },
	{ ".schema",
	  "select sql || ';' as schema from sqlite_schema where sql is not null order by type, name",
	  "how they are made, with all columns" },
	{ ".reports", NULL, "queries that have a name, for --report" },
	{ NULL, NULL, NULL },
};

static const struct word *word_of(struct allo_text text)
{
	text = allo_text_trim(text);
	if (allo_text_ends(text, ALLO_TEXT(";")))
		text.len--;
	for (const struct word *word = words; word->name; word++) {
		if (allo_text_equal(text, allo_text_of(word->name)))
			return word;
	}
	return NULL;
}

bool allo_sql_run(struct allo_sql_session *session, const struct allo_common *common,
		  const char *sql, const char *from, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_row_printer_done)
	struct allo_row_printer printer = { .out = &out,
					    .common = common,
					    .style = allo_common_style(common) };
	struct allo_sql_sink sink = allo_row_printer_sink(&printer);
	const struct word *word = word_of(allo_text_of(sql));
	bool ok;

	if (!allo_common_begin(common, &out, err))
		return false;
	ok = word && !word->sql ? print_reports(&out)
				: allo_sql_query(session, word ? word->sql : sql, from, &sink, err);
	/* What was printed before a later statement failed stays. */
	return allo_common_end(common, &out, NULL, ok ? err : &(struct allo_error){ 0 }) && ok;
}

static void print_help(void)
{
	fprintf(stderr, "SQL ends with a semicolon. Other words:\n");
	for (const struct word *word = words; word->name; word++)
		fprintf(stderr, "  %-10s%s\n", word->name, word->about);
	fprintf(stderr, "  %-10s%s\n", ".quit", "leaves, as Ctrl-D does; Ctrl-C stops a query");
}

/* A statement that is not complete is kept for the next line. */
struct typing {
	ALLO_VEC(char) text;
	char *line;
	size_t room;
};

static void typing_done(struct typing *typing)
{
	allo_vec_done(&typing->text);
	free(typing->line);
}

static void wake(int signal)
{
	(void)signal;
}

/* The next line; false when there is none.  Ctrl-C takes back what was typed, or leaves. */
static bool read_line(struct typing *typing, ssize_t *len)
{
	struct sigaction stop = { .sa_handler = wake }, before;

	sigaction(SIGINT, &stop, &before);
	for (;;) {
		fprintf(stderr, typing->text.len ? "  ...> " : "allo> ");
		errno = 0;
		*len = getline(&typing->line, &typing->room, stdin);
		if (*len >= 0 || errno != EINTR || typing->text.len == 0)
			break;
		clearerr(stdin);
		typing->text.len = 0;
		fputc('\n', stderr);
	}
	sigaction(SIGINT, &before, NULL);
	if (*len < 0)
		fputc('\n', stderr);
	return *len >= 0;
}

static bool run_typed(struct allo_sql_session *session, const struct allo_common *common,
		      struct typing *typing, struct allo_error *err)
{
	struct allo_error failure = { 0 };

	allo_sql_run(session, common, typing->text.at, "query", &failure);
	if (session->is_interrupted)
		fprintf(stderr, "stopped\n");
	if (failure.code == ALLO_NOMEM || failure.code == ALLO_IO) {
		*err = failure;
		return false;
	}
	if (allo_failed(&failure))
		allo_say_error(&failure);
	typing->text.len = 0;
	return true;
}

bool allo_sql_prompt(struct allo_sql_session *session, const struct allo_common *common,
		     struct allo_error *err)
{
	ALLO_DEFER(typing_done) struct typing typing = { 0 };
	ssize_t len;

	if (!common->quiet)
		allo_say("asking %s; .help says what there is, .quit leaves", session->name);
	while (read_line(&typing, &len)) {
		struct allo_text word = allo_text_trim(
			(struct allo_text){ typing.line, (size_t)len });

		if (typing.text.len == 0 && word.len == 0)
			continue;
		if (typing.text.len == 0 && allo_text_equal(word, ALLO_TEXT(".quit")))
			return true;
		if (typing.text.len == 0 && allo_text_equal(word, ALLO_TEXT(".help"))) {
			print_help();
			continue;
		}
		if (!allo_vec_append(&typing.text, typing.line, (size_t)len + 1))
			return allo_fail_memory(err);
		if (word_of(word) || word.data[0] == '.' || sqlite3_complete(typing.text.at)) {
			if (!run_typed(session, common, &typing, err))
				return false;
		} else {
			typing.text.len--; /* the NUL */
		}
	}
	return true;
}
