/* routes.c - the handler of each path. */
#include "serve/routes.h"

#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "base/encoding/xml.h"
#include "page/page.h"
#include "serve/address_names.h"
#include "serve/heap_profile.h"
#include "serve/scrape.h"
#include "telemetry/metrics.h"
#include "telemetry/monotonic_clock.h"
#include "view/ask.h"
#include "wasm/embedded_engine.h"
#include "watch/control_client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SECONDS(n) ((uint64_t)(n)*ALLO_SECOND_NS)

enum { SECONDS_MAX = 60 };

/* Time limits of workers. */
#define HEAP_LIMIT_NS  SECONDS(120)
#define SMALL_LIMIT_NS SECONDS(30)

static const struct allo_route routes[];

/* Finds the process that ?pid= names.  If no process matches, replies to the request with an error
 * and returns false. */
static bool pick(struct allo_http_request *request, struct allo_served_process **process)
{
	struct allo_error err = { 0 };
	unsigned status = allo_process_list_pick(&request->server->processes,
						 allo_http_request_argument(request, "pid"),
						 process, &err);

	if (status != ALLO_DONE)
		allo_http_request_fail(request, status, &err);
	return status == ALLO_DONE;
}

/* Heaps. */

/* A numeric argument, or 0; false if it is malformed: the request has its reply then. */
static bool take_number(struct allo_http_request *request, const char *name, uint64_t *number)
{
	const char *text = allo_http_request_argument(request, name);

	*number = 0;
	if (!text || allo_text_u64(allo_text_of(text), number))
		return true;
	allo_http_request_refuse(request, ALLO_BAD_REQUEST, "%s is a number, not '%.40s'", name,
				 text);
	return false;
}

/* Parses ?seconds=; false if it is invalid: the request has its reply then. */
static bool take_seconds(struct allo_http_request *request, bool is_text, uint64_t *seconds)
{
	if (!take_number(request, "seconds", seconds))
		return false;
	if (!allo_http_request_argument(request, "seconds"))
		return true;
	if (*seconds == 0 || *seconds > SECONDS_MAX)
		allo_http_request_refuse(request, ALLO_BAD_REQUEST, "seconds are 1 to %d",
					 SECONDS_MAX);
	else if (is_text)
		allo_http_request_refuse(request, ALLO_BAD_REQUEST,
					 "seconds are for profiles only: remove debug");
	else
		return true;
	return false;
}

static void answer_delta(struct allo_http_request *request)
{
	struct allo_heap_request heap = { .symbols = &request->server->symbols,
					  .is_of_all = true,
					  .is_delta = true };
	struct allo_served_process *process;

	if (!pick(request, &process))
		return;
	heap.process = process;
	request->reply.type = "application/octet-stream";
	request->reply.file = "delta_heap";
	if (request->is_head)
		request->reply.status = ALLO_DONE;
	else
		allo_http_server_follow(request, &heap, HEAP_LIMIT_NS);
}

static void capture(struct allo_http_request *request, enum allo_heap_format format, bool is_of_all)
{
	const char *names[] = { "heap", "allocs", "heap-delta", "allocs-delta" };
	struct allo_heap_request heap = { .symbols = &request->server->symbols,
					  .format = format,
					  .is_of_all = is_of_all };
	bool is_text = format != ALLO_HEAP_PPROF;
	struct allo_served_process *process;

	if (!take_seconds(request, is_text, &heap.seconds) || !pick(request, &process))
		return;
	heap.process = process;
	request->reply.type = is_text ? ALLO_PLAIN_TEXT : "application/octet-stream";
	if (!is_text)
		request->reply.file = names[is_of_all + 2 * (heap.seconds > 0)];
	if (request->is_head)
		request->reply.status = ALLO_DONE;
	else
		allo_http_server_follow(request, &heap, HEAP_LIMIT_NS);
}

static void capture_either(struct allo_http_request *request, bool is_of_all)
{
	uint64_t debug;

	if (take_number(request, "debug", &debug))
		capture(request, debug ? ALLO_HEAP_NAMED_TEXT : ALLO_HEAP_PPROF, is_of_all);
}

