/* live_dataset.c - extends the log; makes the profile again only when there are new stacks. */
#include "engine/live/live_dataset.h"

#include "base/defer.h"
#include "engine/live/followed_profile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Closes all but the profile, whose numbers are compared with those of the next one. */
static void close_log(struct allo_live_dataset *live)
{
	live->is_open = false;
	allo_log_builder_free(live->builder);
	live->builder = NULL;
	allo_change_log_done(&live->dataset.log);
	allo_events_close(&live->events);
	allo_recording_close(&live->recording);
	live->events = (struct allo_events){ 0 };
	live->recording = (struct allo_recording){ 0 };
}

static bool open_log(struct allo_live_dataset *live, struct allo_error *err)
{
	close_log(live);
	if (!allo_growing_events_open(&live->events, &live->recording, live->path, NULL, err))
		return false;
	/* All events of a process that was killed are there, and its time has ended. */
	if (!live->dataset.growth.is_growing)
		live->events.until_ns = UINT64_MAX;
	live->builder = allo_log_builder_new(&live->dataset.log, &live->recording, err);
	return live->builder && allo_log_builder_step(live->builder, &live->events, err);
}

/* Whether the log can go on.  If not, it is made anew: the builder decides at its start whether
 * sites have labels, streams have indexes, and events_open() adds the marks of other processes. */
static bool can_continue(const struct allo_live_dataset *live)
{
	return allo_events_are_in_place(&live->events) &&
	       allo_recording_has_labels(&live->recording) == live->shape.has_labels &&
	       live->recording.outside_marks.len == live->shape.outside_marks;
}

static bool continue_log(struct allo_live_dataset *live, struct allo_error *err)
{
	if (!allo_growing_events_step(&live->events, err))
		return false;
	return can_continue(live) ? allo_log_builder_step(live->builder, &live->events, err)
				  : open_log(live, err);
}

/* The profile. */

static struct allo_live_shape shape_of(const struct allo_live_dataset *live,
				       const struct allo_summary *summary)
{
	const struct allo_recording *recording = &live->recording;
	const struct allo_change_log *log = &live->dataset.log;

	return (struct allo_live_shape){ .nodes = recording->nodes.len,
					 .modules = recording->modules.len,
					 .sites = log->sites.len,
					 .site_numbers = log->site_count,
					 .outside_marks = recording->outside_marks.len,
					 .has_labels = allo_recording_has_labels(recording),
					 .has_own_events = summary->own_events > 0,
					 .is_growing = live->dataset.growth.is_growing };
}

static bool same_shape(const struct allo_live_shape *a, const struct allo_live_shape *b)
{
	return a->nodes == b->nodes && a->modules == b->modules && a->sites == b->sites &&
	       a->site_numbers == b->site_numbers && a->outside_marks == b->outside_marks &&
	       a->has_labels == b->has_labels && a->has_own_events == b->has_own_events &&
	       a->is_growing == b->is_growing;
}

/* All stacks get a number, in the order of the file, and not only those that have allocated: so
 * frames, and with them calls, keep their numbers while the recording grows. */
static bool make_profile(struct allo_live_dataset *live, const struct allo_heap *heap,
			 const struct allo_source_options *options, struct allo_profile *profile,
			 allo_stack_id **stacks, struct allo_error *err)
{
	size_t count = live->recording.nodes.len;
	ALLO_DEFER(allo_free_pointer) bool *nodes = malloc(count + 1);
	const struct allo_replay replay = { .heap = heap,
					    .heap_events = live->dataset.log.event_count,
					    .nodes = nodes,
					    .stacks = stacks };

	if (!nodes)
		return allo_fail_memory(err);
	memset(nodes, true, count);
	profile->meta.format = allo_read_allo.name;
	profile->meta.has_addresses = allo_read_allo.has_addresses;
	if (!allo_profile_from_recording(profile, &live->recording, &replay, NULL, err) ||
	    !allo_add_names_once(&live->names, options, profile, err))
		return false;
	/* The recording of a running process has no end yet. */
	if (live->dataset.growth.is_growing)
		profile->notes.of[ALLO_NOTE_KILLED].count = 0;
	return true;
}

static bool same_text(const struct allo_profile *a, allo_string_id in_a,
		      const struct allo_profile *b, allo_string_id in_b)
{
	return allo_text_equal(allo_profile_text(a, in_a), allo_profile_text(b, in_b));
}

