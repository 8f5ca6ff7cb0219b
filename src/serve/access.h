/*
 * access.h - who may ask.
 *
 * A browser asks whomever a page tells it to.  What it asks by a name that somebody else's server
 * has made up for this address, it says in Host; what a page of another place has it send, in
 * Origin.  Neither is for us.
 */
#ifndef ALLO_SERVE_ACCESS_H
#define ALLO_SERVE_ACCESS_H

#include "base/text.h"

/* All zeros: everybody who knows the address by its number. */
struct allo_access {
	const char *token;        /* that has to be given; NULL: none */
	const char *const *hosts; /* names that we go by, besides numbers and localhost */
	size_t host_count;
	bool has_no_host; /* browsers do not get here: it is a socket with a path */
};

/* As the header has it, which may be NULL. */
bool allo_access_allows_host(const struct allo_access *access, const char *host);

/* The same for one that may change something; `host` has been looked at before. */
bool allo_access_allows_origin(const char *origin, const char *host);

/* Takes as long for a token that is nearly right as for any other.  `given` may be NULL. */
bool allo_access_allows_token(const struct allo_access *access, const char *given);

/* The token of "Bearer TOKEN"; NULL when it is no such header. */
const char *allo_access_bearer(const char *authorization);

#endif
