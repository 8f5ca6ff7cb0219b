/*
 * routes.h - what can be asked for.
 */
#ifndef ALLO_SERVE_ROUTES_H
#define ALLO_SERVE_ROUTES_H

#include "serve/request.h"

#define ALLO_PLAIN_TEXT "text/plain; charset=utf-8"

enum { ALLO_GET = 1, ALLO_POST = 2 }; /* HEAD is for what GET is for */

enum { ALLO_SECONDS_MOST = 60 };

struct allo_route {
	const char *path; /* NULL ends the table */
	unsigned methods;
	const char *about; /* for the page that lists them; NULL: it is not on it */
	/* Answers, or sends somebody on an worker. */
	void (*answer)(struct allo_http_request *request);
};

extern const struct allo_route allo_routes[];

/* NULL when there is none. */
const struct allo_route *allo_route_find(const char *path);

/* By its name; 0 for one that no route has. */
unsigned allo_route_method(const char *name);

/* "GET, HEAD" */
const char *allo_route_methods(const struct allo_route *route);

#endif
