/* snapshot.c - see snapshot.h. */
#include "cli/snapshot.h"

#include "base/defer.h"
#include "watch/speak.h"

#include <stdio.h>
#include <stdlib.h>
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
		      const char *mark, struct allo_error *err)
{
	*snapshot = (struct allo_snapshot){
		.view = { .at = mark ? ALLO_AT_CHANGE : ALLO_AT_NOW },
		.common = *common,
	};
	if (mark)
		snapshot->view.from_mark = allo_text_of(mark);
	snapshot->common.view = &snapshot->view;
	if (!allo_watched_has_file(process, err))
		return false;
	snapshot->file = allo_watched_file(list, process);
	return snapshot->file ? find_root(snapshot, list, process, err) : allo_fail_memory(err);
}

bool allo_snapshot_begin(const struct allo_watched *process, char mark[ALLO_SNAPSHOT_MARK_SIZE],
			 struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_answer *answer = malloc(sizeof(*answer));
	char name[ALLO_WATCHED_NAME_SIZE];
	struct allo_message request;
	struct timespec now;

	if (!answer)
		return allo_fail_memory(err);
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(mark, ALLO_SNAPSHOT_MARK_SIZE, "snapshot %lld.%09ld", (long long)now.tv_sec,
		 now.tv_nsec);
	allo_message_begin(&request, "mark");
	allo_message_add(&request, "name", mark);
	allo_message_end(&request);
	return allo_speak_or_fail(process->socket, allo_watched_name(process, name), &request,
				  answer, err);
}
