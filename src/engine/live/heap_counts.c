/* heap_counts.c - see heap_counts.h. */
#include "engine/live/heap_counts.h"

#include "base/defer.h"
#include "replay/summary.h"
#include "watch/claimed_file.h"
#include "watch/control_client.h"
#include "watch/mapped_recording.h"

#include <stddef.h>
#include <stdlib.h>

#define AT(field) offsetof(struct allo_heap_counts, field)

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	{ "total_blocks", AT(total_blocks) }, { "total_bytes", AT(total_bytes) },
	{ "live_blocks", AT(live_blocks) },   { "live_bytes", AT(live_bytes) },
	{ "peak_blocks", AT(peak_blocks) },   { "peak_bytes", AT(peak_bytes) },
};
enum { FIELDS = sizeof(fields) / sizeof(*fields) };

bool allo_heap_counts_ask(const struct allo_recorded_process *process,
			  struct allo_heap_counts *counts, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *answer = malloc(sizeof(*answer));
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];
	struct allo_message request;

	*counts = (struct allo_heap_counts){ 0 };
	if (!allo_recorded_process_has_socket(process, err))
		return false;
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

static bool replay(const char *file, const struct allo_host *host, struct allo_heap_counts *counts,
		   struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	const struct allo_source_options options = { .host = host };
	struct allo_summary summary = { 0 };

	if (!allo_source_open_recording(&source, file, &options, "events", err) ||
	    !allo_recording_sum_up(&source.recording, &summary, err))
		return false;
	*counts = (struct allo_heap_counts){
		.total_blocks = summary.allocations,
		.total_bytes = summary.total_bytes,
		.live_blocks = summary.end_blocks,
		.live_bytes = summary.end_bytes,
		.peak_blocks = summary.peak_blocks,
		.peak_bytes = summary.peak_bytes,
		.is_estimated = allo_summary_is_estimated(&summary),
		.has_earlier = source.recording.head.has_earlier,
	};
	return true;
}

bool allo_heap_counts_replay(struct allo_recorded_processes *list,
			     const struct allo_recorded_process *process,
			     const struct allo_host *host, struct allo_heap_counts *counts,
			     struct allo_error *err)
{
	const char *file;

	if (!allo_recorded_process_has_file(process, err))
		return false;
	file = allo_claimed_recording(list, process, err);
	return file && replay(file, host, counts, err);
}

bool allo_heap_counts_of_pid(pid_t pid, const struct allo_host *host,
			     struct allo_heap_counts *counts, struct allo_error *err)
{
	struct allo_mapped_recording found;

	if (!allo_mapped_recording_find(pid, &found) || found.is_waiting)
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE,
				 "the recording of the process cannot be found");
	return replay(found.place, host, counts, err);
}
