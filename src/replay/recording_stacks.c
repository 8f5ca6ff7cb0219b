#include "replay/recording_stacks.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/trust.h"
#include "replay/module_search.h"
#include "replay/packed/stored_names.h"
#include "replay/summary.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct builder {
	struct allo_profile *profile;
	const struct allo_recording *recording;
	allo_module_id *modules;    /* by index in the recording */
	uint32_t *modules_of_nodes; /* see module_search.h */
	uint64_t joined_bytes;      /* of paths that were made from relative ones */
};

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

static allo_frame_id add_frame(struct builder *builder, size_t number, struct allo_error *err)
{
	const struct allo_recorded_node *node = &builder->recording->nodes.at[number];
	struct allo_frame frame = { .address = allo_recorded_node_address(node) };
	uint32_t module = builder->modules_of_nodes[number];

	if (module != 0)
		frame.module = builder->modules[module - 1];
	return allo_profile_add_frame(builder->profile, &frame, NULL, 0, err);
}

/* Marks a stack that is still to be added. */
static const allo_stack_id to_make = UINT32_MAX;

/* A parent has a smaller number, so one pass from the end finds all callers. */
static void mark_stacks(const struct allo_recording *recording, const bool *is_wanted,
			allo_stack_id *stacks)
{
	for (size_t i = recording->nodes.len; i-- > 1;) {
		if (!is_wanted || is_wanted[i])
			stacks[i] = to_make;
		if (stacks[i] == to_make)
			stacks[recording->nodes.at[i].parent] = to_make;
	}
	stacks[0] = 0;
}

static bool add_stacks(struct builder *builder, allo_stack_id *stacks, struct allo_error *err)
{
	const struct allo_recorded_node *nodes = builder->recording->nodes.at;

	for (size_t i = 1; i < builder->recording->nodes.len; i++) {
		allo_frame_id frame;

		if (stacks[i] != to_make)
			continue;
		stacks[i] = 0;
		if (!(nodes[i].flags & ALLO_NODE_KNOWN))
			continue;
		frame = add_frame(builder, i, err);
		if (frame == 0)
			return false;
		ALLO_ASSERT(nodes[i].parent < i && stacks[nodes[i].parent] != to_make);
		stacks[i] = allo_profile_add_stack(builder->profile, stacks[nodes[i].parent], frame,
						   err);
		if (stacks[i] == 0)
			return false;
	}
	return true;
}

bool allo_recording_add_stacks(struct allo_profile *profile, const struct allo_recording *recording,
			       const bool *is_wanted, allo_stack_id **stacks,
			       struct allo_error *err)
{
	struct builder builder = { .profile = profile, .recording = recording };
	bool ok;

	*stacks = calloc(recording->nodes.len, sizeof(**stacks));
	if (!*stacks)
		return allo_fail_memory(err);
	mark_stacks(recording, is_wanted, *stacks);
	builder.modules_of_nodes = allo_modules_of_nodes(recording, err);
	ok = builder.modules_of_nodes && add_modules(&builder, err) &&
	     add_stacks(&builder, *stacks, err);
	free(builder.modules);
	free(builder.modules_of_nodes);
	return ok;
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
