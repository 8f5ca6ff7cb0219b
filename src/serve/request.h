/*
 * request.h - an HTTP request and its reply.
 */
#ifndef ALLO_SERVE_REQUEST_H
#define ALLO_SERVE_REQUEST_H

#include "base/text.h"
#include "serve/http_library.h"
#include "serve/server.h"
#include "serve/worker.h"

enum {
	ALLO_BODY_MAX = 1 << 20,   /* bytes of one body */
	ALLO_BODIES_MAX = 4 << 20, /* bytes of all bodies at a time */
};

struct allo_http_reply {
	unsigned status;      /* 0: there is no reply yet */
	const char *type;     /* Content-Type */
	const char *file;     /* name for a download, or NULL */
	char *text;           /* the body, freed with the request; or NULL: */
	int fd;               /* a file with the body; -1: none */
	size_t len;           /* of the text */
	unsigned retry_after; /* seconds; 0: no such header */
	bool is_page;         /* compressed HTML with scripts, and with its own policy in it */
	bool ends_connection;
};

struct allo_http_request {
	struct allo_http_server *server;
	struct MHD_Connection *connection;
	const struct allo_route *route; /* NULL: refused before the route was looked up */
	bool is_post;
	bool is_head;   /* the client wants headers only */
	bool is_listed; /* the process list was refreshed for this request */
	ALLO_VEC(char) body;
	size_t body_reserved; /* bytes that count towards ALLO_BODIES_MAX */
	bool has_file;        /* the reply counts towards the server's open files */
	struct allo_http_reply reply;
};

/* NULL when memory is short. */
struct allo_http_request *allo_http_request_new(struct allo_http_server *server,
						struct MHD_Connection *connection);

/* `request` may be NULL. */
void allo_http_request_free(struct allo_http_request *request);

/* A header, and an argument of the query string; NULL if it is absent. */
const char *allo_http_request_header(const struct allo_http_request *request, const char *name);
const char *allo_http_request_argument(const struct allo_http_request *request, const char *name);

/* Replies with a text, which the request owns from now on. */
void allo_http_request_text(struct allo_http_request *request, const char *type, char *text,
			    size_t len);

/* Replies with a copy of a text. */
void allo_http_request_copy(struct allo_http_request *request, const char *type,
			    struct allo_text text);

/* Replies with a file, which the request owns from now on.  reply.type is set already. */
void allo_http_request_file(struct allo_http_request *request, int fd);

/* Replies with one line that says why the request failed. */
void allo_http_request_fail(struct allo_http_request *request, unsigned status,
			    const struct allo_error *err);
void allo_http_request_refuse(struct allo_http_request *request, unsigned status, const char *fmt,
			      ...) __attribute__((format(printf, 3, 4)));

/* Passes the reply to libmicrohttpd. */
enum MHD_Result allo_http_request_send(struct allo_http_request *request);

#endif
