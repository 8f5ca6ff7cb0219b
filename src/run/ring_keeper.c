#include "run/ring_keeper.h"

#include "base/threads.h"
#include "replay/ring/compact_ring.h"
#include "report/messages.h"
#include "telemetry/monotonic_clock.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	SHORTEST_MS = 5,
	LONGEST_MS = 500,
	AGAIN_MS = 5000,          /* after a checkpoint that did not fit */
	BYTES_PER_MS = 512 << 10, /* of size: smaller recordings are looked at more often */
};

struct kept {
	char *path;
	pid_t pid;
	struct allo_ring_state state;
	uint64_t used, looked_ns; /* at the last look */
	bool has_failed;
	uint64_t short_bytes; /* the most that has ever been lacking */
};

struct allo_ring_keeper {
	uint64_t keep_ns;
	struct allo_running_thread *thread;
	struct allo_monitor *monitor; /* protects `recordings` and `is_stopping` */
	ALLO_VEC(struct kept *) recordings;
	size_t seen; /* of struct allo_recordings */
	bool is_stopping;
	int wake; /* an eventfd */
};

/* The milliseconds until half of the remaining room before the trigger will be used. */
static unsigned next_look(struct kept *kept, uint64_t now)
{
	const struct allo_ring_state *state = &kept->state;
	uint64_t more = state->used > kept->used ? state->used - kept->used : 0;
	uint64_t left = state->used < state->trigger ? state->trigger - state->used : 0;
	uint64_t ms = state->size / BYTES_PER_MS, took_ms = (now - kept->looked_ns) / 1000000;

	if (ms > LONGEST_MS)
		ms = LONGEST_MS;
	if (more > 0 && left * took_ms / more / 2 < ms)
		ms = left * took_ms / more / 2;
	if (state->keep_ns > 0 && state->keep_ns / 8000000 < ms)
		ms = state->keep_ns / 8000000; /* an eighth */
	kept->used = state->used;
	kept->looked_ns = now;
	return ms < SHORTEST_MS ? SHORTEST_MS : (unsigned)ms;
}

static void say_failure(struct kept *kept, const struct allo_error *err)
{
	if (!kept->has_failed)
		allo_say_note("%s: cannot be kept within its size: %s", kept->path, err->message);
	kept->has_failed = true;
}

/* Looks at a recording, and returns the time until the next look. */
static unsigned look_at(struct kept *kept)
{
	struct allo_error err = { 0 };
	unsigned ms;

	if (!allo_ring_look(kept->path, &kept->state, &err) || kept->state.size == 0)
		return LONGEST_MS;
	if (!allo_ring_is_due(&kept->state))
		return next_look(kept, allo_clock_ns());
	if (!allo_ring_compact(kept->path, &kept->state, &err)) {
		say_failure(kept, &err);
		return AGAIN_MS;
	}
	if (kept->state.short_bytes > kept->short_bytes)
		kept->short_bytes = kept->state.short_bytes;
	if (kept->state.short_bytes > 0)
		return AGAIN_MS;
	ms = next_look(kept, allo_clock_ns());
	return ms > SHORTEST_MS ? SHORTEST_MS : ms;
}

static bool is_stopping(struct allo_ring_keeper *keeper)
{
	bool yes;

	allo_monitor_enter(keeper->monitor);
	yes = keeper->is_stopping;
	allo_monitor_leave(keeper->monitor);
	return yes;
}

/* The recording with a number, or NULL behind the last one. */
static struct kept *recording_at(struct allo_ring_keeper *keeper, size_t i)
{
	struct kept *kept;

	allo_monitor_enter(keeper->monitor);
	kept = i < keeper->recordings.len ? keeper->recordings.at[i] : NULL;
	allo_monitor_leave(keeper->monitor);
	return kept;
}

static bool is_running(const struct kept *kept)
{
	return kept->pid == 0 || kill(kept->pid, 0) == 0;
}

static void *run(void *context)
{
	struct allo_ring_keeper *keeper = context;
	struct pollfd wake = { .fd = keeper->wake, .events = POLLIN };
	uint64_t woken;

	while (!is_stopping(keeper)) {
		unsigned wait_ms = LONGEST_MS;
		struct kept *kept;

		for (size_t i = 0; (kept = recording_at(keeper, i)) != NULL; i++) {
			unsigned ms = is_running(kept) ? look_at(kept) : LONGEST_MS;

			if (ms < wait_ms)
				wait_ms = ms;
		}
		if (poll(&wake, 1, (int)wait_ms) > 0)
			(void)!read(keeper->wake, &woken, sizeof(woken));
	}
	return NULL;
}

static void free_keeper(struct allo_ring_keeper *keeper)
{
	for (size_t i = 0; i < keeper->recordings.len; i++) {
		free(keeper->recordings.at[i]->path);
		free(keeper->recordings.at[i]);
	}
	allo_vec_done(&keeper->recordings);
	allo_monitor_free(keeper->monitor);
	if (keeper->wake >= 0)
		close(keeper->wake);
	free(keeper);
}

struct allo_ring_keeper *allo_ring_keeper_start(uint64_t keep_ns)
{
	struct allo_ring_keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper)
		return NULL;
	keeper->keep_ns = keep_ns;
	keeper->monitor = allo_monitor_new();
	keeper->wake = eventfd(0, EFD_CLOEXEC);
	if (keeper->monitor && keeper->wake >= 0)
		keeper->thread = allo_thread_start(run, keeper);
	if (keeper->thread)
		return keeper;
	free_keeper(keeper);
	return NULL;
}

/* Wakes the thread. */
static void wake_up(const struct allo_ring_keeper *keeper)
{
	const uint64_t one = 1;

	(void)!write(keeper->wake, &one, sizeof(one));
}

static void add(struct allo_ring_keeper *keeper, const struct allo_recorded *recorded)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return;
	kept->path = strdup(recorded->path);
	kept->pid = recorded->pid;
	kept->state.keep_ns = keeper->keep_ns;
	kept->looked_ns = allo_clock_ns();
	allo_monitor_enter(keeper->monitor);
	if (kept->path && allo_vec_append(&keeper->recordings, &kept, 1))
		kept = NULL;
	allo_monitor_leave(keeper->monitor);
	if (kept)
		free(kept->path);
	free(kept);
	wake_up(keeper);
}

void allo_ring_keeper_look(struct allo_ring_keeper *keeper,
			   const struct allo_recordings *recordings)
{
	for (; keeper->seen < recordings->all.len; keeper->seen++) {
		if (recordings->all.at[keeper->seen].path)
			add(keeper, &recordings->all.at[keeper->seen]);
	}
}

void allo_ring_keeper_stop(struct allo_ring_keeper *keeper)
{
	if (!keeper)
		return;
	allo_monitor_enter(keeper->monitor);
	keeper->is_stopping = true;
	allo_monitor_leave(keeper->monitor);
	wake_up(keeper);
	allo_thread_join(keeper->thread);
	for (size_t i = 0; i < keeper->recordings.len; i++) {
		const struct kept *kept = keeper->recordings.at[i];

		if (kept->short_bytes > 0)
			allo_say_note("%s: --ring is too small for its live blocks and sums, which "
				      "need %llu KiB more: events were lost",
				      kept->path,
				      (unsigned long long)(kept->short_bytes + 1023) / 1024);
	}
	free_keeper(keeper);
}
