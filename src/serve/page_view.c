/* page_view.c - brings the recording up to date when the page asks "live", and answers from it. */
#include "serve/page_view.h"

#include "base/defer.h"
#include "serve/worker.h"
#include "view/ask.h"

#include <unistd.h>

/* The request in progress: a follower has one at a time, and answers have no context. */
static struct {
	struct allo_live_dataset *live;
	const struct allo_heap_request *request;
} current;

/* Brings the recording up to date.  A process that runs without one, since it has executed another
 * program or its recording was stopped, keeps the last one on the page. */
static bool step(struct allo_live_dataset *live, const struct allo_heap_request *request,
		 struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	char root[ALLO_ROOT_SIZE];
	struct allo_source_options options = allo_heap_source_options(request, root);
	struct allo_recorded_process recorded;
	struct allo_error failure = { 0 };
	const char *file;

	if (live->is_open && allo_served_process_has_ended(request->process))
		return allo_live_dataset_end(live, &options, err);
	if (allo_served_recording_find(request->process, &list, &recorded, &file, &failure) ==
	    ALLO_DONE)
		return allo_live_dataset_step(live, file, recorded.start_ns, &options, err);
	if (live->is_open)
		return true;
	*err = failure;
	return false;
}

static bool answer_live(struct allo_dataset *dataset, const struct allo_request *request,
			struct allo_reply *reply, struct allo_error *err)
{
	struct allo_json_out *json = &reply->head;

	(void)request;
	if (!step(current.live, current.request, err))
		return false;
	allo_json_out_member_u64(json, "ns", dataset->log.end_ns);
	allo_json_out_member_u64(json, "generation", dataset->growth.generation);
	allo_json_out_key(json, "is_running");
	allo_json_out_bool(json, dataset->growth.is_growing);
	return true;
}

static allo_answer *find_answer(const char *ask)
{
	if (strcmp(ask, "live") == 0)
		return answer_live;
	return current.request->find_more ? current.request->find_more(ask) : NULL;
}

static bool write_all(int out, struct allo_text bytes, struct allo_error *err)
{
	while (bytes.len > 0) {
		ssize_t len = write(out, bytes.data, bytes.len);

		if (len < 0)
			return allo_fail_errno(err, NULL, "write the reply");
		bytes.data += len;
		bytes.len -= (size_t)len;
	}
	return true;
}

unsigned allo_page_view_answer(struct allo_live_dataset *live,
			       const struct allo_heap_request *request, int out,
			       struct allo_error *err)
{
	ALLO_DEFER(allo_reply_done) struct allo_reply reply = { 0 };
	struct allo_dataset *datasets[] = { &live->dataset };
	const struct allo_asked_files files = { datasets, 1, find_answer };
	struct allo_error failure = { 0 };
	struct allo_text bytes;

	current.live = live;
	current.request = request;
	if (live->is_open || step(live, request, &failure))
		bytes = allo_ask(&files, request->ask, &reply);
	else
		bytes = allo_reply_finish(&reply, "open", &failure);
	if (bytes.len == 0) {
		allo_fail_memory(err);
		return ALLO_BROKEN;
	}
	return write_all(out, bytes, err) ? ALLO_DONE : ALLO_BROKEN;
}
