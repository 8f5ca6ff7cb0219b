/*
 * recording_stacks.c - modules, frames and stacks for nodes; functions of interpreters have no
 * address.
 */
#include "replay/recording/recording_stacks.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/trust.h"
#include "replay/packed/stored_names.h"
#include "replay/recording/module_search.h"
#include "replay/summary.h"
#include "wire/stacks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct builder {
	struct allo_profile *profile;
	const struct allo_recording *recording;
	allo_module_id *modules;     /* by index in the recording */
	allo_function_id *functions; /* of interpreters, by number; 0: not added yet */
	bool *is_interpreter;        /* by index of a module in the recording */
	uint32_t *modules_of_nodes;  /* see module_search.h */
	uint64_t joined_bytes;       /* of paths that were made from relative ones */
};

static void builder_done(struct builder *builder)
{
	free(builder->modules);
	free(builder->functions);
	free(builder->is_interpreter);
	free(builder->modules_of_nodes);
}

/* A hostile file may have many modules and a long folder; its further paths stay relative. */
static const uint64_t joined_ratio = 100, joined_least = 16 << 20;

/* Modules. */

/* A relative path of a library is relative to the working directory at the start, unless the
 * program changed it. */
static allo_string_id add_path(struct builder *builder, struct allo_text path,
			       struct allo_error *err)
{
	const struct allo_text folder = builder->recording->folder;
	ALLO_DEFER(allo_free_pointer) char *joined = NULL;
	struct allo_text before, after;
	int len;

	if (folder.len == 0 || allo_text_starts(path, ALLO_TEXT("/")) ||
	    !allo_text_cut(path, '/', &before, &after) || folder.len + path.len >= INT_MAX ||
	    builder->joined_bytes >
		    allo_trust_limit(builder->recording->source.stored, joined_ratio, joined_least))
		return allo_profile_add_string(builder->profile, path, err);
	builder->joined_bytes += folder.len + path.len;
	len = asprintf(&joined, "%.*s/%.*s", (int)folder.len, folder.data, (int)path.len,
		       path.data);
	if (len < 0) {
		joined = NULL;
		allo_fail_memory(err);
		return 0;
	}
	return allo_profile_add_string(builder->profile, (struct allo_text){ joined, (size_t)len },
				       err);
}

static allo_module_id add_module(struct builder *builder, size_t index, struct allo_error *err)
{
	const struct allo_loaded_module *loaded = &builder->recording->modules.at[index];
	struct allo_module module = {
		.start = loaded->start,
		.limit = loaded->end,
		.bias = loaded->bias,
		.has_bias = true,
		.path = add_path(builder, loaded->path, err),
		.build_id = allo_profile_add_string(builder->profile, loaded->build_id, err),
	};

	if (allo_failed(err))
		return 0;
	return allo_profile_add_module(builder->profile, &module, err);
}

/* The program comes first, as pprof requires. */
static bool add_modules(struct builder *builder, struct allo_error *err)
{
	const struct allo_recording *recording = builder->recording;

	builder->modules = calloc(recording->modules.len + 1, sizeof(*builder->modules));
	if (!builder->modules)
		return allo_fail_memory(err);
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < recording->modules.len; i++) {
			bool is_program = allo_text_equal(recording->modules.at[i].path,
							  recording->program);

			if (is_program != (turn == 0))
				continue;
			builder->modules[i] = add_module(builder, i, err);
			if (builder->modules[i] == 0)
				return false;
		}
	}
	return true;
}

/* Stacks. */

/* The linkage name tells the language, as in the maps that CPython writes for perf. */
static allo_string_id add_linkage_name(struct builder *builder,
				       const struct allo_recorded_function *function,
				       struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *name = NULL;
	int len;

	if (function->language != ALLO_LANGUAGE_PYTHON || function->name.len > INT_MAX)
		return 0;
	len = asprintf(&name, "py::%.*s", ALLO_TEXT_WHOLE(function->name));
	if (len < 0) {
		name = NULL;
		allo_fail_memory(err);
		return 0;
	}
	return allo_profile_add_string(builder->profile, (struct allo_text){ name, (size_t)len },
				       err);
}

