/* frame_names.c - copies lines and functions between a profile and the known frames. */
#include "engine/live/frame_names.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/hash.h"

#include <stdlib.h>

void allo_frame_names_done(struct allo_frame_names *names)
{
	allo_profile_done(&names->known);
	allo_map_done(&names->map);
	*names = (struct allo_frame_names){ 0 };
}

/* Copies from one profile to another. */
struct copier {
	const struct allo_profile *from;
	struct allo_profile *to;
	allo_function_id *functions; /* in `to`, by id in `from`; 0: not copied yet */
	ALLO_VEC(struct allo_line) lines;
};

static void copier_done(struct copier *copier)
{
	free(copier->functions);
	allo_vec_done(&copier->lines);
}

static allo_string_id copy_string(struct copier *copier, allo_string_id id, struct allo_error *err)
{
	return allo_profile_add_string(copier->to, allo_profile_text(copier->from, id), err);
}

static allo_function_id copy_function(struct copier *copier, allo_function_id id,
				      struct allo_error *err)
{
	const struct allo_function *function = &copier->from->functions.at[id];
	struct allo_function copy = { .start_line = function->start_line };

	ALLO_ASSERT(id > 0 && id < copier->from->functions.len);
	if (copier->functions[id] != 0)
		return copier->functions[id];
	copy.name = copy_string(copier, function->name, err);
	copy.system_name = copy_string(copier, function->system_name, err);
	copy.file = copy_string(copier, function->file, err);
	if (!allo_failed(err))
		copier->functions[id] = allo_profile_add_function(copier->to, &copy, err);
	return copier->functions[id];
}

/* Gives the lines of a frame to a frame of the other profile, which has none. */
static bool copy_lines(struct copier *copier, const struct allo_frame *frame, allo_frame_id to,
		       struct allo_error *err)
{
	if (!copier->functions) {
		copier->functions = calloc(copier->from->functions.len + 1,
					   sizeof(*copier->functions));
		if (!copier->functions)
			return allo_fail_memory(err);
	}
	copier->lines.len = 0;
	if (!allo_vec_reserve(&copier->lines, frame->line_count))
		return allo_fail_memory(err);
	for (uint32_t i = 0; i < frame->line_count; i++) {
		struct allo_line line = copier->from->lines.at[frame->first_line + i];

		line.function = copy_function(copier, line.function, err);
		if (line.function == 0)
			return false;
		copier->lines.at[copier->lines.len++] = line;
	}
	ALLO_ASSERT(copier->to->frames.at[to].line_count == 0);
	return allo_profile_set_lines(copier->to, to, copier->lines.at, copier->lines.len, err);
}

/* The modules of a profile among the known ones, by id; to be freed.  NULL when memory is short. */
static allo_module_id *add_modules(struct allo_frame_names *names,
				   const struct allo_profile *profile, struct allo_error *err)
{
	allo_module_id *modules = calloc(profile->modules.len + 1, sizeof(*modules));
	struct copier copier = { .from = profile, .to = &names->known };

	if (!modules)
		allo_fail_memory(err);
	for (size_t i = 1; modules && i < profile->modules.len && !allo_failed(err); i++) {
		const struct allo_module *module = &profile->modules.at[i];
		struct allo_module copy = { .start = module->start,
					    .limit = module->limit,
					    .offset = module->offset,
					    .path = copy_string(&copier, module->path, err),
					    .build_id = copy_string(&copier, module->build_id,
								    err) };

		if (!allo_failed(err))
			modules[i] = allo_profile_add_module(&names->known, &copy, err);
	}
	if (allo_failed(err)) {
		free(modules);
		return NULL;
	}
	return modules;
}

static uint64_t hash_of(allo_module_id module, uint64_t address)
{
	return allo_hash_pair(address, module, allo_hash_seed());
}

static allo_frame_id find(const struct allo_frame_names *names, allo_module_id module,
			  uint64_t address)
{
	struct allo_probe probe = allo_map_probe(&names->map, hash_of(module, address));
	allo_frame_id id;

	while ((id = allo_map_next(&names->map, &probe)) != 0) {
		const struct allo_frame *frame = &names->known.frames.at[id];

		if (frame->module == module && frame->address == address)
			break;
	}
	return id;
}

static bool can_be_kept(const struct allo_frame *frame)
{
	return frame->module != 0 && frame->address != 0;
}

bool allo_frame_names_use(struct allo_frame_names *names, struct allo_profile *profile,
			  bool *is_complete, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) allo_module_id *modules = add_modules(names, profile, err);
	ALLO_DEFER(copier_done) struct copier copier = { .from = &names->known, .to = profile };

	*is_complete = true;
	for (size_t i = 1; modules && i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		allo_frame_id id;

		if (frame->address == 0 || frame->line_count > 0)
			continue;
		/* Code outside of modules is made by a JIT compiler: its name may come later. */
		id = frame->module ? find(names, modules[frame->module], frame->address) : 0;
		if (id == 0)
			*is_complete = false;
		else if (names->known.frames.at[id].line_count > 0 &&
			 !copy_lines(&copier, &names->known.frames.at[id], (allo_frame_id)i, err))
			return false;
	}
	return modules != NULL;
}

/* Adds an unnamed frame to the known ones. */
static allo_frame_id add_frame(struct allo_frame_names *names, allo_module_id module,
			       uint64_t address, struct allo_error *err)
{
	allo_frame_id id = allo_profile_add_frame(
		&names->known, &(struct allo_frame){ .module = module, .address = address }, NULL,
		0, err);

	if (id != 0 && !allo_map_put(&names->map, hash_of(module, address), id)) {
		allo_fail_memory(err);
		return 0;
	}
	return id;
}

bool allo_frame_names_keep(struct allo_frame_names *names, const struct allo_profile *profile,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) allo_module_id *modules = add_modules(names, profile, err);
	ALLO_DEFER(copier_done) struct copier copier = { .from = profile, .to = &names->known };

	for (size_t i = 1; modules && i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		allo_frame_id id;

		if (!can_be_kept(frame))
			continue;
		id = find(names, modules[frame->module], frame->address);
		if (id == 0)
			id = add_frame(names, modules[frame->module], frame->address, err);
		if (id == 0)
			return false;
		/* A file that was missing before may be there by now. */
		if (frame->line_count > 0 && names->known.frames.at[id].line_count == 0 &&
		    !copy_lines(&copier, frame, id, err))
			return false;
	}
	return modules != NULL;
}
