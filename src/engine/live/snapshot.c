/* snapshot.c - see snapshot.h. */
#include "engine/live/snapshot.h"

#include "telemetry/monotonic_clock.h"
#include "watch/claimed_file.h"

#include <stdio.h>
#include <time.h>

/* A process in another mount namespace has its programs there, too. */
static bool find_root(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process, struct allo_error *err)
{
	struct allo_symbol_places *places = &snapshot->source.symbols.places;
	char root[64];

	if (snapshot->file == process->file || places->root)
		return true;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)process->pid);
	places->root = allo_arena_copy(&list->arena, root, strlen(root));
	return places->root || allo_fail_memory(err);
}

bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process,
		      const struct allo_source_options *source,
		      const struct allo_snapshot_window *window, struct allo_error *err)
{
	*snapshot = (struct allo_snapshot){ .source = *source };
	snapshot->source.view = (struct allo_view){ .at = window ? ALLO_AT_CHANGE : ALLO_AT_NOW,
						    .of_running = true };
	if (window && window->mark[0])
		snapshot->source.view.from_mark = allo_text_of(window->mark);
	else if (window)
		snapshot->source.view.from_ns = window->from_ns;
	if (!allo_recorded_process_has_file(process, err))
		return false;
	snapshot->file = allo_claimed_recording(list, process, err);
	return snapshot->file && find_root(snapshot, list, process, err);
}

bool allo_snapshot_begin(const struct allo_recorded_process *process,
			 struct allo_snapshot_window *window, struct allo_error *err)
{
	uint64_t now_ns = allo_clock_ns();
	struct timespec now;

	*window = (struct allo_snapshot_window){ 0 };
	if (!process->socket[0]) {
		window->from_ns = now_ns > process->start_ns ? now_ns - process->start_ns : 1;
		return true;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(window->mark, sizeof(window->mark), "snapshot %lld.%09ld", (long long)now.tv_sec,
		 now.tv_nsec);
	return allo_recorded_process_mark(process, window->mark, err);
}
