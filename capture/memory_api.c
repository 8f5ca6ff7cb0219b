/* memory_api.c - the memory of this process, as a snapshot and as metrics: see allo.h. */
#include "capture/memory_api.h"
#include "capture/allocator_stats.h"
#include "capture/allocator_stats_proxy.h"
#include "capture/counts.h"
#include "capture/last_error.h"
#include "capture/process.h"
#include "capture/recorder.h"
#include "capture/session.h"
#include "capture/settings.h"
#include "capture/spin.h"
#include "telemetry/metric_table.h"
#include "telemetry/metrics.h"
#include "telemetry/snapshots.h"

#include <errno.h>

/* In memory that a child made by fork finds empty. */
static struct own_memory {
	uint32_t is_locked;
	struct allo_snapshots shots;
	struct allo_memory_snapshot snapshot; /* that a text is made of */
} * own;

/* False when there is no memory. */
static bool lock(void)
{
	struct own_memory *none = NULL, *made;

	allo_process_init();
	if (!__atomic_load_n(&own, __ATOMIC_ACQUIRE)) {
		made = allo_map_private(sizeof(*made));
		if (!made)
			return allo_set_error("there is no memory to take a snapshot with");
		if (!__atomic_compare_exchange_n(&own, &none, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			allo_unmap(made, sizeof(*made));
	}
	allo_spin_lock(&own->is_locked);
	if (!own->shots.root)
		allo_snapshots_init(&own->shots, "", 0);
	return true;
}

static void unlock(void)
{
	allo_spin_unlock(&own->is_locked);
}

/* What was seen of blocks.  Returns why nothing was; "" if it was. */
static const char *tell_heap(struct allo_heap_memory *heap)
{
	struct allo_heap_stats stats;

	if (!allo_session_records())
		return "nothing is being recorded";
	if (!allo_settings.has_stats || !allo_get_heap_stats(&stats))
		return "no statistics are kept of blocks";
	/* What is counted is not what the program does then. */
	if (allo_allocator_is_interposed())
		return "another library's malloc stands in front of this one's";
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

static void tell_profiler(struct allo_profiler_memory *profiler)
{
	const struct allo_wire_head *head = allo_recorder->head;

	profiler->own_bytes = head->counts.own_bytes;
	profiler->lost_blocks = head->counts.lost_blocks;
	profiler->failed_stacks = head->counts.failed_stacks;
	profiler->cut_stacks = head->counts.cut_stacks;
	if (allo_settings.has_file)
		profiler->recording_bytes = head->slots * ALLO_SLOT_SIZE;
}

/* A recording that ends takes its figures with it. */
static const char *tell_own(struct allo_memory_snapshot *snapshot)
{
	const char *why;

	if (!allo_session_try_hold())
		return "a recording begins or ends just now";
	snapshot->profiler.is_recording = allo_session_records();
	if (snapshot->profiler.is_recording)
		tell_profiler(&snapshot->profiler);
	why = tell_heap(&snapshot->heap);
	allo_session_let_go();
	return why;
}

static void add_inside(unsigned walks, struct allo_memory_snapshot *snapshot)
{
	uint64_t begin_ns = allo_monotonic_ns(), then_ns;
	const char *why = allo_allocator_read(walks & ALLO_WALK_ARENAS, &snapshot->allocator);

	then_ns = allo_monotonic_ns();
	allo_snapshot_add_source(snapshot, "allocator", then_ns - begin_ns, why);
	why = tell_own(snapshot);
	allo_snapshot_add_source(snapshot, "heap", allo_monotonic_ns() - then_ns, why);
}

static bool take(unsigned walks, struct allo_memory_snapshot *snapshot)
{
	int before = errno;
	bool ok = allo_snapshots_take(&own->shots, walks, snapshot);

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
	if (take(walks, &own->snapshot)) {
		const struct allo_metrics_of process = { &own->snapshot, "" };

		if (format == ALLO_METRICS_JSON)
			allo_metrics_put_json(&draft, &own->snapshot);
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

/* For others. */

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
	add_text(answer, "heap", "why", tell_own(snapshot));
	/* What is not told of here is not known. */
	for (const struct allo_memory_metric *figure = allo_memory_metrics; figure->group;
	     figure++) {
		if (figure->name)
			add_figure(answer, figure, snapshot);
	}
	allo_unmap(snapshot, sizeof(*snapshot));
}