static void answer_heap(struct allo_http_request *request)
{
	capture_either(request, false);
}

static void answer_allocs(struct allo_http_request *request)
{
	capture_either(request, true);
}

static void answer_heap_text(struct allo_http_request *request)
{
	capture(request, ALLO_HEAP_TEXT, false);
}

/* Starts a worker for a task of a moment. */
static void start_small(struct allo_http_request *request,
			const struct allo_served_process *process, allo_worker_function function,
			const void *task)
{
	request->reply.type = ALLO_PLAIN_TEXT;
	allo_http_server_start(request, &(struct allo_job){ .lane = ALLO_LANE_SMALL,
							    .function = function,
							    .task = task,
							    .kept = process->pidfd,
							    .limit_ns = SMALL_LIMIT_NS });
}

/* Names. */

static void name_addresses(struct allo_http_request *request, bool lists_inlined)
{
	struct allo_address_request task = { .symbols = &request->server->symbols,
					     .addresses = { request->body.at, request->body.len },
					     .lists_inlined = lists_inlined };
	struct allo_served_process *process;

	/* A GET asks whether there are symbols at all; the number does not matter. */
	if (!request->is_post) {
		allo_http_request_copy(request, ALLO_PLAIN_TEXT, ALLO_TEXT("num_symbols: 1\n"));
		return;
	}
	if (!pick(request, &process))
		return;
	task.process = process;
	start_small(request, process, allo_address_names, &task);
}

static void answer_symbol(struct allo_http_request *request)
{
	name_addresses(request, false);
}

static void answer_symbol_inlined(struct allo_http_request *request)
{
	name_addresses(request, true);
}

/* Replies with the arguments, separated by NUL. */
static void answer_cmdline(struct allo_http_request *request)
{
	ALLO_DEFER(allo_close_fd) int fd = -1;
	struct allo_served_process *process;
	char path[64], words[4096];
	ssize_t len = 0;

	if (!pick(request, &process))
		return;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, words, sizeof(words));
	/* setproctitle() leaves NULs behind the new title. */
	while (len > 0 && words[len - 1] == '\0')
		len--;
	if (len <= 0)
		allo_http_request_refuse(request, ALLO_GONE, "%s (%d) has ended", process->program,
					 (int)process->pid);
	else
		allo_http_request_copy(request, ALLO_PLAIN_TEXT,
				       (struct allo_text){ words, (size_t)len });
}

/* Metrics. */

/* The process of ?pid=, or the only one served; NULL: all.  False if there is no such process: the
 * request has its reply then. */
static bool pick_or_all(struct allo_http_request *request, struct allo_served_process **process)
{
	const struct allo_process_list *processes = &request->server->processes;

	*process = NULL;
	return (!allo_http_request_argument(request, "pid") &&
		(processes->is_open || processes->all.len > 1)) ||
	       pick(request, process);
}

/* Runs in a worker. */
static unsigned scrape_slowly(const void *task, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) char *text = NULL;
	size_t len;

	if (!allo_scrape(task, &text, &len, err))
		return err->code == ALLO_IO ? ALLO_GONE : ALLO_BROKEN;
	dprintf(out, "%s", text);
	return ALLO_DONE;
}

/* A walk is for one process at a time: it takes half a second per GiB. */
static void start_walk(struct allo_http_request *request, struct allo_scrape_request *scrape)
{
	const char *walk = allo_http_request_argument(request, "walk");

	if (strcmp(walk, "arenas") != 0) {
		allo_http_request_refuse(request, ALLO_BAD_REQUEST, "walk is arenas, not '%.40s'",
					 walk);
		return;
	}
	if (!pick(request, &scrape->process))
		return;
	scrape->walks = true;
	allo_http_server_start(request, &(struct allo_job){ .lane = ALLO_LANE_SMALL,
							    .function = scrape_slowly,
							    .task = scrape,
							    .kept = scrape->process->pidfd,
							    .limit_ns = HEAP_LIMIT_NS });
}

