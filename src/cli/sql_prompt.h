/*
 * sql_prompt.h - queries typed by somebody.
 */
#ifndef ALLO_CLI_SQL_PROMPT_H
#define ALLO_CLI_SQL_PROMPT_H

#include "cli/common.h"
#include "sql/sql_session.h"

/* Runs a text of statements, or one of the words that begin with a dot, and prints what they give.
 * `from` stands for the text in messages. */
bool allo_sql_run(struct allo_sql_session *session, const struct allo_common *common,
		  const char *sql, const char *from, struct allo_error *err);

/* Asks for statements on the terminal until there are no more; what fails is said there. */
bool allo_sql_prompt(struct allo_sql_session *session, const struct allo_common *common,
		     struct allo_error *err);

#endif