static allo_function_id add_function(struct builder *builder, size_t number, struct allo_error *err)
{
	const struct allo_recorded_function *function = &builder->recording->functions.at[number];
	struct allo_function added = {
		.name = allo_profile_add_string(builder->profile, function->name, err),
		.file = allo_profile_add_string(builder->profile, function->file, err),
		.start_line = function->first_line,
	};

	added.system_name = add_linkage_name(builder, function, err);
	return allo_failed(err) ? 0 : allo_profile_add_function(builder->profile, &added, err);
}

/* The function may be missing in a damaged file. */
static allo_frame_id add_function_frame(struct builder *builder,
					const struct allo_recorded_node *node,
					struct allo_error *err)
{
	struct allo_line line = { .line = allo_recorded_node_line(node) };
	uint32_t number = (uint32_t)(node->pc >> 32);

	if (allo_recorded_node_function(builder->recording, node).language == 0)
		return allo_profile_add_named_frame(builder->profile,
						    ALLO_TEXT("(missing function)"), err);
	if (builder->functions[number] == 0)
		builder->functions[number] = add_function(builder, number, err);
	line.function = builder->functions[number];
	if (line.function == 0)
		return 0;
	return allo_profile_add_frame(builder->profile, &(struct allo_frame){ 0 }, &line, 1, err);
}

static allo_frame_id add_frame(struct builder *builder, size_t number, struct allo_error *err)
{
	const struct allo_recorded_node *node = &builder->recording->nodes.at[number];
	struct allo_frame frame = { .address = allo_recorded_node_address(node) };
	uint32_t module = builder->modules_of_nodes[number];

	if (node->flags & ALLO_NODE_FUNCTION)
		return add_function_frame(builder, node, err);
	if (module != 0)
		frame.module = builder->modules[module - 1];
	return allo_profile_add_frame(builder->profile, &frame, NULL, 0, err);
}

/* Marks a stack that is still to be added. */
static const allo_stack_id to_make = UINT32_MAX;

/* The stacks of nodes.  Seen from a function of an interpreter, the interpreter's own frames
 * between its functions are left out, so that a node has two stacks. */
struct node_stacks {
	allo_stack_id *whole;   /* of the native frames inward of the innermost function, too */
	allo_stack_id *callers; /* of functions; NULL: no interpreter was recorded */
};

static bool is_function(const struct allo_recorded_node *node)
{
	return node->flags & ALLO_NODE_FUNCTION;
}

/* A parent has a smaller number, so one pass from the end finds all callers. */
static void mark_stacks(const struct allo_recording *recording, const bool *is_wanted,
			const struct node_stacks *stacks)
{
	for (size_t i = recording->nodes.len; i-- > 1;) {
		const struct allo_recorded_node *node = &recording->nodes.at[i];

		if (!is_wanted || is_wanted[i])
			stacks->whole[i] = to_make;
		if (stacks->whole[i] == to_make && stacks->callers && is_function(node))
			stacks->callers[i] = to_make;
		else if (stacks->whole[i] == to_make)
			stacks->whole[node->parent] = to_make;
		if (stacks->callers && stacks->callers[i] == to_make)
			stacks->callers[node->parent] = to_make;
	}
	stacks->whole[0] = 0;
	if (stacks->callers)
		stacks->callers[0] = 0;
}

static bool add_stack(struct builder *builder, size_t number, allo_stack_id parent,
		      allo_stack_id *stack, struct allo_error *err)
{
	allo_frame_id frame = 0;

	*stack = 0;
	if (!(builder->recording->nodes.at[number].flags & ALLO_NODE_KNOWN))
		return true;
	ALLO_ASSERT(parent != to_make);
	frame = add_frame(builder, number, err);
	if (frame != 0)
		*stack = allo_profile_add_stack(builder->profile, parent, frame, err);
	return *stack != 0;
}

/* The stacks of a node as a caller of functions.  `is_inside` tells for each node whether a
 * function has called it. */
static bool add_caller(struct builder *builder, size_t number, const bool *is_inside,
		       allo_stack_id *callers, struct allo_error *err)
{
	const struct allo_recorded_node *node = &builder->recording->nodes.at[number];
	uint32_t module = builder->modules_of_nodes[number];

	if (!is_function(node) && is_inside[number] && module != 0 &&
	    builder->is_interpreter[module - 1]) {
		callers[number] = callers[node->parent];
		return true;
	}
	return add_stack(builder, number, callers[node->parent], &callers[number], err);
}

