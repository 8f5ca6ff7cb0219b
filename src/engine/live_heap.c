/* live_heap.c - follows a recording and sums up its live blocks by site; see live_heap.h. */
#include "engine/live_heap.h"

#include "analysis/allocator.h"
#include "base/defer.h"
#include "base/hash.h"
#include "engine/snapshot.h"
#include "profile/naming.h"
#include "replay/recording_stacks.h"
#include "telemetry/monotonic_clock.h"

#include <stdlib.h>
#include <sys/stat.h>

static void sites_done(struct allo_live_sites *sites)
{
	allo_vec_done(&sites->all);
	allo_vec_done(&sites->of_stack);
	allo_map_done(&sites->map);
	allo_arena_done(&sites->arena);
}

/* Names. */

static struct allo_text keep(struct allo_live_sites *sites, struct allo_text text,
			     struct allo_error *err)
{
	const char *kept = allo_arena_copy(&sites->arena, text.data, text.len);

	if (!kept)
		allo_fail_memory(err);
	return (struct allo_text){ kept, text.len };
}

/* The index + 1 of a site; 0 at failure. */
static uint32_t add_site(struct allo_live_sites *sites, struct allo_text name,
			 struct allo_text file, struct allo_error *err)
{
	uint64_t hash = allo_hash_bytes(name.data, name.len,
					allo_hash_bytes(file.data, file.len, allo_hash_seed()));
	struct allo_probe probe = allo_map_probe(&sites->map, hash);
	struct allo_live_site *site;
	uint32_t id;

	while ((id = allo_map_next(&sites->map, &probe)) != 0) {
		if (allo_text_equal(sites->all.at[id - 1].name, name) &&
		    allo_text_equal(sites->all.at[id - 1].file, file))
			return id;
	}
	site = allo_vec_push(&sites->all);
	if (!site) {
		allo_fail_memory(err);
		return 0;
	}
	*site = (struct allo_live_site){ .name = keep(sites, name, err),
					 .file = keep(sites, file, err) };
	id = (uint32_t)sites->all.len;
	if (!allo_map_put(&sites->map, hash, id))
		allo_fail_memory(err);
	return allo_failed(err) ? 0 : id;
}

/* The innermost call that is not an allocator's or, if all are, the innermost. */
static uint32_t site_of(struct allo_live_sites *sites, const struct allo_profile *profile,
			allo_stack_id stack, struct allo_error *err)
{
	struct allo_text name = ALLO_TEXT("(no stack)"), file = ALLO_TEXT("");
	char scratch[2][ALLO_NAME_SCRATCH];
	bool has_any = false;

	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame =
			&profile->frames.at[profile->stacks.at[stack].frame];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			struct allo_text called = allo_call_name(profile, frame, call,
								 scratch[has_any]);
			struct allo_text in = allo_line_file(profile,
							     allo_call_line(profile, frame, call));
			bool is_site = !allo_is_allocator(called, in);

			if (is_site || !has_any) {
				name = called;
				file = allo_basename(in);
			}
			if (is_site)
				return add_site(sites, name, file, err);
			has_any = true;
		}
	}
	return add_site(sites, name, file, err);
}

static bool is_new(const struct allo_live_sites *sites, const struct allo_heap *heap, size_t stack)
{
	return heap->blocks.made[stack] > 0 &&
	       (stack >= sites->of_stack.len || sites->of_stack.at[stack] == 0);
}

