/*
 * routes.h - the table of paths that the server answers.
 */
#ifndef ALLO_SERVE_ROUTES_H
#define ALLO_SERVE_ROUTES_H

#include "serve/request.h"

#define ALLO_PLAIN_TEXT "text/plain; charset=utf-8"

enum { ALLO_GET = 1, ALLO_POST = 2 }; /* a path with GET has HEAD too */

struct allo_route {
	const char *path; /* NULL ends the table */
	unsigned methods;
	const char *about; /* for the index page; NULL: not listed there */
	/* Sets the reply, or starts a worker that will. */
	void (*answer)(struct allo_http_request *request);
	bool is_public; /* needs no token, since it shows no data */
	bool changes;   /* starts or stops recordings */
};

/* NULL if there is no such path. */
const struct allo_route *allo_route_find(const char *path);

/* The bit of a method; 0 for methods that no route has. */
unsigned allo_route_method(const char *name);

/* The methods of a route, for the header Allow: "GET, HEAD". */
const char *allo_route_methods(const struct allo_route *route);

#endif
