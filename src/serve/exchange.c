/* exchange.c - see exchange.h. */
#include "serve/exchange.h"

#include "base/defer.h"
#include "serve/routes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct allo_exchange *allo_exchange_new(struct allo_server *server,
					struct MHD_Connection *connection)
{
	struct allo_exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		return NULL;
	exchange->server = server;
	exchange->connection = connection;
	exchange->reply.fd = -1;
	return exchange;
}

static void reply_done(struct allo_reply *reply)
{
	free(reply->text);
	allo_close_fd(&reply->fd);
	*reply = (struct allo_reply){ .fd = -1 };
}

void allo_exchange_free(struct allo_exchange *exchange)
{
	if (!exchange)
		return;
	exchange->server->bodies -= exchange->body_room;
	exchange->server->files -= exchange->has_file;
	allo_vec_done(&exchange->body);
	reply_done(&exchange->reply);
	free(exchange);
}

const char *allo_exchange_header(const struct allo_exchange *exchange, const char *name)
{
	return allo_http.lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const char *allo_exchange_argument(const struct allo_exchange *exchange, const char *name)
{
	return allo_http.lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

void allo_exchange_text(struct allo_exchange *exchange, const char *type, char *text, size_t len)
{
	exchange->reply = (struct allo_reply){
		.status = ALLO_DONE, .type = type, .text = text, .len = len, .fd = -1
	};
}

void allo_exchange_copy(struct allo_exchange *exchange, const char *type, struct allo_text text)
{
	char *copy = malloc(text.len + 1);

	if (copy)
		memcpy(copy, text.data, text.len);
	allo_exchange_text(exchange, type, copy, copy ? text.len : 0);
}

void allo_exchange_file(struct allo_exchange *exchange, int fd)
{
	exchange->reply.status = ALLO_DONE;
	exchange->reply.fd = fd;
	exchange->has_file = true;
	exchange->server->files++;
}

void allo_exchange_refuse(struct allo_exchange *exchange, unsigned status, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line) - 1, fmt, args);
	va_end(args);
	strcat(line, "\n");
	reply_done(&exchange->reply);
	allo_exchange_copy(exchange, ALLO_PLAIN_TEXT, allo_text_of(line));
	exchange->reply.status = status;
}

void allo_exchange_fail(struct allo_exchange *exchange, unsigned status,
			const struct allo_error *err)
{
	allo_exchange_refuse(exchange, status, "%s%s%s", err->message, err->hint[0] ? ": " : "",
			     err->hint);
}

/* To the library. */

static struct MHD_Response *make_response(struct allo_reply *reply)
{
	struct MHD_Response *response;
	struct stat status;

	if (reply->fd >= 0 && fstat(reply->fd, &status) == 0) {
		response = allo_http.create_response_from_fd64((uint64_t)status.st_size, reply->fd);
		if (response)
			reply->fd = -1; /* it is closed with the response */
		return response;
	}
	response = allo_http.create_response_from_buffer(reply->len, reply->text,
							 reply->text ? MHD_RESPMEM_MUST_FREE
								     : MHD_RESPMEM_PERSISTENT);
	if (response)
		reply->text = NULL;
	return response;
}

static void add_headers(const struct allo_exchange *exchange, struct MHD_Response *response)
{
	const struct allo_reply *reply = &exchange->reply;
	const struct {
		const char *name, *value;
	} always[] = {
		{ "Content-Type", reply->type },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
		{ "Vary", "Accept" },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		allo_http.add_response_header(response, always[i].name, always[i].value);
	if (reply->file) {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", reply->file);
		allo_http.add_response_header(response, "Content-Disposition", text);
	}
	if (reply->retry_after) {
		snprintf(text, sizeof(text), "%u", reply->retry_after);
		allo_http.add_response_header(response, "Retry-After", text);
	}
	if (reply->status == MHD_HTTP_UNAUTHORIZED)
		allo_http.add_response_header(response, "WWW-Authenticate", "Bearer, Basic");
	if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		allo_http.add_response_header(response, "Allow",
					      allo_route_methods(exchange->route));
	/* pprof shows what went wrong if the answer says that it is from one of its own. */
	if (reply->status >= ALLO_BAD_REQUEST)
		allo_http.add_response_header(response, "X-Go-Pprof", "1");
}

enum MHD_Result allo_exchange_send(struct allo_exchange *exchange)
{
	struct MHD_Response *response = make_response(&exchange->reply);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	add_headers(exchange, response);
	result = allo_http.queue_response(exchange->connection, exchange->reply.status, response);
	allo_http.destroy_response(response);
	return result;
}
