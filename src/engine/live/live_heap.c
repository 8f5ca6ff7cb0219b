/* live_heap.c - follows a recording and keeps numbers per stack; see live_heap.h. */
#include "engine/live/live_heap.h"

#include "base/assert.h"
#include "base/defer.h"
#include "engine/live/snapshot.h"
#include "replay/recording_profile.h"
#include "telemetry/monotonic_clock.h"
#include "writers/writers.h"

#include <sys/stat.h>

/* Numbers by stack. */

size_t allo_live_heap_stack_count(const struct allo_live_heap *heap)
{
	return heap->file ? heap->follow.recording.nodes.len : 0;
}

/* Sampled blocks count with their weights. */
static struct allo_live_sum estimate(const struct allo_weighed_site *site)
{
	return (struct allo_live_sum){ .live_bytes = allo_parts_round(site->live.bytes),
				       .live_blocks = allo_parts_round(site->live.blocks),
				       .alloc_bytes = allo_parts_round(site->alloc.bytes),
				       .alloc_blocks = allo_parts_round(site->alloc.blocks) };
}

static struct allo_live_sum current(const struct allo_live_heap *heap, size_t stack)
{
	const struct allo_heap *counted = &heap->follow.heap;
	const struct allo_site *site = &counted->sites[stack];

	ALLO_ASSERT(stack < counted->blocks.stack_count);
	if (counted->weighed)
		return estimate(&counted->weighed[stack]);
	return (struct allo_live_sum){ .live_bytes = site->live_bytes,
				       .live_blocks = site->live_blocks,
				       .alloc_bytes = site->alloc_bytes,
				       .alloc_blocks = counted->blocks.made[stack] };
}

struct allo_live_sum allo_live_heap_stack(const struct allo_live_heap *heap, size_t stack)
{
	struct allo_live_sum sum = current(heap, stack);

	if (stack < heap->earlier_blocks.len)
		sum.earlier_blocks = heap->earlier_blocks.at[stack];
	if (stack < heap->marked_bytes.len)
		sum.marked_bytes = heap->marked_bytes.at[stack];
	return sum;
}

static bool keep_earlier(struct allo_live_heap *heap, struct allo_error *err)
{
	size_t count = allo_live_heap_stack_count(heap);

	if (!allo_vec_extend(&heap->earlier_blocks, count, err))
		return false;
	for (size_t i = 0; i < count; i++)
		heap->earlier_blocks.at[i] = current(heap, i).alloc_blocks;
	return true;
}

bool allo_live_heap_mark(struct allo_live_heap *heap, struct allo_error *err)
{
	size_t count = allo_live_heap_stack_count(heap);

	if (!allo_vec_extend(&heap->marked_bytes, count, err))
		return false;
	for (size_t i = 0; i < count; i++)
		heap->marked_bytes.at[i] = current(heap, i).live_bytes;
	heap->mark = heap->now;
	return true;
}

/* The heap. */

static void drop_recording(struct allo_live_heap *heap)
{
	allo_vec_done(&heap->earlier_blocks);
	allo_vec_done(&heap->marked_bytes);
	allo_follow_close(&heap->follow);
	heap->now = heap->mark = (struct allo_live_look){ 0 };
}

void allo_live_heap_close(struct allo_live_heap *heap)
{
	drop_recording(heap);
	allo_recorded_processes_done(&heap->list);
}

static bool open_file(struct allo_live_heap *heap, const char *file, const struct allo_host *host,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_host_end) struct allo_host_progress progress = { 0 };

	heap->file = file;
	heap->recordings++;
	return allo_follow_open(&heap->follow, file,
				allo_host_begin(&progress, host, "replaying", NULL), err);
}

static bool open_process(struct allo_live_heap *heap, const struct allo_host *host,
			 struct allo_error *err)
{
	struct allo_snapshot snapshot;

	heap->file = NULL;
	if (!heap->process.file[0] && heap->process.has_stats)
		return true;
	if (!allo_snapshot_of(&snapshot, &heap->list, &heap->process, &heap->options, NULL, err))
		return false;
	heap->options.symbols.places.root = snapshot.source.symbols.places.root;
	return open_file(heap, snapshot.file, host, err);
}

