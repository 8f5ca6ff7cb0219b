/* recording_profile.c - see recording_profile.h. */
#include "replay/recording_profile.h"

#include "base/defer.h"
#include "replay/heap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const enum allo_meaning meanings[] = {
	ALLO_ALLOC_BLOCKS, ALLO_ALLOC_BYTES, ALLO_MAX_BLOCKS, ALLO_MAX_BYTES, ALLO_PEAK_BLOCKS,
	ALLO_PEAK_BYTES,   ALLO_END_BLOCKS,  ALLO_END_BYTES,  ALLO_LIFETIME,  ALLO_TEMPORARY_BLOCKS,
};
enum { METRICS = sizeof(meanings) / sizeof(*meanings), PEAK_BYTES = 5 };

/* Stands for a stack that is still to be made. */
static const allo_stack_id wanted = UINT32_MAX;

struct making {
	struct allo_profile *profile;
	struct allo_recording *recording;
	struct allo_heap heap;
	allo_module_id *modules; /* by index in the recording */
	allo_stack_id *stacks;   /* by node; 0: not made yet */
};

static void making_done(struct making *making)
{
	free(making->modules);
	free(making->stacks);
	allo_heap_done(&making->heap);
}

/* Stacks. */

/* A library that the program asked for by a way from where it was: that is where it began, unless
 * it has gone elsewhere. */
static allo_string_id add_path(struct making *making, struct allo_text path, struct allo_error *err)
{
	const struct allo_text folder = making->recording->folder;
	ALLO_DEFER(allo_free_pointer) char *joined = NULL;
	struct allo_text before, after;
	int len;

	if (folder.len == 0 || allo_text_starts(path, ALLO_TEXT("/")) ||
	    !allo_text_cut(path, '/', &before, &after) || folder.len + path.len >= INT_MAX)
		return allo_profile_add_string(making->profile, path, err);
	len = asprintf(&joined, "%.*s/%.*s", (int)folder.len, folder.data, (int)path.len,
		       path.data);
	if (len < 0) {
		joined = NULL;
		allo_fail_memory(err);
		return 0;
	}
	return allo_profile_add_string(making->profile, (struct allo_text){ joined, (size_t)len },
				       err);
}

static allo_module_id add_module(struct making *making, size_t index, struct allo_error *err)
{
	const struct allo_loaded_module *loaded = &making->recording->modules.at[index];
	struct allo_module module = {
		.start = loaded->start,
		.limit = loaded->end,
		.path = add_path(making, loaded->path, err),
		.build_id = allo_profile_add_string(making->profile, loaded->build_id, err),
	};

	if (allo_failed(err))
		return 0;
	return allo_profile_add_module(making->profile, &module, err);
}

/* The program's own file goes first, as pprof wants it. */
static bool add_modules(struct making *making, struct allo_error *err)
{
	const struct allo_recording *recording = making->recording;

	making->modules = calloc(recording->modules.len + 1, sizeof(*making->modules));
	if (!making->modules)
		return allo_fail_memory(err);
	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < recording->modules.len; i++) {
			bool is_program = allo_text_equal(recording->modules.at[i].path,
							  recording->program);

			if (is_program != (turn == 0))
				continue;
			making->modules[i] = add_module(making, i, err);
			if (making->modules[i] == 0)
				return false;
		}
	}
	return true;
}

static allo_frame_id add_frame(struct making *making, const struct allo_node *node,
			       struct allo_error *err)
{
	const struct allo_recording *recording = making->recording;
	struct allo_frame frame = { .address = allo_node_address(node) };
	const struct allo_loaded_module *module = allo_recording_module(recording, frame.address,
									node->generation);

	if (module)
		frame.module = making->modules[module - recording->modules.at];
	return allo_profile_add_frame(making->profile, &frame, NULL, 0, err);
}

/* Makes stacks of the nodes that have allocated and of those outside of them.  A parent has a
 * smaller number, so one turn from the end and one from the start see all. */
static bool add_stacks(struct making *making, struct allo_error *err)
{
	const struct allo_node *nodes = making->recording->nodes.at;
	size_t count = making->recording->nodes.len;

	making->stacks = calloc(count, sizeof(*making->stacks));
	if (!making->stacks)
		return allo_fail_memory(err);
	for (size_t i = count; i-- > 1;) {
		if (making->heap.blocks.made[i] > 0)
			making->stacks[i] = wanted;
		if (making->stacks[i] == wanted)
			making->stacks[nodes[i].parent] = wanted;
	}
	making->stacks[0] = 0;
	for (size_t i = 1; i < count; i++) {
		allo_frame_id frame;

		if (making->stacks[i] != wanted)
			continue;
		making->stacks[i] = 0;
		if (!(nodes[i].flags & ALLO_NODE_KNOWN))
			continue;
		frame = add_frame(making, &nodes[i], err);
		if (frame == 0)
			return false;
		making->stacks[i] = allo_profile_add_stack(
			making->profile, making->stacks[nodes[i].parent], frame, err);
		if (making->stacks[i] == 0)
			return false;
	}
	return true;
}

/* Numbers. */

static bool add_sample(struct making *making, size_t number, struct allo_error *err)
{
	const struct allo_site *site = &making->heap.sites[number];
	struct allo_peak peak = allo_heap_peak(&making->heap, site);
	uint64_t made = making->heap.blocks.made[number];
	const uint64_t values[METRICS] = {
		made,
		site->alloc_bytes,
		site->max_blocks,
		site->max_bytes,
		peak.blocks,
		peak.bytes,
		site->live_blocks,
		site->live_bytes,
		site->lifetime_ns,
		site->temporary_blocks,
	};
	uint64_t *row;

	if (made == 0)
		return true;
	row = allo_profile_add_sample(making->profile, making->stacks[number], 0, NULL, err);
	if (!row)
		return false;
	for (size_t i = 0; i < METRICS; i++)
		allo_profile_add_value(making->profile, i, &row[i], values[i]);
	return true;
}

