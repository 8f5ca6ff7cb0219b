/* routes.c - see routes.h. */
#include "serve/routes.h"

#include "base/defer.h"
#include "serve/accepted_form.h"
#include "serve/address_names.h"
#include "serve/heap_profile.h"
#include "serve/index_page.h"
#include "serve/recording_switch.h"
#include "serve/scrape.h"
#include "telemetry/metrics.h"
#include "telemetry/monotonic_clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SECONDS(n) ((uint64_t)(n)*ALLO_SECOND_NS)

/* How long errands may take. */
#define HEAP_LIMIT_NS  SECONDS(120)
#define SMALL_LIMIT_NS SECONDS(30)

/* The process that is asked about; false, and the answer, when there is none. */
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

/* A number behind the question mark, or 0; false, and the answer, when it is none. */
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

/* How much time is wanted; false, and the answer, when it makes no sense. */
static bool take_seconds(struct allo_http_request *request, bool is_text, uint64_t *seconds)
{
	if (!take_number(request, "seconds", seconds))
		return false;
	if (!allo_http_request_argument(request, "seconds"))
		return true;
	if (*seconds == 0 || *seconds > ALLO_SECONDS_MOST)
		allo_http_request_refuse(request, ALLO_BAD_REQUEST, "seconds are 1 to %d",
					 ALLO_SECONDS_MOST);
	else if (is_text)
		allo_http_request_refuse(
			request, ALLO_BAD_REQUEST,
			"seconds are for profiles only: a text has no differences");
	else
		return true;
	return false;
}

static void capture(struct allo_http_request *request, enum allo_heap_format form, bool is_of_all)
{
	const char *names[] = { "heap", "allocs", "heap-delta", "allocs-delta" };
	struct allo_heap_request wish = { .symbols = request->server->symbols,
					  .form = form,
					  .is_of_all = is_of_all,
					  .asked_ns = allo_clock_ns() };
	bool is_text = form != ALLO_HEAP_PPROF;
	struct allo_served_process *process;

	if (!take_seconds(request, is_text, &wish.seconds) || !pick(request, &process))
		return;
	wish.process = process;
	request->reply.type = is_text ? ALLO_PLAIN_TEXT : "application/octet-stream";
	if (!is_text)
		request->reply.file = names[is_of_all + 2 * (wish.seconds > 0)];
	if (request->is_head)
		request->reply.status = ALLO_DONE;
	else
		allo_http_server_send(request,
				      &(struct allo_sending){ .lane = ALLO_LANE_HEAP,
							      .work = allo_served_heap,
							      .wish = &wish,
							      .kept = process->pidfd,
							      .busy_ns = SECONDS(wish.seconds),
							      .limit_ns = HEAP_LIMIT_NS });
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

/* For what takes a moment only. */
static void send_shortly(struct allo_http_request *request,
			 const struct allo_served_process *process, allo_worker_function work,
			 const void *wish)
{
	request->reply.type = ALLO_PLAIN_TEXT;
	allo_http_server_send(request, &(struct allo_sending){ .lane = ALLO_LANE_SMALL,
							       .work = work,
							       .wish = wish,
							       .kept = process->pidfd,
							       .limit_ns = SMALL_LIMIT_NS });
}

/* Names. */

static void name_addresses(struct allo_http_request *request, bool lists_inlined)
{
	struct allo_address_request wish = { .symbols = request->server->symbols,
					     .addresses = { request->body.at, request->body.len },
					     .lists_inlined = lists_inlined };
	struct allo_served_process *process;

	/* Who only wants to know whether there are names gets no number of them. */
	if (!request->is_post) {
		allo_http_request_copy(request, ALLO_PLAIN_TEXT, ALLO_TEXT("num_symbols: 1\n"));
		return;
	}
	if (!pick(request, &process))
		return;
	wish.process = process;
	send_shortly(request, process, allo_address_names, &wish);
}

static void answer_symbol(struct allo_http_request *request)
{
	name_addresses(request, false);
}

static void answer_symbol_inlined(struct allo_http_request *request)
{
	name_addresses(request, true);
}

/* The words of it have a NUL between them. */
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
	/* A program that has given itself another name has left room behind it. */
	while (len > 0 && words[len - 1] == '\0')
		len--;
	if (len <= 0)
		allo_http_request_refuse(request, ALLO_GONE, "%s (%d) has ended", process->program,
					 (int)process->pid);
	else
		allo_http_request_copy(request, ALLO_PLAIN_TEXT,
				       (struct allo_text){ words, (size_t)len });
}

