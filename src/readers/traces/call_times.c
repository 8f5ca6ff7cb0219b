/* call_times.c - keeps the open calls of each thread and adds a sample whenever they change. */
#include "readers/traces/call_times.h"

#include "base/assert.h"

bool allo_call_times_init(struct allo_call_times *times, struct allo_error *err)
{
	/* Sums are not drained before the end, so equal stacks must be found. */
	times->profile->is_portion &= times->options->wants_times;
	return allo_profile_add_metric(times->profile, ALLO_WALL, NULL, err);
}

void allo_call_times_done(struct allo_call_times *times)
{
	for (size_t i = 0; i < times->tracks.len; i++) {
		allo_vec_done(&times->tracks.at[i].frames);
		allo_vec_done(&times->tracks.at[i].stacks);
	}
	allo_vec_done(&times->tracks);
}

uint64_t allo_call_times_now(const struct allo_call_times *times, allo_thread_id thread)
{
	return thread < times->tracks.len ? times->tracks.at[thread].now : 0;
}

size_t allo_call_times_depth(const struct allo_call_times *times, allo_thread_id thread)
{
	return thread < times->tracks.len ? times->tracks.at[thread].frames.len : 0;
}

/* The stack of all open calls, of which there is at least one; 0 when memory is short. */
static allo_stack_id stack_of(struct allo_call_times *times, struct allo_call_track *track,
			      struct allo_error *err)
{
	size_t depth = track->frames.len, known = track->stack_count;

	if (track->portion != times->portion)
		known = 0; /* the profile has dropped the stacks */
	track->stacks.len = known;
	if (!allo_vec_reserve(&track->stacks, depth - known)) {
		allo_fail_memory(err);
		return 0;
	}
	if (!allo_profile_add_stacks(times->profile, known ? track->stacks.at[known - 1] : 0,
				     track->frames.at + known, depth - known,
				     track->stacks.at + known, err))
		return 0;
	ALLO_ASSERT(known <= depth);
	track->stack_count = depth;
	track->portion = times->portion;
	return track->stacks.at[depth - 1];
}

static bool drain(struct allo_call_times *times, struct allo_error *err)
{
	const struct allo_drain *to = times->options->drain;

	if (!to || allo_profile_sample_count(times->profile) < ALLO_PORTION_SAMPLES)
		return true;
	if (!to->take(to->context, times->profile, err))
		return false;
	allo_profile_clear_samples(times->profile);
	times->portion++;
	return true;
}

static bool add_timed(struct allo_call_times *times, allo_thread_id thread, allo_stack_id stack,
		      uint64_t duration_ns, struct allo_error *err)
{
	const struct allo_call_track *track = &times->tracks.at[thread];
	struct allo_when when = { .start_ns = track->now,
				  .duration_ns = duration_ns,
				  .thread = thread,
				  .going_on = (uint32_t)track->going_on + 1 };
	uint64_t *row = allo_profile_add_timed_sample(times->profile, stack, 0, &when, err);

	if (!row)
		return false;
	row[0] = duration_ns;
	return drain(times, err);
}

static bool add_up(struct allo_call_times *times, allo_thread_id thread, allo_stack_id stack,
		   uint64_t duration_ns, struct allo_error *err)
{
	allo_labels_id labels = 0;
	uint64_t *row;

	if (times->options->by_thread)
		labels = allo_seen_thread_labels(times->threads, thread, err);
	row = allo_profile_add_sample(times->profile, stack, labels, NULL, err);
	if (!row)
		return false;
	allo_profile_add_value(times->profile, 0, &row[0], duration_ns);
	return true;
}

/* Adds the time since the thread's last event to the open calls. */
static bool add_sample(struct allo_call_times *times, allo_thread_id thread, uint64_t time_ns,
		       struct allo_error *err)
{
	struct allo_call_track *track = &times->tracks.at[thread];
	uint64_t duration_ns = time_ns - track->now;
	allo_stack_id stack = stack_of(times, track, err);

	if (stack == 0 ||
	    !(times->options->wants_times ? add_timed(times, thread, stack, duration_ns, err)
					  : add_up(times, thread, stack, duration_ns, err)))
		return false;
	track->going_on = track->frames.len;
	return true;
}

static void see_time(struct allo_call_times *times, uint64_t time_ns)
{
	if (!times->has_begun || time_ns < times->first_ns)
		times->first_ns = time_ns;
	if (time_ns > times->last_ns)
		times->last_ns = time_ns;
	times->has_begun = true;
}

bool allo_call_times_begin(struct allo_call_times *times, allo_thread_id thread,
			   allo_frame_id frame, uint64_t time_ns, struct allo_error *err)
{
	struct allo_call_track *track;

	if (!allo_vec_cover(&times->tracks, (size_t)thread + 1))
		return allo_fail_memory(err);
	track = &times->tracks.at[thread];
	ALLO_ASSERT(time_ns >= track->now);
	if (track->frames.len == ALLO_CALLS_DEPTH)
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
				 "more than %d calls are open at once", ALLO_CALLS_DEPTH);
	if (track->frames.len > 0 && time_ns > track->now &&
	    !add_sample(times, thread, time_ns, err))
		return false;
	see_time(times, time_ns);
	track->now = time_ns;
	return allo_vec_append(&track->frames, &frame, 1) || allo_fail_memory(err);
}

bool allo_call_times_end(struct allo_call_times *times, allo_thread_id thread, uint64_t time_ns,
			 struct allo_error *err)
{
	struct allo_call_track *track = &times->tracks.at[thread];

	ALLO_ASSERT(thread < times->tracks.len && track->frames.len > 0 && time_ns >= track->now);
	ALLO_ASSERT(track->going_on <= track->frames.len);
	/* A call that is in no sample yet gets one, even of no duration. */
	if ((time_ns > track->now || track->going_on < track->frames.len) &&
	    !add_sample(times, thread, time_ns, err))
		return false;
	see_time(times, time_ns);
	track->now = time_ns;
	track->frames.len--;
	if (track->going_on > track->frames.len)
		track->going_on = track->frames.len;
	if (track->stack_count > track->frames.len)
		track->stack_count = track->frames.len;
	return true;
}

bool allo_call_times_finish(struct allo_call_times *times, uint64_t *open, struct allo_error *err)
{
	*open = 0;
	for (size_t i = 0; i < times->tracks.len; i++) {
		const struct allo_call_track *track = &times->tracks.at[i];

		for (; track->frames.len > 0; ++*open) {
			if (!allo_call_times_end(times, (allo_thread_id)i, track->now, err))
				return false;
		}
	}
	times->profile->meta.clock = ALLO_CLOCK_NS;
	times->profile->meta.duration = times->last_ns - times->first_ns;
	return true;
}
