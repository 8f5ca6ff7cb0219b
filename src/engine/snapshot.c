/* snapshot.c - see snapshot.h. */
#include "engine/snapshot.h"

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
		      const struct allo_source_options *source, const char *mark,
		      struct allo_error *err)
{
	*snapshot = (struct allo_snapshot){ .source = *source };
	snapshot->source.view = (struct allo_view){ .at = mark ? ALLO_AT_CHANGE : ALLO_AT_NOW };
	if (mark)
		snapshot->source.view.from_mark = allo_text_of(mark);
	if (!allo_recorded_process_has_file(process, err))
		return false;
	snapshot->file = allo_recorded_process_file(list, process);
	return snapshot->file ? find_root(snapshot, list, process, err) : allo_fail_memory(err);
}

bool allo_snapshot_begin(const struct allo_recorded_process *process,
			 char mark[ALLO_SNAPSHOT_MARK_SIZE], struct allo_error *err)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(mark, ALLO_SNAPSHOT_MARK_SIZE, "snapshot %lld.%09ld", (long long)now.tv_sec,
		 now.tv_nsec);
	return allo_recorded_process_mark(process, mark, err);
}