/* Figures. */

/* The one that is asked about, or is all that there ever is; NULL: all.  False, and the answer,
 * when there is no such process. */
static bool pick_or_all(struct allo_http_request *request, struct allo_served_process **process)
{
	const struct allo_process_list *processes = &request->server->processes;

	*process = NULL;
	return (!allo_http_request_argument(request, "pid") &&
		(processes->is_open || processes->all.len > 1)) ||
	       pick(request, process);
}

static void answer_metrics(struct allo_http_request *request)
{
	enum allo_metrics_format form = allo_accepted_form(
		allo_http_request_header(request, "Accept"));
	struct allo_error err = { 0 };
	struct allo_served_process *process;
	char *text = NULL;
	size_t len;

	if (!pick_or_all(request, &process))
		return;
	if (allo_scrape_metrics(&request->server->processes, process, form, &text, &len, &err))
		allo_http_request_text(request, allo_metrics_content_type(form), text, len);
	else
		allo_http_request_fail(request, err.code == ALLO_IO ? ALLO_GONE : ALLO_BROKEN,
				       &err);
}

static void answer_memory(struct allo_http_request *request)
{
	struct allo_error err = { 0 };
	struct allo_served_process *process;
	char *text = NULL;
	size_t len;

	if (!pick_or_all(request, &process))
		return;
	if (allo_scrape_json(&request->server->processes, process, &text, &len, &err))
		allo_http_request_text(request, allo_metrics_content_type(ALLO_METRICS_JSON), text,
				       len);
	else
		allo_http_request_fail(request, err.code == ALLO_IO ? ALLO_GONE : ALLO_BROKEN,
				       &err);
}

static void answer_index(struct allo_http_request *request)
{
	struct allo_error err = { 0 };
	size_t len;
	char *text = allo_index_page(&request->server->processes, &len, &err);

	if (text)
		allo_http_request_text(request, "text/html; charset=utf-8", text, len);
	else
		allo_http_request_fail(request, ALLO_BROKEN, &err);
}

/* Recording. */

static void turn(struct allo_http_request *request, bool is_on)
{
	struct allo_switch_wish wish = { .is_on = is_on };
	struct allo_served_process *process;

	if (!pick(request, &process))
		return;
	wish.process = process;
	send_shortly(request, process, allo_recording_switch, &wish);
}

static void answer_enable(struct allo_http_request *request)
{
	turn(request, true);
}

static void answer_disable(struct allo_http_request *request)
{
	turn(request, false);
}

/* All. */

/* clang-format off */
const struct allo_route allo_routes[] = {
	{ "/", ALLO_GET, NULL, answer_index },
	{ "/debug/pprof/", ALLO_GET, NULL, answer_index },
	{ "/debug/pprof/heap", ALLO_GET,
	  "what is live now, for pprof; ?seconds=30: what has changed in that time; ?debug=1: as text", answer_heap },
	{ "/debug/pprof/allocs", ALLO_GET, "the same, with all that was ever allocated first", answer_allocs },
	{ "/debug/pprof/cmdline", ALLO_GET, "the command line", answer_cmdline },
	{ "/debug/pprof/symbol", ALLO_GET | ALLO_POST, NULL, answer_symbol },
	{ "/pprof/heap", ALLO_GET, "what is live now, for google-pprof", answer_heap_text },
	{ "/pprof/cmdline", ALLO_GET, NULL, answer_cmdline },
	{ "/pprof/symbol", ALLO_GET | ALLO_POST, NULL, answer_symbol_inlined },
	{ "/metrics", ALLO_GET, "figures for Prometheus", answer_metrics },
	{ "/memory", ALLO_GET, "the same figures as JSON", answer_memory },
	{ "/enable", ALLO_POST, NULL, answer_enable },
	{ "/disable", ALLO_POST, NULL, answer_disable },
	{ NULL },
};
/* clang-format on */

const struct allo_route *allo_route_find(const char *path)
{
	for (const struct allo_route *route = allo_routes; route->path; route++) {
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
