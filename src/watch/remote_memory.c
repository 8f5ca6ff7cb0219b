/* remote_memory.c - the request "memory" and its reply; metrics of a recording. */
#include "watch/remote_memory.h"

#include "base/defer.h"
#include "base/text.h"
#include "telemetry/metric_table.h"
#include "telemetry/monotonic_clock.h"
#include "telemetry/snapshots.h"
#include "watch/claimed_file.h"
#include "watch/control_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A process may only report these groups: the others come from the kernel, and its reply must not
 * replace them. */
static bool may_report(const struct allo_memory_metric *metric)
{
	static const char *const groups[] = { "allocator", "heap", "profiler" };

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (strcmp(metric->group, groups[i]) == 0)
			return metric->name != NULL;
	}
	return false;
}

static void take_metrics(const struct allo_control_reply *reply,
			 struct allo_memory_snapshot *snapshot)
{
	for (const struct allo_memory_metric *metric = allo_memory_metrics; metric->group;
	     metric++) {
		char key[64];
		uint64_t number;

		if (!may_report(metric))
			continue;
		snprintf(key, sizeof(key), "%s.%s", metric->group, metric->name);
		if (allo_control_reply_number(reply, key, &number))
			memcpy((char *)snapshot + metric->offset, &number, sizeof(number));
	}
}

static void take_text(const struct allo_control_reply *reply, const char *key, char *out,
		      size_t room)
{
	const char *text = allo_control_reply_text(reply, key);

	snprintf(out, room, "%s", text ? text : "");
}

static void take_answer(const struct allo_control_reply *reply,
			struct allo_memory_snapshot *snapshot, uint64_t took_ns)
{
	struct allo_allocator_memory *allocator = &snapshot->allocator;
	const char *allocator_why = allo_control_reply_text(reply, "allocator.why");
	const char *heap_why = allo_control_reply_text(reply, "heap.why");

	take_metrics(reply, snapshot);
	take_text(reply, "allocator.name", allocator->name, sizeof(allocator->name));
	take_text(reply, "allocator.version", allocator->version, sizeof(allocator->version));
	allo_snapshot_add_source(snapshot, "allocator", took_ns,
				 allocator_why ? allocator_why : "");
	allo_snapshot_add_source(snapshot, "heap", took_ns, heap_why ? heap_why : "");
}

void allo_remote_memory_add(const char *socket, struct allo_memory_snapshot *snapshot)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	uint64_t begin_ns = allo_clock_ns();
	struct allo_message request;

	allo_message_begin(&request, "memory");
	allo_message_end(&request);
	errno = ENOMEM;
	if (!reply || !allo_control_ask(socket, &request, ALLO_CONTROL_TIMEOUT_MS, reply))
		allo_snapshot_add_source(snapshot, "runtime", allo_clock_ns() - begin_ns,
					 strerrordesc_np(errno));
	else if (strcmp(reply->what, "ok") != 0)
		allo_snapshot_add_source(snapshot, "runtime", allo_clock_ns() - begin_ns,
					 "the runtime of the process is too old for this request");
	else
		take_answer(reply, snapshot, allo_clock_ns() - begin_ns);
}

void allo_remote_memory_add_recording(struct allo_recorded_processes *list,
				      const struct allo_recorded_process *process,
				      struct allo_memory_snapshot *snapshot)
{
	const char *file = allo_recorded_process_file(list, process);

	snapshot->profiler.is_recording = strcmp(process->state, "recording") == 0;
	if (file)
		allo_claimed_file_size(file, process->pid, process->uid,
				       &snapshot->profiler.recording_bytes);
}