/* Whether two frames have calls of the same names. */
static bool same_calls(const struct allo_profile *a, const struct allo_profile *b, size_t frame)
{
	const struct allo_frame *in_a = &a->frames.at[frame], *in_b = &b->frames.at[frame];

	if (in_a->address != in_b->address || in_a->line_count != in_b->line_count ||
	    !same_text(a, a->modules.at[in_a->module].path, b, b->modules.at[in_b->module].path))
		return false;
	for (uint32_t i = 0; i < in_a->line_count; i++) {
		const struct allo_function *of_a =
			&a->functions.at[a->lines.at[in_a->first_line + i].function];
		const struct allo_function *of_b =
			&b->functions.at[b->lines.at[in_b->first_line + i].function];

		if (!same_text(a, of_a->name, b, of_b->name) ||
		    !same_text(a, of_a->file, b, of_b->file))
			return false;
	}
	return true;
}

/* A name that was found late changes the numbers of calls. */
static bool has_kept_numbers(const struct allo_live_dataset *live,
			     const struct allo_profile *profile)
{
	if (profile->frames.len < live->frames)
		return false;
	for (size_t i = 1; i < live->frames; i++) {
		if (!same_calls(&live->dataset.profile, profile, i))
			return false;
	}
	return true;
}

static bool renew(struct allo_live_dataset *live, const struct allo_heap *heap,
		  const struct allo_source_options *options, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	allo_stack_id *stacks = NULL;

	if (!make_profile(live, heap, options, &profile, &stacks, err)) {
		free(stacks);
		return false;
	}
	if (!has_kept_numbers(live, &profile))
		live->dataset.growth.generation++;
	live->frames = profile.frames.len;
	return allo_dataset_renew(&live->dataset, &profile, &live->recording, stacks, err);
}

/* Shows the log as it is now. */
static bool show(struct allo_live_dataset *live, const struct allo_source_options *options,
		 struct allo_error *err)
{
	ALLO_DEFER(allo_heap_done) struct allo_heap heap = { 0 };
	const struct allo_heap_options whole = { 0 };
	struct allo_dataset *dataset = &live->dataset;
	struct allo_live_shape shape;
	uint64_t events;

	if (!allo_change_log_heap(&dataset->log, &whole, &heap, &events, err))
		return false;
	allo_summary_of_blocks(&dataset->summary, &live->recording, &heap.blocks, events);
	dataset->summary.peak_ns = allo_window_peak_ns(&whole.window, &live->recording,
						       dataset->summary.peak_bytes,
						       dataset->summary.peak_ns);
	shape = shape_of(live, &dataset->summary);
	if (live->is_open && same_shape(&shape, &live->shape)) {
		allo_dataset_forget_ranges(dataset);
		return true;
	}
	live->shape = shape;
	return renew(live, &heap, options, err);
}

static bool finish_step(struct allo_live_dataset *live, const struct allo_source_options *options,
			bool ok, struct allo_error *err)
{
	live->is_open = ok && show(live, options, err);
	if (!live->is_open)
		close_log(live);
	return live->is_open;
}

/* Whether a path leads to the file that is open. */
static bool is_open_file(const struct allo_live_dataset *live, const char *file)
{
	struct stat now, opened;

	return live->fd > 0 && stat(file, &now) == 0 && fstat(live->fd - 1, &opened) == 0 &&
	       now.st_dev == opened.st_dev && now.st_ino == opened.st_ino;
}

static bool open_file(struct allo_live_dataset *live, const char *file, struct allo_error *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return allo_fail_errno(err, file, "open the recording");
	close_log(live);
	if (live->fd > 0)
		close(live->fd - 1);
	live->fd = fd + 1;
	snprintf(live->path, sizeof(live->path), "/proc/self/fd/%d", fd);
	snprintf(live->file, sizeof(live->file), "%s", file);
	live->dataset.name = live->file;
	live->dataset.growth.generation++;
	live->frames = 0;
	return true;
}

bool allo_live_dataset_step(struct allo_live_dataset *live, const char *file, uint64_t start_ns,
			    const struct allo_source_options *options, struct allo_error *err)
{
	bool is_same = start_ns == live->start_ns && is_open_file(live, file);

	live->dataset.growth.is_growing = true;
	if (is_same && live->is_open)
		return finish_step(live, options, continue_log(live, err), err);
	if (!is_same && !open_file(live, file, err))
		return false;
	live->start_ns = start_ns;
	return finish_step(live, options, open_log(live, err), err);
}

bool allo_live_dataset_end(struct allo_live_dataset *live,
			   const struct allo_source_options *options, struct allo_error *err)
{
	if (!live->is_open || !live->dataset.growth.is_growing)
		return live->is_open;
	live->dataset.growth.is_growing = false;
	/* The end of a recording makes its clock more exact: all times change a little. */
	return finish_step(live, options, open_log(live, err), err);
}
