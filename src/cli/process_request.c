/* process_request.c - the common part of 'allo start', 'allo stop' and 'allo mark'. */
#include "cli/process_request.h"

#include "base/defer.h"

#include <stdlib.h>

#define AT(field) offsetof(struct allo_common, field)
static const struct allo_option options[] = {
	OPT_JSON(json),
	OPT_FLAG('q', "quiet", quiet, "print only errors"),
	OPT_END,
};
#undef AT
const struct allo_option_group allo_process_request_group = { "Printing", options };

struct sender {
	const struct allo_process_request *request;
	struct allo_recorded_processes list;
	struct allo_report report;
	struct allo_control_reply *reply;
	size_t count; /* of processes that have done it */
};

static void sender_done(struct sender *sender)
{
	allo_recorded_processes_done(&sender->list);
	allo_report_done(&sender->report);
	free(sender->reply);
}

static void describe_process(struct sender *sender, const struct allo_recorded_process *process,
			     const char *file)
{
	struct allo_report *report = &sender->report;
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_report_put(report, ALLO_STYLE_PLAIN, "%s %s", sender->request->done,
			allo_recorded_process_name(process, name));
	if (file)
		allo_report_put(report, ALLO_STYLE_PLAIN, "%s %s", sender->request->before_file,
				file);
	allo_report_end_line(report);
	allo_report_object(report, NULL);
	allo_report_field_u64(report, "pid", (uint64_t)process->pid);
	allo_report_field_text(report, "program", allo_text_of(process->program));
	allo_report_field_text(report, "file", allo_text_of(file ? file : ""));
	allo_report_close(report);
}

static bool send_to(struct sender *sender, const struct allo_recorded_process *process,
		    struct allo_error *err)
{
	const struct allo_process_request *request = sender->request;
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];
	const char *file = process->file;

	if (!process->socket[0] && request->do_outside) {
		if (!request->do_outside(process, request->argument, err))
			return false;
	} else {
		if (!allo_recorded_process_has_socket(process, err) ||
		    !allo_control_request(process->socket,
					  allo_recorded_process_name(process, name),
					  request->message, sender->reply, err))
			return false;
		file = allo_control_reply_text(sender->reply, "file");
	}
	sender->count++;
	describe_process(sender, process, file);
	return true;
}

/* To all in the list that are in the right state.  Goes on after a failure; the first one is
 * returned. */
static bool send_to_state(struct sender *sender, struct allo_error *err)
{
	const char *state = sender->request->state;

	for (size_t i = 0; i < sender->list.all.len; i++) {
		const struct allo_recorded_process *process = &sender->list.all.at[i];

		if (strcmp(process->state, state) == 0)
			send_to(sender, process, err);
	}
	if (sender->count > 0 || allo_failed(err))
		return !allo_failed(err);
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "no process is %s", state);
}

static bool send_and_describe(struct sender *sender, struct allo_error *err)
{
	if (strcmp(sender->request->name, "all") == 0)
		return allo_recorded_processes_list(&sender->list, err) &&
		       send_to_state(sender, err);
	if (!allo_recorded_processes_find(&sender->list, sender->request->name, err))
		return false;
	if (sender->list.all.len > 1)
		return send_to_state(sender, err);
	return send_to(sender, sender->list.all.at, err);
}

bool allo_process_request_send(const struct allo_process_request *request, struct allo_error *err)
{
	ALLO_DEFER(sender_done)
	struct sender sender = { .request = request, .reply = malloc(sizeof(*sender.reply)) };
	struct allo_report_options report_options = allo_common_report_options(request->common,
									       false);
	struct allo_error failure = { 0 };

	if (!sender.reply)
		return allo_fail_memory(err);
	report_options.has_pager = false;
	if (!allo_report_open(&sender.report, &report_options, err))
		return false;
	allo_report_list(&sender.report, "processes");
	send_and_describe(&sender, &failure);
	allo_report_close(&sender.report);
	/* The result is printed if at least one process has done it, failures or not. */
	if (sender.count > 0 && !request->common->quiet && !allo_report_finish(&sender.report, err))
		return false;
	if (allo_failed(&failure))
		*err = failure;
	return !allo_failed(err);
}
