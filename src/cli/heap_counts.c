/* heap_counts.c - see heap_counts.h. */
#include "cli/heap_counts.h"

#include "base/defer.h"
#include "replay/summary.h"
#include "report/messages.h"
#include "watch/control_client.h"

#include <stdlib.h>

#define AT(field) offsetof(struct allo_heap_counts, field)

/* As the process and as JSON call them. */
static const struct {
	const char *key, *member;
	size_t offset;
} fields[] = {
	{ "total_blocks", "alloc_blocks", AT(total_blocks) },
	{ "total_bytes", "alloc_bytes", AT(total_bytes) },
	{ "live_blocks", "live_blocks", AT(live_blocks) },
	{ "live_bytes", "live_bytes", AT(live_bytes) },
	{ "peak_blocks", "peak_blocks", AT(peak_blocks) },
	{ "peak_bytes", "peak_bytes", AT(peak_bytes) },
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

bool allo_heap_counts_ask(const struct allo_recorded_process *process,
			  struct allo_heap_counts *counts, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *answer = malloc(sizeof(*answer));
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];
	struct allo_message request;

	*counts = (struct allo_heap_counts){ 0 };
	if (!answer)
		return allo_fail_memory(err);
	allo_message_begin(&request, "stats");
	allo_message_end(&request);
	if (!allo_control_request(process->socket, allo_recorded_process_name(process, name),
				  &request, answer, err))
		return false;
	for (size_t i = 0; i < FIELDS; i++)
		allo_control_reply_number(answer, fields[i].key,
					  (uint64_t *)((char *)counts + fields[i].offset));
	return true;
}

bool allo_heap_counts_replay(struct allo_recorded_processes *list,
			     const struct allo_recorded_process *process,
			     struct allo_heap_counts *counts, struct allo_error *err)
{
	struct allo_summary summary = { 0 };
	struct allo_progress_bar bar;
	const char *file;
	bool ok;

	if (!allo_recorded_process_has_file(process, err))
		return false;
	file = allo_recorded_process_file(list, process);
	if (!file)
		return allo_fail_memory(err);
	allo_progress_bar_init(&bar, "adding up");
	ok = allo_recording_summary(file, &summary, bar.is_on ? &bar.progress : NULL, err);
	allo_progress_bar_done(&bar);
	*counts = (struct allo_heap_counts){
		.total_blocks = summary.allocations,
		.total_bytes = summary.total_bytes,
		.live_blocks = summary.end_blocks,
		.live_bytes = summary.end_bytes,
		.peak_blocks = summary.peak_blocks,
		.peak_bytes = summary.peak_bytes,
		.is_estimated = allo_summary_is_estimated(&summary),
	};
	return ok;
}

void allo_heap_counts_json(struct allo_json_out *json, const struct allo_heap_counts *counts)
{
	for (size_t i = 0; i < FIELDS; i++)
		allo_json_out_member_u64(
			json, fields[i].member,
			*(const uint64_t *)((const char *)counts + fields[i].offset));
}
