/* answer_names.c - the asks "names" and "stack": the calls that other replies have numbers for. */
#include "base/defer.h"
#include "view/answers/answers.h"

#include "profile/naming.h"

enum { NAMES_AT_ONCE = 65536 };

struct name_columns {
	ALLO_VEC(uint32_t) call, line, module;
	ALLO_VEC(uint8_t) kind;
	struct allo_text_column name, full, file;
};

static void name_columns_done(struct name_columns *columns)
{
	allo_vec_done(&columns->call);
	allo_vec_done(&columns->line);
	allo_vec_done(&columns->module);
	allo_vec_done(&columns->kind);
	allo_text_column_done(&columns->name);
	allo_text_column_done(&columns->full);
	allo_text_column_done(&columns->file);
}

static void add_name(struct name_columns *columns, struct allo_dataset *dataset, uint32_t number,
		     struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile;
	const struct allo_numbered_call *call = &dataset->calls.at.at[number];
	const struct allo_frame *frame = &profile->frames.at[call->frame];
	struct allo_line line = allo_call_line(profile, frame, call->call);
	struct allo_text full = allo_profile_text(profile, call->function), name;
	char scratch[ALLO_NAME_SCRATCH];

	name = allo_call_numbers_name(&dataset->calls, profile, number, scratch);
	allo_vec_add(&columns->call, number, err);
	allo_text_column_add(&columns->name, name, err);
	allo_text_column_add(&columns->full, allo_text_equal(name, full) ? ALLO_TEXT("") : full,
			     err);
	allo_text_column_add(&columns->file, allo_line_file(profile, line), err);
	allo_vec_add(&columns->line,
		     line.function ? profile->functions.at[line.function].start_line : 0, err);
	allo_vec_add(&columns->module, frame->module, err);
	allo_vec_add(&columns->kind,
		     (uint8_t)allo_call_numbers_kind(&dataset->calls, profile,
						     &dataset->attributions[ALLO_WRAPPERS_AUTO],
						     &dataset->ownership, number),
		     err);
}

bool allo_answer_names(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(name_columns_done) struct name_columns columns = { 0 };
	uint64_t since = request->since == ALLO_NOT_GIVEN ? 1 : request->since;
	uint64_t most = request->most == ALLO_NOT_GIVEN ? NAMES_AT_ONCE : request->most;
	size_t count = dataset->call_count;

	for (size_t i = 0; i < request->ids.len; i++) {
		if (request->ids.at[i] == 0 || request->ids.at[i] >= count)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no call %u",
					 request->ids.at[i]);
		add_name(&columns, dataset, request->ids.at[i], err);
	}
	for (uint64_t i = since > 0 ? since : 1;
	     request->ids.len == 0 && i < count && columns.call.len < most && !allo_failed(err);
	     i++)
		add_name(&columns, dataset, (uint32_t)i, err);
	allo_json_out_member_u64(&reply->head, "count", count - 1);
	allo_reply_u32(reply, "call", columns.call.at, columns.call.len);
	allo_reply_texts(reply, "name", &columns.name);
	allo_reply_texts(reply, "full", &columns.full);
	allo_reply_texts(reply, "file", &columns.file);
	allo_reply_u32(reply, "line", columns.line.at, columns.line.len);
	allo_reply_u32(reply, "module", columns.module.at, columns.module.len);
	allo_reply_u8(reply, "kind", columns.kind.at, columns.kind.len);
	return !allo_failed(err);
}

bool allo_answer_stack(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	const struct allo_profile *profile = &dataset->profile;
	ALLO_VEC(uint32_t) calls = { 0 };
	ALLO_VEC(uint32_t) lines = { 0 };

	if (!allo_dataset_show(dataset, request, err))
		return false;
	/* Stack 0 has no calls. */
	if (request->stack > 0 && request->stack >= profile->stacks.len)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no stack %llu",
				 (unsigned long long)request->stack);
	for (allo_stack_id stack = (allo_stack_id)request->stack; stack;
	     stack = profile->stacks.at[stack].parent) {
		allo_frame_id id = profile->stacks.at[stack].frame;
		const struct allo_frame *frame = &profile->frames.at[id];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			allo_vec_add(&calls, allo_call_number(&dataset->calls, id, call), err);
			allo_vec_add(&lines, allo_call_line(profile, frame, call).line, err);
		}
	}
	allo_reply_u32(reply, "call", calls.at, calls.len);
	allo_reply_u32(reply, "line", lines.at, lines.len);
	allo_vec_done(&calls);
	allo_vec_done(&lines);
	return !allo_failed(err);
}
