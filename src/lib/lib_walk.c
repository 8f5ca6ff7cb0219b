/* lib_walk.c - reads the tables and samples of a profile; see allotrope.h. */
#include "lib/lib_common.h"

size_t allotrope_module_count(const struct allotrope_profile *profile)
{
	return profile ? allo_lib_count(profile->data.modules) : 0;
}

bool allotrope_get_module(const struct allotrope_profile *profile, allotrope_module_id id,
			  struct allotrope_module *module)
{
	const struct allo_module *from;

	if (!profile || !module || !allo_lib_has(profile->data.modules, id))
		return false;
	from = &profile->data.modules.at[id];
	*module = (struct allotrope_module){
		.path = allo_lib_string(&profile->data, from->path),
		.build_id = allo_lib_string(&profile->data, from->build_id),
		.start = from->start,
		.limit = from->limit,
		.offset = from->offset,
	};
	return true;
}

size_t allotrope_function_count(const struct allotrope_profile *profile)
{
	return profile ? allo_lib_count(profile->data.functions) : 0;
}

bool allotrope_get_function(const struct allotrope_profile *profile, allotrope_function_id id,
			    struct allotrope_function *function)
{
	const struct allo_function *from;

	if (!profile || !function || !allo_lib_has(profile->data.functions, id))
		return false;
	from = &profile->data.functions.at[id];
	*function = (struct allotrope_function){
		.name = allo_lib_string(&profile->data, from->name),
		.system_name = allo_lib_string(&profile->data, from->system_name),
		.file = allo_lib_string(&profile->data, from->file),
		.start_line = from->start_line,
	};
	return true;
}

size_t allotrope_frame_count(const struct allotrope_profile *profile)
{
	return profile ? allo_lib_count(profile->data.frames) : 0;
}

bool allotrope_get_frame(const struct allotrope_profile *profile, allotrope_frame_id id,
			 struct allotrope_frame *frame)
{
	const struct allo_frame *from;

	if (!profile || !frame || !allo_lib_has(profile->data.frames, id))
		return false;
	from = &profile->data.frames.at[id];
	*frame = (struct allotrope_frame){
		.address = from->address,
		.module = from->module,
		.line_count = from->line_count,
		.is_folded = from->is_folded,
	};
	return true;
}

bool allotrope_get_line(const struct allotrope_profile *profile, allotrope_frame_id id,
			size_t index, struct allotrope_line *line)
{
	const struct allo_frame *frame;
	const struct allo_line *from;

	if (!profile || !line || !allo_lib_has(profile->data.frames, id))
		return false;
	frame = &profile->data.frames.at[id];
	if (index >= frame->line_count)
		return false;
	ALLO_ASSERT(frame->first_line + frame->line_count <= profile->data.lines.len);
	from = &profile->data.lines.at[frame->first_line + index];
	*line = (struct allotrope_line){ .function = from->function,
					 .line = from->line,
					 .column = from->column };
	return true;
}

size_t allotrope_stack_count(const struct allotrope_profile *profile)
{
	return profile ? allo_lib_count(profile->data.stacks) : 0;
}

allotrope_frame_id allotrope_stack_frame(const struct allotrope_profile *profile,
					 allotrope_stack_id id)
{
	if (!profile || !allo_lib_has(profile->data.stacks, id))
		return 0;
	return profile->data.stacks.at[id].frame;
}

allotrope_stack_id allotrope_stack_parent(const struct allotrope_profile *profile,
					  allotrope_stack_id id)
{
	if (!profile || !allo_lib_has(profile->data.stacks, id))
		return 0;
	ALLO_ASSERT(profile->data.stacks.at[id].parent < id);
	return profile->data.stacks.at[id].parent;
}

size_t allotrope_label_count(const struct allotrope_profile *profile, allotrope_labels_id id)
{
	if (!profile || !allo_lib_has(profile->data.label_sets, id))
		return 0;
	return profile->data.label_sets.at[id].count;
}

bool allotrope_get_label(const struct allotrope_profile *profile, allotrope_labels_id id,
			 size_t index, struct allotrope_label *label)
{
	const struct allo_label *from;

	if (!label || index >= allotrope_label_count(profile, id))
		return false;
	from = &profile->data.labels.at[profile->data.label_sets.at[id].first + index];
	*label = (struct allotrope_label){
		.key = allo_lib_string(&profile->data, from->key),
		.text = from->is_number ? NULL : allo_lib_string(&profile->data, from->text),
		.unit = allo_lib_string(&profile->data, from->unit),
		.number = from->number,
	};
	return true;
}

size_t allotrope_thread_count(const struct allotrope_profile *profile)
{
	return profile ? allo_lib_count(profile->data.threads) : 0;
}

bool allotrope_get_thread(const struct allotrope_profile *profile, allotrope_thread_id id,
			  struct allotrope_thread *thread)
{
	const struct allo_thread *from;

	if (!profile || !thread || !allo_lib_has(profile->data.threads, id))
		return false;
	from = &profile->data.threads.at[id];
	*thread = (struct allotrope_thread){ .name = allo_lib_string(&profile->data, from->name),
					     .pid = from->pid,
					     .tid = from->tid };
	return true;
}

size_t allotrope_sample_count(const struct allotrope_profile *profile)
{
	return profile ? allo_profile_sample_count(&profile->data) : 0;
}

bool allotrope_get_sample(const struct allotrope_profile *profile, size_t index,
			  struct allotrope_sample *sample)
{
	if (!sample || index >= allotrope_sample_count(profile))
		return false;
	*sample = (struct allotrope_sample){
		.values = allo_profile_row(&profile->data, index),
		.signed_values = (const int64_t *)allo_profile_row(&profile->data, index),
		.value_count = profile->data.metrics.len,
		.stack = profile->data.sample_stacks.at[index],
		.labels = allo_profile_labels_of(&profile->data, index),
	};
	if (profile->data.sample_times.len > 0) {
		const struct allo_when *when = &profile->data.sample_times.at[index];

		sample->has_time = true;
		sample->thread = when->thread;
		sample->start_ns = when->start_ns;
		sample->duration_ns = when->duration_ns;
	}
	return true;
}
