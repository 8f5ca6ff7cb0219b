/* scrape.c - reads /proc and asks the runtime of each process, within a time limit. */
#include "serve/scrape.h"

#include "base/assert.h"
#include "base/defer.h"
#include "run/allocator_walk.h"
#include "telemetry/metrics.h"
#include "telemetry/monotonic_clock.h"
#include "watch/claimed_file.h"
#include "watch/control_client.h"
#include "watch/remote_memory.h"

#include <stdlib.h>

/* Others wait as long as a process does not reply: for one of them, for all of them together, and
 * then not again for a while. */
enum { TIMEOUT_MS = 100 };
#define TOTAL_TIMEOUT_NS (200 * (uint64_t)1000000)
#define SILENCE_NS       (10 * (uint64_t)ALLO_SECOND_NS)

/* Bytes of text that most processes need. */
enum { USUAL_LEN = 16 << 10 };

/* pid="123",program="...": every byte of the name may need an escape of six bytes. */
enum { LABELS_SIZE = 6 * 64 + 64 };

struct scraped {
	struct allo_served_process *process;
	struct allo_memory_snapshot snapshot;
	char labels[LABELS_SIZE];
};

struct scrape {
	ALLO_VEC(struct scraped) all;
	bool has_one;     /* one process, without labels */
	bool walks;       /* through the blocks of allocators */
	uint64_t late_ns; /* no process is asked after this */
};

static void scrape_done(struct scrape *scrape)
{
	allo_vec_done(&scrape->all);
}

/* The runtime's metrics. */

static bool ask(struct allo_served_process *process, const char *what,
		struct allo_control_reply *reply)
{
	struct allo_message request;

	allo_message_begin(&request, what);
	allo_message_end(&request);
	if (allo_control_ask(process->socket, &request, TIMEOUT_MS, reply))
		return strcmp(reply->what, "ok") == 0;
	process->silent_until_ns = allo_clock_ns() + SILENCE_NS;
	return false;
}

static void take_number(const struct allo_control_reply *reply, const char *key, uint64_t *number)
{
	if (!allo_control_reply_number(reply, key, number))
		*number = ALLO_UNKNOWN;
}

static void take_stats(const struct allo_control_reply *reply, struct allo_heap_memory *heap)
{
	take_number(reply, "total_bytes", &heap->alloc_bytes);
	take_number(reply, "total_blocks", &heap->alloc_blocks);
	take_number(reply, "live_bytes", &heap->live_bytes);
	take_number(reply, "live_blocks", &heap->live_blocks);
	take_number(reply, "peak_bytes", &heap->peak_bytes);
	take_number(reply, "peak_blocks", &heap->peak_blocks);
}

/* Returns whether the runtime counts blocks. */
static bool take_status(const struct allo_control_reply *reply,
			struct allo_profiler_memory *profiler)
{
	const char *state = allo_control_reply_text(reply, "state");
	const char *file = allo_control_reply_text(reply, "file");
	uint64_t has_stats;

	profiler->is_recording = state && strcmp(state, "recording") == 0;
	if (file)
		allo_claimed_file_size(file, reply->pid, reply->uid, &profiler->recording_bytes);
	allo_control_reply_number(reply, "stats", &has_stats);
	return profiler->is_recording && has_stats;
}

/* Reads the metrics of a process without a socket.  Returns the reason for missing ones. */
static const char *read_recording(const struct allo_served_process *process,
				  struct allo_memory_snapshot *snapshot)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	const struct allo_recorded_process known = { .pid = process->pid,
						     .program = process->program,
						     .socket = "" };
	struct allo_recorded_process recorded;
	struct allo_error ended = { 0 };

	if (!allo_recorded_process_find_again(&list, &known, &recorded, &ended))
		return "the recording has ended";
	allo_remote_memory_add_recording(&list, &recorded, snapshot);
	return "the process has no control socket";
}

static void ask_runtime(const struct scrape *scrape, struct allo_served_process *process,
			struct allo_control_reply *reply, struct allo_memory_snapshot *snapshot)
{
	uint64_t start_ns = allo_clock_ns();
	const char *why = "";

	if (!process->has_runtime)
		why = "the process does not have the runtime";
	else if (!process->socket[0])
		why = read_recording(process, snapshot);
	else if (start_ns > scrape->late_ns)
		why = "other processes took too long to answer";
	else if (start_ns < process->silent_until_ns || !ask(process, "status", reply))
		why = "the process does not answer";
	else if (take_status(reply, &snapshot->profiler) && ask(process, "stats", reply))
		take_stats(reply, &snapshot->heap);
	allo_snapshot_add_source(snapshot, "runtime", allo_clock_ns() - start_ns, why);
}

/* Processes. */

static void put_labels(struct scraped *scraped)
{
	struct allo_text_buffer buffer = { scraped->labels, sizeof(scraped->labels), 0 };

	allo_buffer_string(&buffer, "pid=\"");
	allo_buffer_u64(&buffer, (uint64_t)scraped->process->pid);
	allo_buffer_string(&buffer, "\",program=");
	allo_buffer_quoted(&buffer, allo_text_of(scraped->process->program));
	allo_buffer_end(&buffer);
}