static bool add_samples(struct making *making, struct allo_error *err)
{
	for (size_t i = 0; i < METRICS; i++) {
		const char *unit = meanings[i] == ALLO_LIFETIME ? "nanoseconds" : NULL;

		if (!allo_profile_add_metric(making->profile, meanings[i], unit, err))
			return false;
	}
	for (size_t i = 0; i < making->heap.blocks.stack_count; i++) {
		if (!add_sample(making, i, err))
			return false;
	}
	return true;
}

/* What is known about the run. */

static allo_string_id add_command(struct making *making, struct allo_error *err)
{
	const struct allo_recording *recording = making->recording;
	ALLO_VEC(char) command = { 0 };
	allo_string_id id = 0;
	bool ok = true;

	for (size_t i = 0; i < recording->arguments.len && ok; i++)
		ok = allo_vec_append(&command, " ", i > 0) &&
		     allo_vec_append(&command, recording->arguments.at[i].data,
				     recording->arguments.at[i].len);
	if (!ok)
		allo_fail_memory(err);
	else if (command.len > 0)
		id = allo_profile_add_string(making->profile,
					     (struct allo_text){ command.at, command.len }, err);
	else
		id = allo_profile_add_string(making->profile, recording->program, err);
	allo_vec_done(&command);
	return id;
}

static bool set_meta(struct making *making, struct allo_error *err)
{
	const struct allo_recording *recording = making->recording;
	struct allo_profile *profile = making->profile;
	struct allo_meta *meta = &profile->meta;
	uint64_t duration = allo_recording_duration(recording);

	meta->command = add_command(making, err);
	meta->producer = allo_profile_add_string(profile, ALLO_TEXT("Allotrope"), err);
	meta->dialect = allo_profile_add_string(
		profile, recording->is_packed ? ALLO_TEXT("packed") : ALLO_TEXT("raw"), err);
	meta->pid = recording->head.pid;
	meta->start_ns = (int64_t)recording->head.start_realtime_ns;
	meta->clock = ALLO_CLOCK_NS;
	meta->duration = duration > making->heap.blocks.last_ns ? duration
								: making->heap.blocks.last_ns;
	/* Packing has rounded times, but not this one. */
	meta->peak_time = making->recording->stored_summary
				  ? making->recording->stored_summary->peak_ns
				  : making->heap.blocks.peak_ns;
	meta->period_type = allo_profile_add_string(profile, ALLO_TEXT("space"), err);
	meta->period_unit = allo_profile_add_string(profile, ALLO_TEXT("bytes"), err);
	meta->period = 1; /* nothing is sampled */
	meta->default_metric = PEAK_BYTES + 1;
	return !allo_failed(err);
}

/* Whether the process had blocks that the recording does not know. */
static bool may_free_unknown(const struct allo_wire_head *head)
{
	return head->min_size > 0 || head->has_earlier;
}

static void set_notes(struct making *making)
{
	const struct allo_recording *recording = making->recording;
	const struct allo_lacks *lacks = &recording->lacks;
	struct allo_pos damage = { .file = recording->name, .byte = lacks->damaged_at + 1 };
	const struct {
		enum allo_note note;
		uint64_t count;
	} notes[] = {
		{ ALLO_NOTE_CUT, lacks->is_cut },
		{ ALLO_NOTE_KILLED, recording->head.end == ALLO_END_NONE },
		{ ALLO_NOTE_MISSING_BLOCKS, lacks->missing_blocks },
		{ ALLO_NOTE_MISSING_THREADS, lacks->missing_streams },
		{ ALLO_NOTE_DAMAGED_BLOCKS, lacks->damaged_blocks },
		{ ALLO_NOTE_UNREAD_BLOCKS, lacks->unread_blocks },
		{ ALLO_NOTE_DROPPED_EVENTS, lacks->dropped_events },
		{ ALLO_NOTE_MISSING_STACKS, lacks->missing_stacks },
		{ ALLO_NOTE_NO_CLOCK, lacks->has_no_clock },
		/* Of blocks too small to be recorded, frees are seen all the same. */
		{ ALLO_NOTE_UNKNOWN_FREE,
		  may_free_unknown(&recording->head) ? 0 : making->heap.blocks.unknown_frees },
		{ ALLO_NOTE_SATURATED, making->heap.blocks.overflows },
		{ ALLO_NOTE_SATURATED, making->heap.has_long_lifetimes },
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		allo_note_many(&making->profile->notes, notes[i].note, notes[i].count,
			       notes[i].note == ALLO_NOTE_DAMAGED_BLOCKS ? damage : ALLO_NOWHERE);
}

bool allo_profile_from_recording(struct allo_profile *profile, struct allo_recording *recording,
				 struct allo_summary *summary, struct allo_error *err)
{
	ALLO_DEFER(making_done)
	struct making making = { .profile = profile, .recording = recording };
	uint64_t events;

	if (!allo_heap_replay(&making.heap, recording, &events, err) ||
	    !add_modules(&making, err) || !add_stacks(&making, err) || !add_samples(&making, err))
		return false;
	set_notes(&making);
	if (summary)
		allo_summary_of_blocks(summary, recording, &making.heap.blocks, events);
	return set_meta(&making, err);
}
