/* show_attach.c - see show_attach.h. */
#include "cli/show/show_attach.h"

#include "base/defer.h"
#include "watch/program_name.h"

#include <limits.h>

bool allo_attach_find_process(const char *name, pid_t *pid, struct allo_error *err)
{
	uint64_t number;

	if (name[0] == '%')
		return allo_program_name_find(name + 1, pid, err);
	if (allo_text_u64(allo_text_of(name), &number) && number > 0 && number <= INT_MAX) {
		*pid = (pid_t)number;
		return true;
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'%s' is not a process", name);
	return allo_hint(err, "give a pid, or %%NAME");
}

/* A command, with the process and the file in place of their words. */
static void print_command(struct allo_report *report, const struct allo_printed_attach *printed,
			  const char *command)
{
	struct allo_text rest = allo_text_of(command), word;

	allo_report_put(report, ALLO_STYLE_DIM, " ");
	while (allo_text_next(&rest, ' ', &word)) {
		if (allo_text_equal(word, ALLO_TEXT("PID")))
			allo_report_put(report, ALLO_STYLE_PLAIN, " %d", (int)printed->pid);
		else if (allo_text_equal(word, ALLO_TEXT("FILE")))
			allo_report_put(report, ALLO_STYLE_PLAIN, " %s", printed->file);
		else
			allo_report_put(report, ALLO_STYLE_PLAIN, " %.*s", ALLO_TEXT_ARG(word));
	}
	allo_report_end_line(report);
}

static void describe(struct allo_report *report, const struct allo_printed_attach *printed,
		     const char *program)
{
	const struct allo_attach_result *result = &printed->result;

	allo_report_line(report, "%s %s (%d): stopped for %s, %s", printed->done, program,
			 (int)printed->pid,
			 allo_report_number(report, result->stopped_ns, ALLO_UNIT_NS),
			 allo_report_counted(report, result->threads, "thread"));
	if (printed->file)
		allo_report_line(report, "recording: %s", printed->file);
	for (size_t i = 0; printed->next[i]; i++)
		print_command(report, printed, printed->next[i]);
	allo_report_field_u64(report, "pid", (uint64_t)printed->pid);
	allo_report_field_string(report, "program", program);
	allo_report_field_text(report, "file", allo_text_of(printed->file ? printed->file : ""));
	allo_report_field_u64(report, "stopped_ns", result->stopped_ns);
	allo_report_field_u64(report, "threads", result->threads);
}

bool allo_attach_print(const struct allo_common *common, const struct allo_printed_attach *printed,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_report_options options = allo_common_report_options(common, false);
	char program[ALLO_PROGRAM_NAME_SIZE];

	if (common->quiet)
		return true;
	options.has_pager = false;
	if (!allo_report_open(&report, &options, err))
		return false;
	allo_program_name_read(printed->pid, program);
	describe(&report, printed, program[0] ? program : "process");
	return allo_report_finish(&report, err);
}
