/*
 * request.h - a request and its answer.
 */
#ifndef ALLO_SERVE_REQUEST_H
#define ALLO_SERVE_REQUEST_H

#include "base/text.h"
#include "serve/http_library.h"
#include "serve/server.h"
#include "serve/worker.h"

enum {
	ALLO_BODY_MOST = 1 << 20,   /* bytes of a body */
	ALLO_BODIES_MOST = 4 << 20, /* and of all that there are at once */
};

struct allo_reply {
	unsigned status;  /* 0: there is none yet */
	const char *type; /* of what is sent */
	const char *file; /* the name that it may be kept under, or NULL */
	char *text;       /* what is sent, to be freed, or */
	size_t len;
	int fd;               /* a file with it; -1: none */
	unsigned retry_after; /* seconds; 0: nothing is said of it */
};

struct allo_http_request {
	struct allo_http_server *server;
	struct MHD_Connection *connection;
	const struct allo_route *route; /* NULL: it was refused before that was looked for */
	bool is_post;
	bool is_head;   /* nobody wants to see what is in it */
	bool is_listed; /* the processes is as new as it gets for this one */
	ALLO_VEC(char) body;
	size_t body_room; /* that it counts for among all bodies */
	bool has_file;    /* and that it does among files */
	struct allo_reply reply;
};

struct allo_http_request *allo_http_request_new(struct allo_http_server *server,
						struct MHD_Connection *connection);

/* NULL is fine. */
void allo_http_request_free(struct allo_http_request *request);

/* A header, and what stands behind the question mark; NULL when it is not there. */
const char *allo_http_request_header(const struct allo_http_request *request, const char *name);
const char *allo_http_request_argument(const struct allo_http_request *request, const char *name);

/* Answers.  The text is the request's from now on. */
void allo_http_request_text(struct allo_http_request *request, const char *type, char *text,
			    size_t len);

/* The same with a copy of a text. */
void allo_http_request_copy(struct allo_http_request *request, const char *type,
			    struct allo_text text);

/* What is in a file, which is the request's from now on, of the type that the reply has. */
void allo_http_request_file(struct allo_http_request *request, int fd);

/* What went wrong, in one line. */
void allo_http_request_fail(struct allo_http_request *request, unsigned status,
			    const struct allo_error *err);
void allo_http_request_refuse(struct allo_http_request *request, unsigned status, const char *fmt,
			      ...) __attribute__((format(printf, 3, 4)));

/* Hands the answer to the library. */
enum MHD_Result allo_http_request_send(struct allo_http_request *request);

#endif
