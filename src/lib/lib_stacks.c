/* lib_stacks.c - stacks of frames, of addresses and of calls; see allotrope.h. */
#include "lib/lib_common.h"

/* Adds the stack of these frames; hands a failure to the caller. */
static allo_stack_id finish(struct allotrope_profile *profile, struct allo_error *failure,
			    struct allotrope_error *err)
{
	allo_stack_id id = 0;

	if (!allo_failed(failure))
		id = allo_stack_build(&profile->builder, &profile->data, profile->frames.at,
				      profile->frames.len, failure);
	if (allo_failed(failure))
		allo_lib_fail(err, failure);
	return id;
}

static bool begin(struct allotrope_profile *profile, const void *list, size_t count,
		  struct allotrope_error *err)
{
	if (!allo_lib_begin(profile, err))
		return false;
	if (!list && count > 0)
		return allo_lib_misuse(err, "no frames are given");
	profile->frames.len = 0;
	return true;
}

allotrope_stack_id allotrope_add_stack_of_frames(struct allotrope_profile *profile,
						 const allotrope_frame_id *leaf_first, size_t count,
						 struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!begin(profile, leaf_first, count, err))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!allo_lib_has(profile->data.frames, leaf_first[i])) {
			allo_lib_misuse(err, "there is no frame %lu", (unsigned long)leaf_first[i]);
			return 0;
		}
	}
	if (!allo_vec_append(&profile->frames, leaf_first, count))
		allo_fail_memory(&failure);
	return finish(profile, &failure, err);
}

/* Adds a frame to the stack at hand. */
static void push_frame(struct allotrope_profile *profile, struct allo_frame frame,
		       struct allo_error *err)
{
	allo_frame_id id = 0;

	if (frame.module != 0 || allo_lib_find_module(profile, frame.address, &frame.module, err))
		id = allo_lib_add_frame(profile, &frame, profile->lines.at, profile->lines.len,
					err);
	if (id != 0 && !allo_vec_append(&profile->frames, &id, 1))
		allo_fail_memory(err);
}

allotrope_stack_id allotrope_add_stack_of_addresses(struct allotrope_profile *profile,
						    const uint64_t *leaf_first, size_t count,
						    struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!begin(profile, leaf_first, count, err))
		return 0;
	profile->lines.len = 0;
	for (size_t i = 0; i < count && !allo_failed(&failure); i++) {
		if (leaf_first[i] != 0)
			push_frame(profile, (struct allo_frame){ .address = leaf_first[i] },
				   &failure);
	}
	return finish(profile, &failure, err);
}

static bool has_name(const struct allotrope_call *call)
{
	return (call->function && call->function[0]) || (call->file && call->file[0]);
}

static bool check_calls(const struct allotrope_profile *profile, const struct allotrope_call *calls,
			size_t count, struct allotrope_error *err)
{
	for (size_t i = 0; i < count; i++) {
		bool is_inlined_into = i > 0 && calls[i - 1].is_inlined;

		if (calls[i].is_inlined && i + 1 == count)
			return allo_lib_misuse(err, "the outermost call is inlined into nothing");
		if ((calls[i].is_inlined || is_inlined_into) && !has_name(&calls[i]))
			return allo_lib_misuse(err, "call %zu has to do with inlining and no name",
					       i);
		if (calls[i].module != 0 && !allo_lib_has(profile->data.modules, calls[i].module))
			return allo_lib_misuse(err, "there is no module %lu",
					       (unsigned long)calls[i].module);
		if (!allo_lib_is_clear(&calls[i], err))
			return false;
	}
	return true;
}

/* Adds a line to the frame at hand. */
static void push_line(struct allotrope_profile *profile, const struct allotrope_call *call,
		      struct allo_error *err)
{
	struct allo_profile *data = &profile->data;
	struct allo_function function = {
		.name = allo_profile_add_string(data, allo_lib_text(call->function), err),
		.system_name = allo_profile_add_string(data, allo_lib_text(call->system_name), err),
		.file = allo_profile_add_string(data, allo_lib_text(call->file), err),
		.start_line = call->start_line,
	};
	struct allo_line line = { .line = call->line, .column = call->column };

	if (allo_failed(err))
		return;
	line.function = allo_profile_add_function(data, &function, err);
	if (line.function != 0 && !allo_vec_append(&profile->lines, &line, 1))
		allo_fail_memory(err);
}

allotrope_stack_id allotrope_add_stack_of_calls(struct allotrope_profile *profile,
						const struct allotrope_call *leaf_first,
						size_t count, struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!begin(profile, leaf_first, count, err) ||
	    !check_calls(profile, leaf_first, count, err))
		return 0;
	profile->lines.len = 0;
	for (size_t i = 0; i < count && !allo_failed(&failure); i++) {
		const struct allotrope_call *call = &leaf_first[i];

		if (has_name(call))
			push_line(profile, call, &failure);
		if (call->is_inlined || allo_failed(&failure))
			continue;
		push_frame(profile,
			   (struct allo_frame){ .address = call->address,
						.module = call->module,
						.is_folded = call->is_folded },
			   &failure);
		profile->lines.len = 0;
	}
	return finish(profile, &failure, err);
}

/* Which of a frame's lines is meant; a frame without lines is a call all the same. */
static struct allotrope_call call_of(const struct allo_profile *profile,
				     const struct allo_frame *frame, uint32_t index)
{
	struct allotrope_call call = { .function = "",
				       .system_name = "",
				       .file = "",
				       .is_folded = frame->is_folded,
				       .address = frame->address,
				       .module = frame->module };

	if (frame->line_count > 0) {
		const struct allo_line *line = &profile->lines.at[frame->first_line + index];
		const struct allo_function *function = &profile->functions.at[line->function];

		call.function = allo_lib_string(profile, function->name);
		call.system_name = allo_lib_string(profile, function->system_name);
		call.file = allo_lib_string(profile, function->file);
		call.start_line = function->start_line;
		call.line = line->line;
		call.column = line->column;
		call.is_inlined = index + 1 < frame->line_count;
	}
	return call;
}

size_t allotrope_get_calls(const struct allotrope_profile *profile, allotrope_stack_id id,
			   struct allotrope_call *calls, size_t most)
{
	size_t count = 0;

	for (; profile && allo_lib_has(profile->data.stacks, id);
	     id = profile->data.stacks.at[id].parent) {
		const struct allo_frame *frame =
			&profile->data.frames.at[profile->data.stacks.at[id].frame];
		uint32_t lines = frame->line_count ? frame->line_count : 1;

		for (uint32_t i = 0; i < lines; i++, count++) {
			if (calls && count < most)
				calls[count] = call_of(&profile->data, frame, i);
		}
	}
	return count;
}
