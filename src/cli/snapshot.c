/* snapshot.c - see snapshot.h. */
#include "cli/snapshot.h"

#include <stdio.h>
#include <time.h>

/* A process that sees other folders has its programs there as well. */
static bool find_root(struct allo_snapshot *snapshot, struct allo_watched_list *list,
		      const struct allo_watched *process, struct allo_error *err)
{
	char root[64];

	if (snapshot->file == process->file || snapshot->common.sysroot)
		return true;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)process->pid);
	snapshot->common.sysroot = allo_arena_copy(&list->arena, root, strlen(root));
	return snapshot->common.sysroot || allo_fail_memory(err);
}

bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_watched_list *list,
		      const struct allo_watched *process, const struct allo_common *common,
		      uint64_t from_ns, struct allo_error *err)
{
	*snapshot = (struct allo_snapshot){
		.view = { .from_ns = from_ns, .at = from_ns > 0 ? ALLO_AT_CHANGE : ALLO_AT_NOW },
		.common = *common,
	};
	snapshot->common.view = &snapshot->view;
	if (!allo_watched_has_file(process, err))
		return false;
	snapshot->file = allo_watched_file(list, process);
	return snapshot->file ? find_root(snapshot, list, process, err) : allo_fail_memory(err);
}

uint64_t allo_snapshot_clock(const struct allo_watched *process)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return process->start_ns > 0 && ns > process->start_ns ? ns - process->start_ns : 0;
}
