/* lib_build.c - adding to a profile; see allotrope.h. */
#include "lib/lib_common.h"

enum { BUILD_ID_MOST = 64 }; /* bytes; linkers make 20 at most */

/* Modules. */

static bool check_module(const struct allotrope_module *module, struct allotrope_error *err)
{
	if (!module)
		return allo_lib_misuse(err, "no module is given");
	if (!allo_lib_is_clear(module, err))
		return false;
	if (module->start >= module->limit && (module->start != 0 || module->limit != 0))
		return allo_lib_misuse(err, "a module ends at 0x%llx, before it starts",
				       (unsigned long long)module->limit);
	if (module->build_id_size > BUILD_ID_MOST ||
	    (module->build_id_size > 0 && !module->build_id_bytes))
		return allo_lib_misuse(err, "a build id of %zu bytes", module->build_id_size);
	return true;
}

static allo_string_id add_build_id(struct allo_profile *profile,
				   const struct allotrope_module *module, struct allo_error *err)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *bytes = module->build_id_bytes;
	char hex[2 * BUILD_ID_MOST];

	if (module->build_id_size == 0)
		return allo_profile_add_string(profile, allo_lib_text(module->build_id), err);
	for (size_t i = 0; i < module->build_id_size; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	return allo_profile_add_string(profile,
				       (struct allo_text){ hex, 2 * module->build_id_size }, err);
}

static bool put_range(struct allotrope_profile *profile, allo_module_id id, struct allo_error *err)
{
	const struct allo_module *module = &profile->data.modules.at[id];
	struct allo_module_range range = { module->start, module->limit, id };

	/* A module of a file may end before it starts. */
	return module->start >= module->limit || allo_ranges_put(&profile->ranges, &range) ||
	       allo_fail_memory(err);
}

/* Modules may have come by other ways: with a file, from a merged profile. */
static bool put_others(struct allotrope_profile *profile, struct allo_error *err)
{
	struct allo_ranges *ranges = &profile->ranges;

	for (; ranges->modules < allo_lib_count(profile->data.modules); ranges->modules++) {
		if (!put_range(profile, (allo_module_id)ranges->modules + 1, err))
			return false;
	}
	return true;
}

bool allo_lib_find_module(struct allotrope_profile *profile, uint64_t address,
			  allo_module_id *module, struct allo_error *err)
{
	if (!put_others(profile, err))
		return false;
	*module = address ? allo_ranges_find(&profile->ranges, address) : 0;
	return true;
}

static allo_module_id add_module(struct allotrope_profile *profile,
				 const struct allotrope_module *given, struct allo_error *err)
{
	size_t old_count = allo_lib_count(profile->data.modules);
	struct allo_module module = {
		.path = allo_profile_add_string(&profile->data, allo_lib_text(given->path), err),
		.build_id = add_build_id(&profile->data, given, err),
		.start = given->start,
		.limit = given->limit,
		.offset = given->offset,
	};
	allo_module_id id;

	if (allo_failed(err) || !allo_vec_cover(&profile->is_new_module, old_count + 2)) {
		allo_fail_memory(err);
		return 0;
	}
	id = allo_profile_add_module(&profile->data, &module, err);
	/* An old one takes its range again, should others have had it meanwhile. */
	if (id == 0 || !put_others(profile, err) || !put_range(profile, id, err))
		return 0;
	ALLO_ASSERT(id < profile->is_new_module.len);
	if (id > old_count)
		profile->is_new_module.at[id] = true;
	return id;
}

allotrope_module_id allotrope_add_module(struct allotrope_profile *profile,
					 const struct allotrope_module *module,
					 struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	allo_module_id id;

	if (!allo_lib_begin(profile, err) || !check_module(module, err))
		return 0;
	id = add_module(profile, module, &failure);
	if (id == 0)
		allo_lib_fail(err, &failure);
	return id;
}

/* Functions. */

allotrope_function_id allotrope_add_function(struct allotrope_profile *profile,
					     const struct allotrope_function *function,
					     struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	struct allo_function added;
	allo_function_id id = 0;

	if (!allo_lib_begin(profile, err))
		return 0;
	if (!function || !function->name || !function->name[0]) {
		allo_lib_misuse(err, "a function needs a name");
		return 0;
	}
	if (!allo_lib_is_clear(function, err))
		return 0;
	added = (struct allo_function){
		.name = allo_profile_add_string(&profile->data, allo_text_of(function->name),
						&failure),
		.system_name = allo_profile_add_string(
			&profile->data, allo_lib_text(function->system_name), &failure),
		.file = allo_profile_add_string(&profile->data, allo_lib_text(function->file),
						&failure),
		.start_line = function->start_line,
	};
	if (!allo_failed(&failure))
		id = allo_profile_add_function(&profile->data, &added, &failure);
	if (id == 0)
		allo_lib_fail(err, &failure);
	return id;
}

/* Frames. */

/* pprof looks for names by itself in modules that lack any, so these flags hold for all frames or
 * not at all. */
static void tell_module(struct allotrope_profile *profile, allo_module_id id,
			const struct allo_line *lines, size_t count)
{
	struct allo_module *module = &profile->data.modules.at[id];
	bool has_functions = count > 0, has_files = count > 0, has_lines = count > 0;

	for (size_t i = 0; i < count; i++) {
		has_files &= profile->data.functions.at[lines[i].function].file != 0;
		has_lines &= lines[i].line != 0;
	}
	if (id < profile->is_new_module.len && profile->is_new_module.at[id])
		module->has_functions = module->has_files = module->has_lines = true;
	module->has_functions &= has_functions;
	module->has_files &= has_files;
	module->has_lines &= has_lines;
	module->has_inlines |= count > 1;
	if (id < profile->is_new_module.len)
		profile->is_new_module.at[id] = false;
}

