/* live_look.c - see live_look.h. */
#include "cli/live_look.h"

#include "base/defer.h"
#include "cli/snapshot.h"
#include "report/messages.h"
#include "telemetry/monotonic_clock.h"

#include <sys/stat.h>

static void drop_recording(struct allo_looking *looking)
{
	allo_live_sites_done(&looking->sites);
	looking->sites = (struct allo_live_sites){ 0 };
	allo_follow_close(&looking->follow);
}

void allo_looking_close(struct allo_looking *looking)
{
	drop_recording(looking);
	allo_recorded_processes_done(&looking->list);
}

static bool open_file(struct allo_looking *looking, const char *file, struct allo_error *err)
{
	struct allo_progress_bar bar;
	bool ok;

	looking->file = file;
	allo_progress_bar_init(&bar, "replaying what there is");
	ok = allo_follow_open(&looking->follow, file, bar.is_on ? &bar.progress : NULL, err);
	allo_progress_bar_done(&bar);
	return ok;
}

static bool open_process(struct allo_looking *looking, struct allo_error *err)
{
	struct allo_snapshot snapshot;

	looking->file = NULL;
	if (!looking->process.file[0] && looking->process.has_stats)
		return true;
	if (!allo_snapshot_of(&snapshot, &looking->list, &looking->process, &looking->common, NULL,
			      err))
		return false;
	looking->common.sysroot = snapshot.common.sysroot;
	return open_file(looking, snapshot.file, err);
}

bool allo_looking_open(struct allo_looking *looking, const struct allo_common *common,
		       const char *name, struct allo_error *err)
{
	struct stat status;

	*looking = (struct allo_looking){ .common = *common };
	looking->common.quiet = true; /* what is on the screen stays */
	if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
		return open_file(looking, name, err);
	return allo_recorded_process_find(&looking->list, name, &looking->process, err) &&
	       open_process(looking, err);
}

bool allo_looking_ask(struct allo_looking *looking, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	struct allo_error failure = { 0 };
	struct allo_recorded_process now;

	if (looking->process.pid == 0)
		return true;
	if (!allo_recorded_process_find(&list, looking->process.socket, &now, &failure) ||
	    strcmp(now.state, "dormant") == 0) {
		looking->has_ended = true;
		return true;
	}
	if (now.is_silent || strcmp(now.file, looking->process.file) == 0)
		return true;
	drop_recording(looking);
	looking->now = (struct allo_look){ 0 };
	return allo_recorded_process_find(&looking->list, looking->process.socket,
					  &looking->process, err) &&
	       open_process(looking, err);
}

static void count_heap(struct allo_looking *looking)
{
	const struct allo_live_blocks *blocks = &looking->follow.heap.blocks;
	struct allo_block_totals totals = allo_live_blocks_totals(blocks);

	looking->now.counts = (struct allo_heap_counts){
		.total_blocks = totals.allocations,
		.total_bytes = totals.total_bytes,
		.live_blocks = totals.blocks,
		.live_bytes = totals.bytes,
		.peak_blocks = totals.peak_blocks,
		.peak_bytes = totals.peak_bytes,
		.is_estimated = allo_is_sampled(&blocks->weighing),
	};
	looking->now.frees = totals.frees;
	looking->now.has_frees = true;
}

bool allo_looking_look(struct allo_looking *looking, struct allo_error *err)
{
	bool is_first = looking->now.ns == 0; /* what there is was replayed when it was opened */

	looking->before = looking->now;
	looking->now = (struct allo_look){ .ns = allo_clock_ns() };
	if (!looking->file)
		return allo_heap_counts_ask(&looking->process, &looking->now.counts, err);
	if (!is_first && !allo_follow_step(&looking->follow, err))
		return false;
	looking->has_ended |= looking->process.pid == 0 &&
			      looking->follow.recording.head.end != ALLO_END_NONE;
	count_heap(looking);
	return allo_live_sites_look(&looking->sites, &looking->follow, &looking->common, err);
}

uint64_t allo_looking_rate(const struct allo_looking *looking, uint64_t now, uint64_t before)
{
	uint64_t from = looking->before.ns ? looking->before.ns : looking->process.start_ns;
	double seconds = (double)(looking->now.ns - from) / ALLO_SECOND_NS;

	if (from == 0 || looking->now.ns <= from || now <= before)
		return 0;
	return (uint64_t)((double)(now - before) / seconds + 0.5);
}