bool allo_live_heap_open(struct allo_live_heap *heap, const struct allo_source_options *options,
			 const char *name, struct allo_error *err)
{
	struct stat status;

	*heap = (struct allo_live_heap){ .options = *options };
	heap->options.host = NULL; /* notes would spoil the caller's screen */
	if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
		return open_file(heap, name, options->host, err);
	return allo_recorded_process_find(&heap->list, name, &heap->process, err) &&
	       open_process(heap, options->host, err);
}

bool allo_live_heap_check(struct allo_live_heap *heap, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	struct allo_error failure = { 0 };
	struct allo_recorded_process now;

	if (heap->process.pid == 0)
		return true;
	if (!allo_recorded_process_find_again(&list, &heap->process, &now, &failure) ||
	    strcmp(now.state, "dormant") == 0) {
		heap->has_ended = true;
		return true;
	}
	if (now.is_silent || strcmp(now.file, heap->process.file) == 0)
		return true;
	drop_recording(heap);
	return allo_recorded_process_find_again(&heap->list, &heap->process, &now, err) &&
	       (heap->process = now, open_process(heap, NULL, err));
}

static struct allo_live_look count_heap(const struct allo_live_heap *heap, uint64_t ns)
{
	const struct allo_live_blocks *blocks = &heap->follow.heap.blocks;
	struct allo_block_totals totals = allo_live_blocks_totals(blocks);

	return (struct allo_live_look){
		.ns = ns,
		.counts = { .total_blocks = totals.allocations,
			    .total_bytes = totals.total_bytes,
			    .live_blocks = totals.blocks,
			    .live_bytes = totals.bytes,
			    .peak_blocks = totals.peak_blocks,
			    .peak_bytes = totals.peak_bytes,
			    .is_estimated = allo_is_sampled(&blocks->weighing) },
		.has_frees = true,
		.frees = totals.frees,
	};
}

/* Takes the numbers of the present; a failure leaves the earlier ones. */
static bool look_now(struct allo_live_heap *heap, struct allo_error *err)
{
	bool is_first = heap->now.ns == 0; /* open_file() has replayed the events so far */
	struct allo_live_look now = { .ns = allo_clock_ns() };

	if (!heap->file) {
		if (!allo_heap_counts_ask(&heap->process, &now.counts, err))
			return false;
	} else {
		if (!is_first &&
		    (!keep_earlier(heap, err) || !allo_follow_step(&heap->follow, err)))
			return false;
		now = count_heap(heap, now.ns);
		heap->has_ended |= heap->process.pid == 0 &&
				   heap->follow.recording.head.end != ALLO_END_NONE;
	}
	heap->before = heap->now;
	heap->now = now;
	return true;
}

bool allo_live_heap_look(struct allo_live_heap *heap, struct allo_error *err)
{
	return look_now(heap, err) && (heap->mark.ns != 0 || allo_live_heap_mark(heap, err));
}

uint64_t allo_live_heap_rate(const struct allo_live_heap *heap, uint64_t now, uint64_t before)
{
	uint64_t from = heap->before.ns ? heap->before.ns : heap->process.start_ns;
	double seconds = (double)(heap->now.ns - from) / ALLO_SECOND_NS;

	if (from == 0 || heap->now.ns <= from || now <= before)
		return 0;
	return (uint64_t)((double)(now - before) / seconds + 0.5);
}

bool allo_live_heap_write(struct allo_live_heap *heap, const char *path, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile profile = { .meta = { .format = allo_read_allo.name,
						  .has_addresses = allo_read_allo.has_addresses } };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_replay replay = { .at = ALLO_AT_NOW, .heap = &heap->follow.heap };
	char *sources[] = { (char *)heap->file, NULL };
	const struct allo_output_options options = { .packing = ALLO_GZIP, .sources = sources };
	const struct allo_writer *writer = allo_writer_find("pprof", err);

	if (!writer ||
	    !allo_profile_from_recording(&profile, &heap->follow.recording, &replay, NULL, err))
		return false;
	allo_set_moment(&profile);
	return (heap->options.no_symbols || allo_add_names(&heap->options, &profile, NULL, err)) &&
	       allo_output_open(&out, path, &options, err) &&
	       allo_write(writer, &profile, NULL, &out, NULL, err) && allo_output_finish(&out, err);
}