static void answer_scrape(struct allo_http_request *request, enum allo_metrics_format format)
{
	struct allo_scrape_request scrape = { .processes = &request->server->processes,
					      .format = format };
	struct allo_error err = { 0 };
	char *text = NULL;
	size_t len;

	request->reply.type = allo_metrics_content_type(format);
	if (allo_http_request_argument(request, "walk"))
		start_walk(request, &scrape);
	else if (!pick_or_all(request, &scrape.process))
		return;
	else if (allo_scrape(&scrape, &text, &len, &err))
		allo_http_request_text(request, allo_metrics_content_type(format), text, len);
	else
		allo_http_request_fail(request, err.code == ALLO_IO ? ALLO_GONE : ALLO_BROKEN,
				       &err);
}

static void answer_metrics(struct allo_http_request *request)
{
	answer_scrape(request, allo_accepted_metrics(allo_http_request_header(request, "Accept")));
}

static void answer_memory(struct allo_http_request *request)
{
	answer_scrape(request, ALLO_METRICS_JSON);
}

/* A browser sends the token to the index, but the page needs it in its address.  A GET of the index
 * has shown the token, so its sender knows it. */
static void put_link(struct allo_output *out, const struct allo_route *route, pid_t pid,
		     const char *token)
{
	allo_output_printf(out, "<dt><a href=\"%s?pid=%d", route->path, (int)pid);
	if (route->is_public && token) {
		allo_output_string(out, "#k=");
		allo_xml_text(out, allo_text_of(token));
	}
	allo_output_printf(out, "\">%s</a><dd>%s\n", route->path, route->about);
}

static void put_process(struct allo_output *out, const struct allo_served_process *process,
			const char *token)
{
	allo_output_string(out, "<h2>");
	allo_xml_text(out, allo_text_of(process->program));
	allo_output_printf(out, " (%d)%s</h2>\n<dl>\n", (int)process->pid,
			   allo_served_process_has_ended(process) ? ", which has ended" : "");
	for (const struct allo_route *route = routes; route->path; route++) {
		if (route->about)
			put_link(out, route, process->pid, token);
	}
	allo_output_string(out, "</dl>\n");
}

/* HTML, to be freed; NULL when memory is short. */
static char *make_index(const struct allo_http_server *server, size_t *len, struct allo_error *err)
{
	const struct allo_process_list *processes = &server->processes;
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err))
		return NULL;
	allo_output_string(&out, "<!doctype html>\n<meta charset=\"utf-8\">\n"
				 "<title>allo serve</title>\n<style>body{font-family:sans-serif;"
				 "margin:2em}dd{margin-bottom:.5em}</style>\n");
	if (processes->all.len == 0)
		allo_output_string(&out, "<p>No process has the runtime.</p>\n");
	for (size_t i = 0; i < processes->all.len; i++)
		put_process(&out, processes->all.at[i], server->access.token);
	if (!allo_output_finish(&out, err))
		return NULL;
	return allo_output_take_memory(&out, len, err);
}

static void answer_index(struct allo_http_request *request)
{
	struct allo_error err = { 0 };
	size_t len;
	char *text = make_index(request->server, &len, &err);

	if (text)
		allo_http_request_text(request, "text/html; charset=utf-8", text, len);
	else
		allo_http_request_fail(request, ALLO_BROKEN, &err);
}

/* The processes, as Prometheus' service discovery over HTTP lists targets.  Collectors put the
 * label
 * __param_pid into their requests as ?pid=. */
