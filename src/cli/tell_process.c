/* tell_process.c - see tell_process.h. */
#include "cli/tell_process.h"

#include "base/defer.h"
#include "base/json_write.h"
#include "report/show.h"
#include "watch/recorded_process.h"

#include <stdlib.h>

#define AT(field) offsetof(struct allo_common, field)

static const struct allo_option options[] = {
	{ .name = "json", .help = "print JSON, as doc/json.md describes it", .offset = AT(json) },
	{ .letter = 'q', .name = "quiet", .help = "print nothing but errors", .offset = AT(quiet) },
	{ .name = NULL },
};
const struct allo_option_group allo_telling_group = { "Printing", options };

struct told {
	const struct allo_telling *telling;
	struct allo_recorded_processes list;
	struct allo_output out;
	struct allo_json_out json;
	struct allo_control_reply *answer;
	size_t count;
};

static void told_done(struct told *told)
{
	allo_recorded_processes_done(&told->list);
	allo_output_drop(&told->out);
	free(told->answer);
}

static void say_done(struct told *told, const struct allo_recorded_process *process)
{
	const struct allo_telling *telling = told->telling;
	const char *file = allo_control_reply_text(told->answer, "file");
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	told->count++;
	if (telling->common->quiet)
		return;
	if (telling->common->json) {
		allo_json_out_begin(&told->json, '{');
		allo_json_out_member_u64(&told->json, "pid", (uint64_t)process->pid);
		allo_json_out_member_text(&told->json, "program", allo_text_of(process->program));
		allo_json_out_member_text(&told->json, "file", allo_text_of(file ? file : ""));
		allo_json_out_end(&told->json);
		return;
	}
	allo_output_printf(&told->out, "%s ", telling->done);
	allo_show_cut(&told->out, allo_text_of(allo_recorded_process_name(process, name)), 0,
		      false);
	if (file) {
		allo_output_printf(&told->out, "%s ", telling->before_file);
		allo_show_cut(&told->out, allo_text_of(file), 0, false);
	}
	allo_output_string(&told->out, "\n");
}

static bool tell_one(struct told *told, const struct allo_recorded_process *process,
		     struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	if (!allo_control_request(process->socket, allo_recorded_process_name(process, name),
				  told->telling->request, told->answer, err))
		return false;
	say_done(told, process);
	return true;
}

/* One that cannot be told does not keep the others from it. */
static bool tell_all(struct told *told, struct allo_error *err)
{
	const char *state = told->telling->state;

	if (!allo_recorded_processes_list(&told->list, err))
		return false;
	for (size_t i = 0; i < told->list.all.len; i++) {
		const struct allo_recorded_process *process = &told->list.all.at[i];

		if (strcmp(process->state, state) == 0)
			tell_one(told, process, err);
	}
	if (told->count > 0 || allo_failed(err))
		return !allo_failed(err);
	return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "no process is %s", state);
}

bool allo_tell_process(const struct allo_telling *telling, struct allo_error *err)
{
	ALLO_DEFER(told_done)
	struct told told = { .telling = telling,
			     .out = { .fd = -1 },
			     .answer = malloc(sizeof(*told.answer)) };
	struct allo_error failure = { 0 };
	struct allo_recorded_process process;

	if (!told.answer)
		return allo_fail_memory(err);
	if (!allo_common_open_result(&told.out, err))
		return false;
	told.json = (struct allo_json_out){ .out = &told.out, .pretty_depth = 2 };
	if (telling->common->json && !telling->common->quiet) {
		allo_show_json_begin(&told.json);
		allo_json_out_key(&told.json, "processes");
		allo_json_out_begin(&told.json, '[');
	}
	if (strcmp(telling->name, "all") == 0)
		tell_all(&told, &failure);
	else if (allo_recorded_process_find(&told.list, telling->name, &process, &failure))
		tell_one(&told, &process, &failure);
	if (told.count == 0) {
		*err = failure;
		return false;
	}
	if (telling->common->json && !telling->common->quiet) {
		allo_json_out_end(&told.json);
		allo_json_out_end(&told.json);
	}
	if (!allo_output_finish(&told.out, err))
		return false;
	if (allo_failed(&failure))
		*err = failure;
	return !allo_failed(err);
}
