/* routes.c - see routes.h. */
#include "serve/routes.h"

#include "base/defer.h"
#include "serve/accepted_form.h"
#include "serve/address_names.h"
#include "serve/index_page.h"
#include "serve/recording_switch.h"
#include "serve/scrape.h"
#include "serve/served_heap.h"
#include "telemetry/metrics.h"
#include "telemetry/ticking.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SECONDS(n) ((uint64_t)(n)*ALLO_SECOND_NS)

/* How long errands may take. */
#define HEAP_LIMIT_NS  SECONDS(120)
#define SMALL_LIMIT_NS SECONDS(30)

/* The process that is asked about; false, and the answer, when there is none. */
static bool pick(struct allo_exchange *exchange, struct allo_served **served)
{
	struct allo_error err = { 0 };
	unsigned status = allo_roster_pick(&exchange->server->roster,
					   allo_exchange_argument(exchange, "pid"), served, &err);

	if (status != ALLO_DONE)
		allo_exchange_fail(exchange, status, &err);
	return status == ALLO_DONE;
}

/* Heaps. */

/* A number behind the question mark, or 0; false, and the answer, when it is none. */
static bool take_number(struct allo_exchange *exchange, const char *name, uint64_t *number)
{
	const char *text = allo_exchange_argument(exchange, name);

	*number = 0;
	if (!text || allo_text_u64(allo_text_of(text), number))
		return true;
	allo_exchange_refuse(exchange, ALLO_BAD_REQUEST, "%s is a number, not '%.40s'", name, text);
	return false;
}

/* How much time is wanted; false, and the answer, when it makes no sense. */
static bool take_seconds(struct allo_exchange *exchange, bool is_text, uint64_t *seconds)
{
	if (!take_number(exchange, "seconds", seconds))
		return false;
	if (!allo_exchange_argument(exchange, "seconds"))
		return true;
	if (*seconds == 0 || *seconds > ALLO_SECONDS_MOST)
		allo_exchange_refuse(exchange, ALLO_BAD_REQUEST, "seconds are 1 to %d",
				     ALLO_SECONDS_MOST);
	else if (is_text)
		allo_exchange_refuse(exchange, ALLO_BAD_REQUEST,
				     "seconds are for profiles only: a text has no differences");
	else
		return true;
	return false;
}

static void capture(struct allo_exchange *exchange, enum allo_heap_form form, bool is_of_all)
{
	const char *names[] = { "heap", "allocs", "heap-delta", "allocs-delta" };
	struct allo_heap_wish wish = { .symbols = exchange->server->symbols,
				       .form = form,
				       .is_of_all = is_of_all,
				       .asked_ns = allo_clock_ns() };
	bool is_text = form != ALLO_HEAP_PPROF;
	struct allo_served *served;

	if (!take_seconds(exchange, is_text, &wish.seconds) || !pick(exchange, &served))
		return;
	wish.served = served;
	exchange->reply.type = is_text ? ALLO_PLAIN_TEXT : "application/octet-stream";
	if (!is_text)
		exchange->reply.file = names[is_of_all + 2 * (wish.seconds > 0)];
	if (exchange->is_head)
		exchange->reply.status = ALLO_DONE;
	else
		allo_server_send(exchange, &(struct allo_sending){ .lane = ALLO_LANE_HEAP,
								   .work = allo_served_heap,
								   .wish = &wish,
								   .kept = served->pidfd,
								   .busy_ns = SECONDS(wish.seconds),
								   .limit_ns = HEAP_LIMIT_NS });
}

static void capture_either(struct allo_exchange *exchange, bool is_of_all)
{
	uint64_t debug;

	if (take_number(exchange, "debug", &debug))
		capture(exchange, debug ? ALLO_HEAP_NAMED_TEXT : ALLO_HEAP_PPROF, is_of_all);
}

static void answer_heap(struct allo_exchange *exchange)
{
	capture_either(exchange, false);
}

static void answer_allocs(struct allo_exchange *exchange)
{
	capture_either(exchange, true);
}

static void answer_heap_text(struct allo_exchange *exchange)
{
	capture(exchange, ALLO_HEAP_TEXT, false);
}

/* For what takes a moment only. */
static void send_shortly(struct allo_exchange *exchange, const struct allo_served *served,
			 allo_errand_work work, const void *wish)
{
	exchange->reply.type = ALLO_PLAIN_TEXT;
	allo_server_send(exchange, &(struct allo_sending){ .lane = ALLO_LANE_SMALL,
							   .work = work,
							   .wish = wish,
							   .kept = served->pidfd,
							   .limit_ns = SMALL_LIMIT_NS });
}

