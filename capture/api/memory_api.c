/* memory_api.c - snapshots and metrics of this process's memory: see allo.h. */
#include "capture/api/memory_api.h"
#include "base/assert.h"
#include "capture/api/last_error.h"
#include "capture/control/allocator_stats.h"
#include "capture/control/allocator_stats_proxy.h"
#include "capture/counts.h"
#include "capture/file/recorder.h"
#include "capture/process.h"
#include "capture/session.h"
#include "capture/settings.h"
#include "capture/spin.h"
#include "telemetry/metric_table.h"
#include "telemetry/metrics.h"
#include "telemetry/snapshots.h"

#include <errno.h>

/* The state of snapshots, in memory that is empty in a child after fork(). */
static struct memory_state {
	uint32_t is_locked;
	struct allo_snapshots shots;
	struct allo_memory_snapshot snapshot; /* scratch space of allo_metrics_as() */
} * state;

/* Locks the state, which it creates if needed.  False if out of memory. */
static bool lock(void)
{
	struct memory_state *none = NULL, *made;

	allo_process_init();
	if (!__atomic_load_n(&state, __ATOMIC_ACQUIRE)) {
		made = allo_map_private(sizeof(*made));
		if (!made)
			return allo_set_error("out of memory for a snapshot");
		if (!__atomic_compare_exchange_n(&state, &none, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			allo_unmap(made, sizeof(*made));
	}
	allo_spin_lock(&state->is_locked);
	if (!state->shots.root)
		allo_snapshots_init(&state->shots, "", 0);
	return true;
}

static void unlock(void)
{
	allo_spin_unlock(&state->is_locked);
}

/* Reads the statistics.  Returns the reason if there are none, else "". */
static const char *read_heap(struct allo_heap_memory *heap)
{
	struct allo_heap_stats stats;

	if (!allo_session_records())
		return "nothing is being recorded";
	if (!allo_settings.has_stats || !allo_get_heap_stats(&stats))
		return "heap statistics are off";
	/* The counts then miss the program's allocations. */
	if (allo_allocator_is_interposed())
		return "another library interposes malloc before this one";
	heap->alloc_bytes = stats.total_bytes;
	heap->alloc_blocks = stats.total_blocks;
	heap->live_bytes = (uint64_t)stats.current_bytes;
	heap->live_blocks = (uint64_t)stats.current_blocks;
	heap->freed_bytes = stats.total_bytes - heap->live_bytes;
	heap->freed_blocks = stats.total_blocks - heap->live_blocks;
	heap->peak_bytes = stats.peak_bytes;
	heap->peak_blocks = stats.peak_blocks;
	return "";
}

static void read_profiler(struct allo_profiler_memory *profiler)
{
	const struct allo_wire_head *head = allo_recorder->head;

	profiler->own_bytes = head->counts.own_bytes;
	profiler->lost_pages = head->counts.lost_pages;
	profiler->failed_stacks = head->counts.failed_stacks;
	profiler->cut_stacks = head->counts.cut_stacks;
	if (allo_settings.has_file)
		profiler->recording_bytes = head->slots * ALLO_SLOT_SIZE;
}

/* Reads the numbers of the heap and of this runtime, while the recording cannot end.  Returns the
 * reason for missing ones, else "". */
static const char *read_runtime(struct allo_memory_snapshot *snapshot)
{
	const char *why;

	if (!allo_session_try_hold())
		return "a recording is starting or stopping";
	snapshot->profiler.is_recording = allo_session_records();
	if (snapshot->profiler.is_recording)
		read_profiler(&snapshot->profiler);
	why = read_heap(&snapshot->heap);
	allo_session_let_go();
	return why;
}

/* Adds the sources that only the process itself can read. */
static void add_inside(unsigned walks, struct allo_memory_snapshot *snapshot)
{
	uint64_t begin_ns = allo_monotonic_ns(), then_ns;
	const char *why = allo_allocator_read(walks & ALLO_WALK_ARENAS, &snapshot->allocator);

	then_ns = allo_monotonic_ns();
	allo_snapshot_add_source(snapshot, "allocator", then_ns - begin_ns, why);
	why = read_runtime(snapshot);
	allo_snapshot_add_source(snapshot, "heap", allo_monotonic_ns() - then_ns, why);
}

/* Takes a snapshot, with the lock. */
static bool take(unsigned walks, struct allo_memory_snapshot *snapshot)
{
	int before = errno;
	bool ok = allo_snapshots_take(&state->shots, walks, snapshot);

	if (ok)
		add_inside(walks, snapshot);
	else
		allo_set_error("/proc/self/status: ", snapshot->sources[0].why);
	errno = before;
	return ok;
}

bool allo_get_memory_snapshot_walked(struct allo_memory_snapshot *snapshot, unsigned walks)
{
	bool ok;

	if (!lock()) {
		allo_snapshot_init(snapshot);
		return false;
	}
	ok = take(walks, snapshot);
	unlock();
	return ok;
}

bool allo_get_memory_snapshot(struct allo_memory_snapshot *snapshot)
{
	return allo_get_memory_snapshot_walked(snapshot, 0);
}

size_t allo_metrics_as(enum allo_metrics_format format, unsigned walks, char *text, size_t room)
{
	struct allo_text_buffer draft = { text, room, 0 };
	size_t len = 0;

	if (!lock())
		return 0;
	if (take(walks, &state->snapshot)) {
		const struct allo_metrics_of process = { &state->snapshot, "" };

		if (format == ALLO_METRICS_JSON)
			allo_metrics_put_json(&draft, &state->snapshot);
		else
			allo_metrics_put(&draft, format, &process, 1);
		len = allo_buffer_end(&draft);
	}
	unlock();
	return len;
}

size_t allo_metrics_text(char *text, size_t room)
{
	return allo_metrics_as(ALLO_METRICS_PROMETHEUS, 0, text, room);
}

/* Answers to other processes. */

static void add_key(struct allo_message *answer, const char *group, const char *name,
		    const char *value)
{
	char key[64];
	struct allo_text_buffer draft = { key, sizeof(key), 0 };

	allo_buffer_string(&draft, group);
	allo_buffer_string(&draft, ".");
	allo_buffer_string(&draft, name);
	allo_buffer_end(&draft);
	allo_message_add(answer, key, value);
}

static void add_figure(struct allo_message *answer, const struct allo_memory_metric *figure,
		       const struct allo_memory_snapshot *snapshot)
{
	uint64_t number = allo_memory_metric_value(snapshot, figure);
	char digits[24];
	struct allo_text_buffer draft = { digits, sizeof(digits), 0 };

	if (number == ALLO_UNKNOWN)
		return;
	allo_buffer_u64(&draft, number);
	allo_buffer_end(&draft);
	add_key(answer, figure->group, figure->name, digits);
}

static void add_text(struct allo_message *answer, const char *group, const char *name,
		     const char *text)
{
	if (text[0])
		add_key(answer, group, name, text);
}

void allo_memory_answer(struct allo_message *answer)
{
	struct allo_memory_snapshot *snapshot = allo_map_private(sizeof(*snapshot));

	if (!snapshot)
		return;
	allo_snapshot_init(snapshot);
	add_text(answer, "allocator", "why", allo_allocator_proxy_read(&snapshot->allocator));
	add_text(answer, "allocator", "name", snapshot->allocator.name);
	add_text(answer, "allocator", "version", snapshot->allocator.version);
	add_text(answer, "heap", "why", read_runtime(snapshot));
	/* The numbers of other sources are unknown here, and unknown ones are skipped. */
	for (const struct allo_memory_metric *figure = allo_memory_metrics; figure->group;
	     figure++) {
		if (figure->name)
			add_figure(answer, figure, snapshot);
	}
	allo_unmap(snapshot, sizeof(*snapshot));
}