static void put_targets(struct allo_output *out, const struct allo_process_list *processes,
			const char *host)
{
	struct allo_json_out json = { .out = out };
	char pid[16];

	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < processes->all.len; i++) {
		const struct allo_served_process *process = processes->all.at[i];

		if (allo_served_process_has_ended(process))
			continue;
		snprintf(pid, sizeof(pid), "%d", (int)process->pid);
		allo_json_out_begin(&json, '{');
		allo_json_out_key(&json, "targets");
		allo_json_out_begin(&json, '[');
		allo_json_out_string(&json, host);
		allo_json_out_end(&json);
		allo_json_out_key(&json, "labels");
		allo_json_out_begin(&json, '{');
		allo_json_out_member_text(&json, "__param_pid", allo_text_of(pid));
		allo_json_out_member_text(&json, "pid", allo_text_of(pid));
		allo_json_out_member_text(&json, "program", allo_text_of(process->program));
		allo_json_out_end(&json);
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_output_string(out, "\n");
}

static void answer_targets(struct allo_http_request *request)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const char *host = allo_http_request_header(request, "Host");
	struct allo_error err = { 0 };
	char *text = NULL;
	size_t len;

	if (!host) {
		allo_http_request_refuse(request, ALLO_BAD_REQUEST,
					 "targets have the address of this server: send Host");
		return;
	}
	if (allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, &err)) {
		put_targets(&out, &request->server->processes, host);
		if (allo_output_finish(&out, &err))
			text = allo_output_take_memory(&out, &len, &err);
	}
	if (text)
		allo_http_request_text(request, "application/json", text, len);
	else
		allo_http_request_fail(request, ALLO_BROKEN, &err);
}

/* Recording. */

struct switch_task {
	const struct allo_served_process *process;
	bool is_on;
};

/* Runs in a worker: the process may take a while to answer. */
static unsigned switch_recording(const void *task, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct allo_control_reply *reply = malloc(sizeof(*reply));
	const struct allo_served_process *process = ((const struct switch_task *)task)->process;
	bool is_on = ((const struct switch_task *)task)->is_on;
	struct allo_message request;
	const char *file;
	char name[96];

	if (!reply) {
		allo_fail_memory(err);
		return ALLO_BROKEN;
	}
	snprintf(name, sizeof(name), "%s (%d)", process->program, (int)process->pid);
	if (!process->socket[0]) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s %s", name,
			  process->has_runtime ? "has no control socket"
					       : "does not have the runtime");
		allo_hint(err, "start it with 'allo run --control'");
		return ALLO_UNAVAILABLE;
	}
	allo_message_begin(&request, is_on ? "start" : "stop");
	allo_message_end(&request);
	if (!allo_control_request(process->socket, name, &request, reply, err))
		return allo_served_process_has_ended(process) ? ALLO_GONE : ALLO_UNAVAILABLE;
	file = allo_control_reply_text(reply, "file");
	dprintf(out, "%s: %s%s%s\n", name, is_on ? "recording" : "stopped",
		file ? (is_on ? " to " : ": ") : "", file ? file : "");
	return ALLO_DONE;
}

static void start_switch(struct allo_http_request *request, bool is_on)
{
	struct switch_task task = { .is_on = is_on };
	struct allo_served_process *process;

	if (!pick(request, &process))
		return;
	task.process = process;
	start_small(request, process, switch_recording, &task);
}

static void answer_enable(struct allo_http_request *request)
{
	start_switch(request, true);
}

static void answer_disable(struct allo_http_request *request)
{
	start_switch(request, false);
}

/* The page of `allo view`. */

static void answer_page(struct allo_http_request *request)
{
	allo_http_request_copy(request, "text/html; charset=utf-8", allo_page_gzip());
	request->reply.is_page = true;
}

/* With it, the page reads files that are dropped onto it. */
static void answer_engine(struct allo_http_request *request)
{
	struct allo_text engine = allo_embedded_engine();

	if (engine.len == 0)
		allo_http_request_refuse(request, ALLO_NOT_FOUND,
					 "this 'allo' was built without the page's engine");
	else
		allo_http_request_copy(request, "application/zstd", engine);
}

/* Answers from the opened files. */
static void answer_from_files(struct allo_http_request *request)
{
	ALLO_DEFER(allo_reply_done) struct allo_reply reply = { 0 };
	struct allo_text bytes = allo_ask(request->server->viewed,
					  (struct allo_text){ request->body.at, request->body.len },
					  &reply);

	if (bytes.len == 0)
		allo_http_request_refuse(request, ALLO_BROKEN, "out of memory");
	else
		allo_http_request_copy(request, "application/octet-stream", bytes);
}

