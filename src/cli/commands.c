/* commands.c - the table of commands; see command.h. */
#include "cli/command.h"
#include "cli/foreign_words.h"
#include "run/target.h"

#include <string.h>

extern const struct allo_command allo_cmd_run, allo_cmd_attach, allo_cmd_detach, allo_cmd_ps,
	allo_cmd_start, allo_cmd_stop, allo_cmd_mark, allo_cmd_stats, allo_cmd_snapshot,
	allo_cmd_live, allo_cmd_serve, allo_cmd_mem, allo_cmd_info, allo_cmd_summary, allo_cmd_top,
	allo_cmd_tree, allo_cmd_flame, allo_cmd_peek, allo_cmd_list, allo_cmd_leaks,
	allo_cmd_findings, allo_cmd_timeline, allo_cmd_threads, allo_cmd_blocks, allo_cmd_hist,
	allo_cmd_events, allo_cmd_sql, allo_cmd_diff, allo_cmd_budget, allo_cmd_convert,
	allo_cmd_merge, allo_cmd_symbolize, allo_cmd_verify, allo_cmd_formats, allo_cmd_completion,
	allo_cmd_help, allo_cmd_version, allo_cmd_view, allo_cmd_report;

/* clang-format off */
const struct allo_command *const allo_commands[] = {
	&allo_cmd_run,
	&allo_cmd_ps,
	&allo_cmd_start,
	&allo_cmd_stop,
	&allo_cmd_attach,
	&allo_cmd_detach,
	&allo_cmd_mark,
	&allo_cmd_stats,
	&allo_cmd_snapshot,
	&allo_cmd_live,
	&allo_cmd_serve,
	&allo_cmd_mem,
	&allo_cmd_info,
	&allo_cmd_summary,
	&allo_cmd_findings,
	&allo_cmd_top,
	&allo_cmd_tree,
	&allo_cmd_flame,
	&allo_cmd_peek,
	&allo_cmd_list,
	&allo_cmd_leaks,
	&allo_cmd_timeline,
	&allo_cmd_view,
	&allo_cmd_report,
	&allo_cmd_threads,
	&allo_cmd_blocks,
	&allo_cmd_hist,
	&allo_cmd_events,
	&allo_cmd_sql,
	&allo_cmd_diff,
	&allo_cmd_budget,
	&allo_cmd_convert,
	&allo_cmd_merge,
	&allo_cmd_symbolize,
	&allo_cmd_verify,
	&allo_cmd_formats,
	&allo_cmd_completion,
	&allo_cmd_help,
	&allo_cmd_version,
	NULL,
};
/* clang-format on */

const struct allo_command *allo_command_find(const char *name)
{
	for (size_t i = 0; allo_commands[i]; i++) {
		const char *alias = allo_commands[i]->alias;

		if (strcmp(allo_commands[i]->name, name) == 0 ||
		    (alias && strcmp(alias, name) == 0))
			return allo_commands[i];
	}
	return NULL;
}

static bool is_program(const char *name)
{
	struct allo_error ignored = { 0 };
	struct allo_target target;

	return allo_target_find(&target, name, &ignored);
}

bool allo_command_fail(const char *name, struct allo_error *err)
{
	enum { MOST = 64 };
	const char *names[MOST + 1] = { NULL }, *nearest, *hint = allo_foreign_command(name);

	for (size_t i = 0; allo_commands[i] && i < MOST; i++)
		names[i] = allo_commands[i]->name;
	if (name[0] == '-') {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "unknown option '%s'", name);
		return allo_hint(err, "options come after the command; 'allo help' lists the "
				      "commands");
	}
	nearest = allo_nearest(name, names);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no command '%s'", name);
	if (hint)
		return allo_hint(err, "%s", hint);
	if (nearest)
		return allo_hint(err, "did you mean 'allo %s'?", nearest);
	if (is_program(name))
		return allo_hint(err, "'allo run %.80s' records the program", name);
	return allo_hint(err, "'allo help' lists the commands");
}
