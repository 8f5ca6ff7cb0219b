/* follow.c - reads events up to the present of the process, on the clock of the recording. */
#include "replay/follow.h"

#include "base/assert.h"

#include <time.h>

/* The processor's counter, from which most recordings take their times. */
static uint64_t counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

static struct allo_wire_moment present(void)
{
	struct timespec now;
	uint64_t ticks = counter();

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct allo_wire_moment){ ticks, (uint64_t)now.tv_sec * 1000000000 +
							 (uint64_t)now.tv_nsec };
}

/* Whether a clock that shows `ticks` may be the one that was expected to show `expected`. */
static bool is_near(uint64_t ticks, double expected, double tolerance)
{
	double distance = (double)ticks - expected;

	return distance < tolerance && distance > -tolerance;
}

/* The present on the clock of events.  The head relates this clock to the monotonic one, but its
 * last pair of times may be long ago, and the recorded thread may have been preempted between the
 * two readings.  So this is the processor's counter, or the monotonic clock, if it agrees with the
 * head.  UINT64_MAX if the clocks cannot be compared: the file is from another machine or boot. */
static uint64_t events_clock(const struct allo_recording *recording, struct allo_tick_scale scale,
			     struct allo_wire_moment now)
{
	const struct allo_wire_moment *first = &recording->head.first;
	const struct allo_wire_moment *last = &recording->head.last;
	uint64_t known_ns = last->monotonic_ns - first->monotonic_ns;
	uint64_t known_ticks = last->ticks - first->ticks;
	double rate, ticks, tolerance;

	if (recording->head.end != ALLO_END_NONE || (int64_t)known_ns <= 0 ||
	    (int64_t)known_ticks <= 0 || now.monotonic_ns < last->monotonic_ns)
		return UINT64_MAX;
	rate = (double)known_ticks / (double)known_ns;
	ticks = (double)(now.monotonic_ns - last->monotonic_ns) * rate;
	if (ticks > (double)(UINT64_MAX / 4))
		return UINT64_MAX;
	tolerance = rate * 1e9 + ticks / 16; /* one second, and the error of a short measurement */
	ticks += (double)last->ticks;
	if (now.ticks >= last->ticks && is_near(now.ticks, ticks, tolerance))
		return allo_ticks_to_ns(scale, now.ticks);
	if (now.monotonic_ns >= last->ticks && is_near(now.monotonic_ns, ticks, tolerance))
		return allo_ticks_to_ns(scale, now.monotonic_ns);
	return allo_ticks_to_ns(scale, (uint64_t)ticks);
}

/* The first label may come long after the first event. */
static bool begin_labels(struct allo_follow *follow, struct allo_error *err)
{
	return !follow->by_labels || follow->heap.ids ||
	       !allo_recording_has_labels(&follow->recording) ||
	       allo_heap_tell_labels(&follow->heap, err);
}

static bool take_events(struct allo_follow *follow, struct allo_error *err)
{
	struct allo_heap *heap = &follow->heap;
	struct allo_event_span span;

	if (!begin_labels(follow, err))
		return false;
	while (allo_events_next(&follow->events, &span, err)) {
		if (heap->ids &&
		    !allo_heap_number_sites(heap, &span, follow->recording.nodes.len, err))
			return false;
		if (!allo_heap_apply(heap, &span, err))
			return false;
	}
	return !allo_failed(err);
}

bool allo_growing_events_open(struct allo_events *events, struct allo_recording *recording,
			      const char *path, const struct allo_progress *progress,
			      struct allo_error *err)
{
	struct allo_wire_moment now = present();

	if (!allo_recording_open_file(recording, path, progress, err))
		return false;
	if (recording->is_packed)
		return allo_fail(
			err, ALLO_USAGE, (struct allo_pos){ .file = path },
			"the recording has ended, and does not grow; 'allo summary' shows it");
	if (!allo_events_open(events, recording, err))
		return false;
	events->follows = true;
	events->until_ns = events_clock(recording, events->scale, now);
	return true;
}

bool allo_growing_events_step(struct allo_events *events, struct allo_error *err)
{
	struct allo_wire_moment now = present();

	if (!allo_recording_refresh(events->recording, err) || !allo_events_resume(events, err))
		return false;
	events->until_ns = events_clock(events->recording, events->scale, now);
	return true;
}

bool allo_follow_open(struct allo_follow *follow, const char *path,
		      const struct allo_progress *progress, struct allo_error *err)
{
	*follow = (struct allo_follow){ .by_labels = follow->by_labels };
	if (!allo_growing_events_open(&follow->events, &follow->recording, path, progress, err) ||
	    !allo_heap_init(&follow->heap, &follow->recording, err) || !begin_labels(follow, err) ||
	    !allo_heap_add_earlier(&follow->heap, &follow->recording, err) ||
	    !take_events(follow, err))
		return false;
	follow->recording.progress = NULL; /* later steps are short */
	return true;
}

bool allo_follow_step(struct allo_follow *follow, struct allo_error *err)
{
	if (!allo_growing_events_step(&follow->events, err) ||
	    !allo_heap_grow(&follow->heap, &follow->recording, follow->events.streams, err))
		return false;
	ALLO_ASSERT(follow->events.streams <= follow->heap.blocks.stream_count);
	return take_events(follow, err);
}

void allo_follow_close(struct allo_follow *follow)
{
	allo_events_close(&follow->events);
	allo_heap_done(&follow->heap);
	allo_recording_close(&follow->recording);
	*follow = (struct allo_follow){ 0 };
}