/* Names the stacks that appeared since the last look. */
static bool name_new(struct allo_live_sites *sites, struct allo_follow *follow,
		     const struct allo_source_options *options, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { .meta.has_addresses = true };
	ALLO_DEFER(allo_free_pointer) allo_stack_id *stacks = NULL;
	size_t count = follow->recording.nodes.len, wanted = 0;
	ALLO_DEFER(allo_free_pointer) bool *is_wanted = calloc(count + 1, sizeof(*is_wanted));

	if (!is_wanted || !allo_vec_cover(&sites->of_stack, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		is_wanted[i] = is_new(sites, &follow->heap, i);
		wanted += is_wanted[i];
	}
	if (wanted == 0)
		return true;
	if (!allo_recording_add_stacks(&profile, &follow->recording, is_wanted, &stacks, err) ||
	    !allo_add_names(options, &profile, NULL, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_wanted[i])
			continue;
		sites->of_stack.at[i] = site_of(sites, &profile, stacks[i], err);
		if (sites->of_stack.at[i] == 0)
			return false;
	}
	return true;
}

/* Numbers. */

static void add_exact(struct allo_live_site *site, const struct allo_heap *heap, size_t stack)
{
	site->live_bytes += heap->sites[stack].live_bytes;
	site->live_blocks += heap->sites[stack].live_blocks;
	site->alloc_bytes += heap->sites[stack].alloc_bytes;
	site->alloc_blocks += heap->blocks.made[stack];
}

/* Sampled blocks count with their weights. */
static void add_weighed(struct allo_live_site *site, const struct allo_weighed_site *weighed)
{
	site->live_bytes += allo_parts_round(weighed->live.bytes);
	site->live_blocks += allo_parts_round(weighed->live.blocks);
	site->alloc_bytes += allo_parts_round(weighed->alloc.bytes);
	site->alloc_blocks += allo_parts_round(weighed->alloc.blocks);
}

static bool sum_sites(struct allo_live_sites *sites, struct allo_follow *follow,
		      const struct allo_source_options *options, struct allo_error *err)
{
	const struct allo_heap *heap = &follow->heap;

	if (!name_new(sites, follow, options, err))
		return false;
	for (size_t i = 0; i < sites->all.len; i++) {
		struct allo_live_site *site = &sites->all.at[i];

		*site = (struct allo_live_site){ .name = site->name,
						 .file = site->file,
						 .earlier_blocks = site->alloc_blocks };
	}
	for (size_t i = 0; i < sites->of_stack.len; i++) {
		uint32_t id = sites->of_stack.at[i];

		if (id == 0)
			continue;
		if (heap->weighed)
			add_weighed(&sites->all.at[id - 1], &heap->weighed[i]);
		else
			add_exact(&sites->all.at[id - 1], heap, i);
	}
	return true;
}

/* The heap. */

static void drop_recording(struct allo_live_heap *heap)
{
	sites_done(&heap->sites);
	heap->sites = (struct allo_live_sites){ 0 };
	allo_follow_close(&heap->follow);
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
	heap->now = (struct allo_live_look){ 0 };
	return allo_recorded_process_find_again(&heap->list, &heap->process, &now, err) &&
	       (heap->process = now, open_process(heap, NULL, err));
}

static void count_heap(struct allo_live_heap *heap)
{
	const struct allo_live_blocks *blocks = &heap->follow.heap.blocks;
	struct allo_block_totals totals = allo_live_blocks_totals(blocks);

	heap->now.counts = (struct allo_heap_counts){
		.total_blocks = totals.allocations,
		.total_bytes = totals.total_bytes,
		.live_blocks = totals.blocks,
		.live_bytes = totals.bytes,
		.peak_blocks = totals.peak_blocks,
		.peak_bytes = totals.peak_bytes,
		.is_estimated = allo_is_sampled(&blocks->weighing),
	};
	heap->now.frees = totals.frees;
	heap->now.has_frees = true;
}

bool allo_live_heap_look(struct allo_live_heap *heap, struct allo_error *err)
{
	bool is_first = heap->now.ns == 0; /* open_file() has replayed the events so far */

	heap->before = heap->now;
	heap->now = (struct allo_live_look){ .ns = allo_clock_ns() };
	if (!heap->file)
		return allo_heap_counts_ask(&heap->process, &heap->now.counts, err);
	if (!is_first && !allo_follow_step(&heap->follow, err))
		return false;
	heap->has_ended |= heap->process.pid == 0 &&
			   heap->follow.recording.head.end != ALLO_END_NONE;
	count_heap(heap);
	return sum_sites(&heap->sites, &heap->follow, &heap->options, err);
}

uint64_t allo_live_heap_rate(const struct allo_live_heap *heap, uint64_t now, uint64_t before)
{
	uint64_t from = heap->before.ns ? heap->before.ns : heap->process.start_ns;
	double seconds = (double)(heap->now.ns - from) / ALLO_SECOND_NS;

	if (from == 0 || heap->now.ns <= from || now <= before)
		return 0;
	return (uint64_t)((double)(now - before) / seconds + 0.5);
}
