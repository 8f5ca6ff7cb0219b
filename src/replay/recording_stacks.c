/* recording_stacks.c - see recording_stacks.h. */
#include "replay/recording_stacks.h"

#include "base/defer.h"
#include "replay/packed/stored_names.h"
#include "replay/summary.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct adding {
	struct allo_profile *profile;
	const struct allo_recording *recording;
	allo_module_id *modules; /* by index in the recording */
};

/* Modules. */

/* A library that the program asked for by a way from where it was: that is where it began, unless
 * it has gone elsewhere. */
static allo_string_id add_path(struct adding *adding, struct allo_text path, struct allo_error *err)
{
	const struct allo_text folder = adding->recording->folder;
	ALLO_DEFER(allo_free_pointer) char *joined = NULL;
	struct allo_text before, after;
	int len;

	if (folder.len == 0 || allo_text_starts(path, ALLO_TEXT("/")) ||
	    !allo_text_cut(path, '/', &before, &after) || folder.len + path.len >= INT_MAX)
		return allo_profile_add_string(adding->profile, path, err);
	len = asprintf(&joined, "%.*s/%.*s", (int)folder.len, folder.data, (int)path.len,
		       path.data);
	if (len < 0) {
		joined = NULL;
		allo_fail_memory(err);
		return 0;
	}
	return allo_profile_add_string(adding->profile, (struct allo_text){ joined, (size_t)len },
				       err);
}

static allo_module_id add_module(struct adding *adding, size_t index, struct allo_error *err)
{
	const struct allo_loaded_module *loaded = &adding->recording->modules.at[index];
	struct allo_module module = {
		.start = loaded->start,
		.limit = loaded->end,
		.bias = loaded->bias,
		.has_bias = true,
		.path = add_path(adding, loaded->path, err),
		.build_id = allo_profile_add_string(adding->profile, loaded->build_id, err),
	};

	if (allo_failed(err))
		return 0;
	return allo_profile_add_module(adding->profile, &module, err);
}

/* The program's own file goes first, as pprof wants it. */
static bool add_modules(struct adding *adding, struct allo_error *err)
{
	const struct allo_recording *recording = adding->recording;

	adding->modules = calloc(recording->modules.len + 1, sizeof(*adding->modules));
	if (!adding->modules)
		return allo_fail_memory(err);
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < recording->modules.len; i++) {
			bool is_program = allo_text_equal(recording->modules.at[i].path,
							  recording->program);

			if (is_program != (turn == 0))
				continue;
			adding->modules[i] = add_module(adding, i, err);
			if (adding->modules[i] == 0)
				return false;
		}
	}
	return true;
}

/* Stacks. */

static allo_frame_id add_frame(struct adding *adding, const struct allo_stack_node *node,
			       struct allo_error *err)
{
	const struct allo_recording *recording = adding->recording;
	struct allo_frame frame = { .address = allo_stack_node_address(node) };
	const struct allo_loaded_module *module = allo_recording_module(recording, frame.address,
									node->generation);

	if (module)
		frame.module = adding->modules[module - recording->modules.at];
	return allo_profile_add_frame(adding->profile, &frame, NULL, 0, err);
}

/* A stack that is still to be made, where the number of a stack goes. */
static const allo_stack_id to_make = UINT32_MAX;

/* A parent has a smaller number, so one turn from the end finds all that are needed. */
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

static bool add_stacks(struct adding *adding, allo_stack_id *stacks, struct allo_error *err)
{
	const struct allo_stack_node *nodes = adding->recording->nodes.at;

	for (size_t i = 1; i < adding->recording->nodes.len; i++) {
		allo_frame_id frame;

		if (stacks[i] != to_make)
			continue;
		stacks[i] = 0;
		if (!(nodes[i].flags & ALLO_NODE_KNOWN))
			continue;
		frame = add_frame(adding, &nodes[i], err);
		if (frame == 0)
			return false;
		stacks[i] = allo_profile_add_stack(adding->profile, stacks[nodes[i].parent], frame,
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
	struct adding adding = { .profile = profile, .recording = recording };
	bool ok;

	*stacks = calloc(recording->nodes.len, sizeof(**stacks));
	if (!*stacks)
		return allo_fail_memory(err);
	mark_stacks(recording, is_wanted, *stacks);
	ok = add_modules(&adding, err) && add_stacks(&adding, *stacks, err);
	free(adding.modules);
	return ok;
}

/* The rest. */

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
