/* snapshot.c - see snapshot.h. */
#include "cli/snapshot.h"

#include <stdio.h>
#include <time.h>

/* A process that sees other folders has its programs there as well. */
static bool find_root(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process, struct allo_error *err)
{
	char root[64];

	if (snapshot->file == process->file || snapshot->common.sysroot)
		return true;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)process->pid);
	snapshot->common.sysroot = allo_arena_copy(&list->arena, root, strlen(root));
	return snapshot->common.sysroot || allo_fail_memory(err);
}

bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process, const struct allo_common *common,
		      const char *mark, struct allo_error *err)
{
	*snapshot = (struct allo_snapshot){
		.view = { .at = mark ? ALLO_AT_CHANGE : ALLO_AT_NOW },
		.common = *common,
	};
	if (mark)
		snapshot->view.from_mark = allo_text_of(mark);
	snapshot->common.view = &snapshot->view;
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