static bool add_stacks(struct builder *builder, const struct node_stacks *stacks,
		       struct allo_error *err)
{
	const struct allo_recorded_node *nodes = builder->recording->nodes.at;
	size_t count = builder->recording->nodes.len;
	ALLO_DEFER(allo_free_pointer) bool *is_inside = calloc(count, sizeof(*is_inside));

	if (!is_inside)
		return allo_fail_memory(err);
	for (size_t i = 1; i < count; i++) {
		uint32_t parent = nodes[i].parent;

		ALLO_ASSERT(parent < i);
		is_inside[i] = is_inside[parent] || is_function(&nodes[parent]);
		if (stacks->callers && stacks->callers[i] == to_make &&
		    !add_caller(builder, i, is_inside, stacks->callers, err))
			return false;
		if (stacks->whole[i] != to_make)
			continue;
		if (stacks->callers && is_function(&nodes[i]))
			stacks->whole[i] = stacks->callers[i];
		else if (!add_stack(builder, i, stacks->whole[parent], &stacks->whole[i], err))
			return false;
	}
	return true;
}

/* Finds the modules of interpreters; false if there are none. */
static bool find_interpreters(struct builder *builder)
{
	const struct allo_recording *recording = builder->recording;
	bool has_found = false;

	for (size_t i = 0; i < recording->interpreters.len; i++) {
		uint64_t address = recording->interpreters.at[i].address;

		for (size_t m = 0; m < recording->modules.len; m++) {
			const struct allo_loaded_module *module = &recording->modules.at[m];

			if (address - module->start < module->end - module->start)
				has_found = builder->is_interpreter[m] = true;
		}
	}
	return has_found;
}

bool allo_recording_add_stacks(struct allo_profile *profile, const struct allo_recording *recording,
			       const bool *is_wanted, allo_stack_id **stacks,
			       struct allo_error *err)
{
	ALLO_DEFER(builder_done)
	struct builder builder = { .profile = profile, .recording = recording };
	ALLO_DEFER(allo_free_pointer) allo_stack_id *callers = NULL;
	size_t count = recording->nodes.len;

	*stacks = calloc(count, sizeof(**stacks));
	builder.functions = calloc(recording->functions.len + 1, sizeof(*builder.functions));
	builder.is_interpreter = calloc(recording->modules.len + 1, sizeof(bool));
	if (!*stacks || !builder.functions || !builder.is_interpreter)
		return allo_fail_memory(err);
	if (!recording->keeps_interpreter && find_interpreters(&builder)) {
		callers = calloc(count, sizeof(*callers));
		if (!callers)
			return allo_fail_memory(err);
	}
	mark_stacks(recording, is_wanted, &(struct node_stacks){ *stacks, callers });
	builder.modules_of_nodes = allo_modules_of_nodes(recording, err);
	return builder.modules_of_nodes && add_modules(&builder, err) &&
	       add_stacks(&builder, &(struct node_stacks){ *stacks, callers }, err);
}

/* Process and names. */

void allo_recording_set_process(struct allo_profile *profile,
				const struct allo_recording *recording)
{
	const struct allo_summary *stored = recording->stored_summary;
	struct allo_meta *meta = &profile->meta;

	meta->pid = recording->head.pid;
	meta->start_ns = (int64_t)recording->head.start_realtime_ns;
	meta->clock = ALLO_CLOCK_NS;
	meta->duration = stored ? stored->duration_ns : allo_recording_duration(recording);
	meta->run_ns = meta->duration;
}

bool allo_recording_use_names(struct allo_profile *profile, struct allo_recording *recording,
			      struct allo_error *err)
{
	return recording->leaves_addresses ||
	       allo_stored_names_use(recording, profile, ALLO_STORED_ALL, err);
}

bool allo_profile_from_stacks(struct allo_profile *profile, struct allo_recording *recording,
			      allo_stack_id **stacks, struct allo_error *err)
{
	if (!allo_recording_add_stacks(profile, recording, NULL, stacks, err))
		return false;
	allo_recording_set_process(profile, recording);
	return allo_recording_use_names(profile, recording, err);
}
