/* request.c - builds replies and their headers. */
#include "serve/request.h"

#include "base/assert.h"
#include "base/defer.h"
#include "serve/routes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct allo_http_request *allo_http_request_new(struct allo_http_server *server,
						struct MHD_Connection *connection)
{
	struct allo_http_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->server = server;
	request->connection = connection;
	request->reply.fd = -1;
	return request;
}

static void reply_done(struct allo_http_reply *reply)
{
	free(reply->text);
	allo_close_fd(&reply->fd);
	*reply = (struct allo_http_reply){ .fd = -1 };
}

void allo_http_request_free(struct allo_http_request *request)
{
	if (!request)
		return;
	ALLO_ASSERT(request->server->bodies >= request->body_reserved);
	ALLO_ASSERT(request->server->files >= request->has_file);
	request->server->bodies -= request->body_reserved;
	request->server->files -= request->has_file;
	allo_vec_done(&request->body);
	reply_done(&request->reply);
	free(request);
}

const char *allo_http_request_header(const struct allo_http_request *request, const char *name)
{
	return allo_http.lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *allo_http_request_argument(const struct allo_http_request *request, const char *name)
{
	return allo_http.lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

void allo_http_request_text(struct allo_http_request *request, const char *type, char *text,
			    size_t len)
{
	request->reply = (struct allo_http_reply){
		.status = ALLO_DONE, .type = type, .text = text, .len = len, .fd = -1
	};
}

void allo_http_request_copy(struct allo_http_request *request, const char *type,
			    struct allo_text text)
{
	char *copy = malloc(text.len + 1);

	if (copy)
		memcpy(copy, text.data, text.len);
	allo_http_request_text(request, type, copy, copy ? text.len : 0);
}

void allo_http_request_file(struct allo_http_request *request, int fd)
{
	ALLO_ASSERT(fd >= 0 && request->reply.status == 0 && request->reply.type);
	request->reply.status = ALLO_DONE;
	request->reply.fd = fd;
	request->has_file = true;
	request->server->files++;
}

void allo_http_request_refuse(struct allo_http_request *request, unsigned status, const char *fmt,
			      ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line) - 1, fmt, args);
	va_end(args);
	strcat(line, "\n");
	reply_done(&request->reply);
	allo_http_request_copy(request, ALLO_PLAIN_TEXT, allo_text_of(line));
	request->reply.status = status;
}

void allo_http_request_fail(struct allo_http_request *request, unsigned status,
			    const struct allo_error *err)
{
	allo_http_request_refuse(request, status, "%s%s%s", err->message, err->hint[0] ? ": " : "",
				 err->hint);
}

static struct MHD_Response *make_response(struct allo_http_reply *reply)
{
	struct MHD_Response *response;
	struct stat status;

	if (reply->fd >= 0 && fstat(reply->fd, &status) == 0) {
		response = allo_http.create_response_from_fd64((uint64_t)status.st_size, reply->fd);
		if (response)
			reply->fd = -1; /* the response closes it */
		return response;
	}
	response = allo_http.create_response_from_buffer(reply->len, reply->text,
							 reply->text ? MHD_RESPMEM_MUST_FREE
								     : MHD_RESPMEM_PERSISTENT);
	if (response)
		reply->text = NULL;
	return response;
}

/* The page has a stricter policy in its head, with the hashes of its scripts. */
static const char page_policy[] = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
static const char plain_policy[] = "default-src 'none'; style-src 'unsafe-inline'";

static void add_headers(const struct allo_http_request *request, struct MHD_Response *response)
{
	const struct allo_http_reply *reply = &request->reply;
	const struct {
		const char *name, *value;
	} always[] = {
		{ "Content-Type", reply->type },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Content-Security-Policy", reply->is_page ? page_policy : plain_policy },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
		{ "Vary", "Accept" },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		allo_http.add_response_header(response, always[i].name, always[i].value);
	if (reply->is_page)
		allo_http.add_response_header(response, "Content-Encoding", "gzip");
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
					      allo_route_methods(request->route));
	/* The rest of the connection may be another request in the eyes of a proxy. */
	if (reply->ends_connection)
		allo_http.add_response_header(response, "Connection", "close");
	/* Go's pprof shows the body of an error only if it has this header. */
	if (reply->status >= ALLO_BAD_REQUEST)
		allo_http.add_response_header(response, "X-Go-Pprof", "1");
}

enum MHD_Result allo_http_request_send(struct allo_http_request *request)
{
	struct MHD_Response *response = make_response(&request->reply);
	enum MHD_Result result;

	ALLO_ASSERT(request->reply.status != 0);
	if (!response)
		return MHD_NO;
	add_headers(request, response);
	result = allo_http.queue_response(request->connection, request->reply.status, response);
	allo_http.destroy_response(response);
	return result;
}