/* Names. */

static void name_addresses(struct allo_exchange *exchange, bool lists_inlined)
{
	struct allo_address_wish wish = { .symbols = exchange->server->symbols,
					  .addresses = { exchange->body.at, exchange->body.len },
					  .lists_inlined = lists_inlined };
	struct allo_served *served;

	/* Who only wants to know whether there are names gets no number of them. */
	if (!exchange->is_post) {
		allo_exchange_copy(exchange, ALLO_PLAIN_TEXT, ALLO_TEXT("num_symbols: 1\n"));
		return;
	}
	if (!pick(exchange, &served))
		return;
	wish.served = served;
	send_shortly(exchange, served, allo_address_names, &wish);
}

static void answer_symbol(struct allo_exchange *exchange)
{
	name_addresses(exchange, false);
}

static void answer_symbol_inlined(struct allo_exchange *exchange)
{
	name_addresses(exchange, true);
}

/* The words of it have a NUL between them. */
static void answer_cmdline(struct allo_exchange *exchange)
{
	ALLO_DEFER(allo_close_fd) int fd = -1;
	struct allo_served *served;
	char path[64], words[4096];
	ssize_t len = 0;

	if (!pick(exchange, &served))
		return;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)served->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, words, sizeof(words));
	/* A program that has given itself another name has left room behind it. */
	while (len > 0 && words[len - 1] == '\0')
		len--;
	if (len <= 0)
		allo_exchange_refuse(exchange, ALLO_GONE, "%s (%d) has ended", served->program,
				     (int)served->pid);
	else
		allo_exchange_copy(exchange, ALLO_PLAIN_TEXT,
				   (struct allo_text){ words, (size_t)len });
}

/* Figures. */

/* The one that is asked about, or is all that there ever is; NULL: all.  False, and the answer,
 * when there is no such process. */
static bool pick_or_all(struct allo_exchange *exchange, struct allo_served **served)
{
	const struct allo_roster *roster = &exchange->server->roster;

	*served = NULL;
	return (!allo_exchange_argument(exchange, "pid") &&
		(roster->is_open || roster->all.len > 1)) ||
	       pick(exchange, served);
}

static void answer_metrics(struct allo_exchange *exchange)
{
	enum allo_metrics_format form = allo_accepted_form(
		allo_exchange_header(exchange, "Accept"));
	struct allo_error err = { 0 };
	struct allo_served *served;
	char *text = NULL;
	size_t len;

	if (!pick_or_all(exchange, &served))
		return;
	if (allo_scrape_metrics(&exchange->server->roster, served, form, &text, &len, &err))
		allo_exchange_text(exchange, allo_metrics_content_type(form), text, len);
	else
		allo_exchange_fail(exchange, err.code == ALLO_IO ? ALLO_GONE : ALLO_BROKEN, &err);
}

static void answer_memory(struct allo_exchange *exchange)
{
	struct allo_error err = { 0 };
	struct allo_served *served;
	char *text = NULL;
	size_t len;

	if (!pick_or_all(exchange, &served))
		return;
	if (allo_scrape_json(&exchange->server->roster, served, &text, &len, &err))
		allo_exchange_text(exchange, allo_metrics_content_type(ALLO_METRICS_JSON), text,
				   len);
	else
		allo_exchange_fail(exchange, err.code == ALLO_IO ? ALLO_GONE : ALLO_BROKEN, &err);
}

static void answer_index(struct allo_exchange *exchange)
{
	struct allo_error err = { 0 };
	size_t len;
	char *text = allo_index_page(&exchange->server->roster, &len, &err);

	if (text)
		allo_exchange_text(exchange, "text/html; charset=utf-8", text, len);
	else
		allo_exchange_fail(exchange, ALLO_BROKEN, &err);
}

/* Recording. */

static void turn(struct allo_exchange *exchange, bool is_on)
{
	struct allo_switch_wish wish = { .is_on = is_on };
	struct allo_served *served;

	if (!pick(exchange, &served))
		return;
	wish.served = served;
	send_shortly(exchange, served, allo_recording_switch, &wish);
}

static void answer_enable(struct allo_exchange *exchange)
{
	turn(exchange, true);
}

static void answer_disable(struct allo_exchange *exchange)
{
	turn(exchange, false);
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