static void answer_ask(struct allo_http_request *request)
{
	const char *pid = allo_http_request_argument(request, "pid");
	struct allo_served_process *process = NULL;
	struct allo_error err = { 0 };
	unsigned status;

	if (request->server->viewed) {
		answer_from_files(request);
		return;
	}
	if (request->body.len == 0 || request->body.len > ALLO_REQUEST_MAX) {
		allo_http_request_refuse(request, ALLO_BAD_REQUEST,
					 "a request of the page has 1 to %d bytes",
					 ALLO_REQUEST_MAX);
		return;
	}
	status = allo_process_list_pick(&request->server->processes, pid, &process, &err);
	/* The page shows a process also after its end. */
	if (status != ALLO_DONE && status != ALLO_GONE) {
		allo_http_request_fail(request, status, &err);
		return;
	}
	request->reply.type = "application/octet-stream";
	allo_http_server_follow(
		request,
		&(struct allo_heap_request){ .process = process,
					     .symbols = &request->server->symbols,
					     .ask = { request->body.at, request->body.len },
					     .find_more = request->server->find_more },
		HEAP_LIMIT_NS);
}

/* The table. */

/* clang-format off */
static const struct allo_route routes[] = {
	{ "/", ALLO_GET, NULL, answer_index },
	{ "/debug/pprof/", ALLO_GET, NULL, answer_index },
	{ "/debug/pprof/heap", ALLO_GET,
	  "live memory, for pprof; ?seconds=30: changes in the next 30 seconds; ?debug=1: as text", answer_heap },
	{ "/debug/pprof/allocs", ALLO_GET, "the same profile; all allocations so far are the default value", answer_allocs },
	{ "/debug/pprof/delta_heap", ALLO_GET, NULL, answer_delta }, /* not a link: each visit counts */
	{ "/debug/pprof/cmdline", ALLO_GET, "the command line", answer_cmdline },
	{ "/debug/pprof/symbol", ALLO_GET | ALLO_POST, NULL, answer_symbol },
	{ "/pprof/heap", ALLO_GET, "live memory, for google-pprof", answer_heap_text },
	{ "/pprof/cmdline", ALLO_GET, NULL, answer_cmdline },
	{ "/pprof/symbol", ALLO_GET | ALLO_POST, NULL, answer_symbol_inlined },
	{ "/metrics", ALLO_GET, "metrics for Prometheus; ?walk=arenas: also those of glibc's malloc", answer_metrics },
	{ "/memory", ALLO_GET, "the same metrics as JSON", answer_memory },
	{ "/targets", ALLO_GET, NULL, answer_targets },
	{ "/view", ALLO_GET, "the page of 'allo view', which follows the process", answer_page, .is_public = true },
	{ "/engine", ALLO_GET, NULL, answer_engine, .is_public = true },
	{ "/ask", ALLO_POST, NULL, answer_ask },
	{ "/enable", ALLO_POST, NULL, answer_enable, .changes = true },
	{ "/disable", ALLO_POST, NULL, answer_disable, .changes = true },
	{ NULL },
};
/* clang-format on */

const struct allo_route *allo_route_find(const char *path)
{
	for (const struct allo_route *route = routes; route->path; route++) {
		if (strcmp(route->path, path) == 0)
			return route;
	}
	return NULL;
}

unsigned allo_route_method(const char *name)
{
	if (strcmp(name, "GET") == 0 || strcmp(name, "HEAD") == 0)
		return ALLO_GET;
	return strcmp(name, "POST") == 0 ? ALLO_POST : 0;
}

const char *allo_route_methods(const struct allo_route *route)
{
	switch (route->methods) {
	case ALLO_GET:
		return "GET, HEAD";
	case ALLO_POST:
		return "POST";
	default:
		return "GET, HEAD, POST";
	}
}