static bool add_process(struct scrape *scrape, struct allo_served_process *process,
			struct allo_control_reply *reply, struct allo_error *err)
{
	struct scraped *scraped = allo_vec_push(&scrape->all);

	if (!scraped)
		return allo_fail_memory(err);
	scraped->process = process;
	scraped->labels[0] = '\0';
	if (allo_served_process_has_ended(process) ||
	    !allo_snapshots_take(&process->history, 0, &scraped->snapshot)) {
		scrape->all.len--;
		return true;
	}
	ask_runtime(scrape, process, reply, &scraped->snapshot);
	if (scrape->walks && !allo_allocator_walk((uint64_t)process->pid, &scraped->snapshot, err))
		return false;
	if (!scrape->has_one)
		put_labels(scraped);
	return true;
}

static bool add_processes(struct scrape *scrape, const struct allo_scrape_request *request,
			  struct allo_error *err)
{
	const struct allo_process_list *processes = request->processes;
	struct allo_served_process *process = request->process;
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));

	if (!reply)
		return allo_fail_memory(err);
	scrape->has_one = process != NULL;
	scrape->walks = request->walks;
	scrape->late_ns = allo_clock_ns() + TOTAL_TIMEOUT_NS;
	if (process) {
		if (!add_process(scrape, process, reply, err))
			return false;
		return scrape->all.len > 0 ||
		       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) has ended", process->program,
				 (int)process->pid);
	}
	for (size_t i = 0; i < processes->all.len; i++) {
		if (!add_process(scrape, processes->all.at[i], reply, err))
			return false;
	}
	return true;
}

/* Texts. */

typedef void (*put_function)(struct allo_text_buffer *buffer, const struct scrape *scrape,
			     const void *context);

/* A text that does not fit says how long it is; then it is made again. */
static bool make_text(put_function put, const struct scrape *scrape, const void *context,
		      char **text, size_t *len, struct allo_error *err)
{
	size_t room = (scrape->all.len + 1) * USUAL_LEN;

	for (;;) {
		struct allo_text_buffer buffer = { malloc(room), room, 0 };

		if (!buffer.text)
			return allo_fail_memory(err);
		put(&buffer, scrape, context);
		*len = allo_buffer_end(&buffer);
		*text = buffer.text;
		if (*len < room)
			return true;
		room = *len + 1;
		free(buffer.text);
		*text = NULL;
	}
}

struct metrics {
	enum allo_metrics_format format;
	const struct allo_metrics_of *of;
};

static void put_metrics(struct allo_text_buffer *buffer, const struct scrape *scrape,
			const void *context)
{
	const struct metrics *metrics = context;

	allo_metrics_put(buffer, metrics->format, metrics->of, scrape->all.len);
}

static bool make_metrics(const struct scrape *scrape, enum allo_metrics_format format, char **text,
			 size_t *len, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	struct allo_metrics_of *of = malloc((scrape->all.len + 1) * sizeof(*of));

	if (!of)
		return allo_fail_memory(err);
	for (size_t i = 0; i < scrape->all.len; i++)
		of[i] = (struct allo_metrics_of){ &scrape->all.at[i].snapshot,
						  scrape->all.at[i].labels };
	return make_text(put_metrics, scrape, &(struct metrics){ format, of }, text, len, err);
}

static void put_process(struct allo_text_buffer *buffer, const struct scraped *scraped)
{
	allo_buffer_string(buffer, "\"program\":");
	allo_buffer_quoted(buffer, allo_text_of(scraped->process->program));
	allo_buffer_string(buffer, ",");
	allo_metrics_put_members(buffer, &scraped->snapshot);
	allo_buffer_string(buffer, "}");
}

static void put_json(struct allo_text_buffer *buffer, const struct scrape *scrape,
		     const void *context)
{
	(void)context;
	ALLO_ASSERT(!scrape->has_one || scrape->all.len == 1);
	allo_buffer_string(buffer, "{\"v\":1,");
	if (scrape->has_one) {
		put_process(buffer, &scrape->all.at[0]);
	} else {
		allo_buffer_string(buffer, "\"processes\":[");
		for (size_t i = 0; i < scrape->all.len; i++) {
			allo_buffer_string(buffer, i > 0 ? ",{" : "{");
			put_process(buffer, &scrape->all.at[i]);
		}
		allo_buffer_string(buffer, "]}");
	}
	allo_buffer_string(buffer, "\n");
}

bool allo_scrape(const struct allo_scrape_request *request, char **text, size_t *len,
		 struct allo_error *err)
{
	ALLO_DEFER(scrape_done) struct scrape scrape = { 0 };

	if (!add_processes(&scrape, request, err))
		return false;
	return request->format == ALLO_METRICS_JSON
		       ? make_text(put_json, &scrape, NULL, text, len, err)
		       : make_metrics(&scrape, request->format, text, len, err);
}