allo_frame_id allo_lib_add_frame(struct allotrope_profile *profile, const struct allo_frame *frame,
				 const struct allo_line *lines, size_t count,
				 struct allo_error *err)
{
	allo_frame_id id = allo_profile_add_frame(&profile->data, frame, lines, count, err);

	if (id != 0 && frame->module != 0)
		tell_module(profile, frame->module, lines, count);
	return id;
}

static bool check_frame(const struct allotrope_profile *profile,
			const struct allotrope_frame *frame, const struct allotrope_line *lines,
			size_t count, struct allotrope_error *err)
{
	if (!frame || (!lines && count > 0))
		return allo_lib_misuse(err, "no frame or no lines are given");
	if (!allo_lib_is_clear(frame, err))
		return false;
	if (frame->module != 0 && !allo_lib_has(profile->data.modules, frame->module))
		return allo_lib_misuse(err, "there is no module %lu", (unsigned long)frame->module);
	for (size_t i = 0; i < count; i++) {
		if (!allo_lib_has(profile->data.functions, lines[i].function))
			return allo_lib_misuse(err, "there is no function %lu",
					       (unsigned long)lines[i].function);
		if (!allo_lib_is_clear(&lines[i], err))
			return false;
	}
	return true;
}

static allo_frame_id add_frame(struct allotrope_profile *profile,
			       const struct allotrope_frame *given,
			       const struct allotrope_line *lines, size_t count,
			       struct allo_error *err)
{
	struct allo_frame frame = { .address = given->address,
				    .module = given->module,
				    .is_folded = given->is_folded };

	profile->lines.len = 0;
	if (!allo_vec_reserve(&profile->lines, count)) {
		allo_fail_memory(err);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		profile->lines.at[i] = (struct allo_line){ lines[i].function, lines[i].line,
							   lines[i].column };
	if (frame.module == 0 && !allo_lib_find_module(profile, frame.address, &frame.module, err))
		return 0;
	return allo_lib_add_frame(profile, &frame, profile->lines.at, count, err);
}

allotrope_frame_id allotrope_add_frame(struct allotrope_profile *profile,
				       const struct allotrope_frame *frame,
				       const struct allotrope_line *lines, size_t line_count,
				       struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	allo_frame_id id;

	if (!allo_lib_begin(profile, err) || !check_frame(profile, frame, lines, line_count, err))
		return 0;
	id = add_frame(profile, frame, lines, line_count, &failure);
	if (id == 0)
		allo_lib_fail(err, &failure);
	return id;
}

/* Labels. */

static bool check_labels(const struct allotrope_label *labels, size_t count,
			 struct allotrope_error *err)
{
	if (!labels && count > 0)
		return allo_lib_misuse(err, "no labels are given");
	for (size_t i = 0; i < count; i++) {
		if (!labels[i].key || !labels[i].key[0])
			return allo_lib_misuse(err, "label %zu has no key", i);
		if (!allo_lib_is_clear(&labels[i], err))
			return false;
	}
	return true;
}

allotrope_labels_id allotrope_add_labels(struct allotrope_profile *profile,
					 const struct allotrope_label *labels, size_t count,
					 struct allotrope_error *err)
{
	ALLO_VEC(struct allo_label) added = { 0 };
	struct allo_error failure = { 0 };
	allo_labels_id id = 0;

	if (!allo_lib_begin(profile, err) || !check_labels(labels, count, err))
		return 0;
	if (!allo_vec_reserve(&added, count))
		allo_fail_memory(&failure);
	for (size_t i = 0; i < count && !allo_failed(&failure); i++) {
		const struct allotrope_label *label = &labels[i];

		added.at[i] = (struct allo_label){
			.key = allo_profile_add_string(&profile->data, allo_text_of(label->key),
						       &failure),
			.text = allo_profile_add_string(&profile->data, allo_lib_text(label->text),
							&failure),
			.unit = allo_profile_add_string(&profile->data, allo_lib_text(label->unit),
							&failure),
			.number = label->text ? 0 : label->number,
			.is_number = !label->text,
		};
	}
	if (!allo_failed(&failure))
		id = allo_profile_add_labels(&profile->data, added.at, count, &failure);
	if (allo_failed(&failure))
		allo_lib_fail(err, &failure);
	allo_vec_done(&added);
	return id;
}

/* Threads. */

allotrope_thread_id allotrope_add_thread(struct allotrope_profile *profile,
					 const struct allotrope_thread *thread,
					 struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	struct allo_thread added;
	allo_thread_id id = 0;

	if (!allo_lib_begin(profile, err))
		return 0;
	if (!thread) {
		allo_lib_misuse(err, "no thread is given");
		return 0;
	}
	if (!allo_lib_is_clear(thread, err))
		return 0;
	added = (struct allo_thread){
		.pid = thread->pid,
		.tid = thread->tid,
		.name = allo_profile_add_string(&profile->data, allo_lib_text(thread->name),
						&failure),
	};
	if (!allo_failed(&failure))
		id = allo_profile_add_thread(&profile->data, &added, &failure);
	if (id == 0)
		allo_lib_fail(err, &failure);
	return id;
}
