/*
 * access.h - checks of request headers: who may ask, and which format of metrics a client accepts.
 *
 * A web page can make a browser send requests to this server.  Two headers expose them: Host holds
 * a foreign name if an attacker's DNS server points it at this address, and Origin names the site
 * of the page.  Both kinds are refused.
 */
#ifndef ALLO_SERVE_ACCESS_H
#define ALLO_SERVE_ACCESS_H

#include "base/error.h"
#include "base/text.h"

#include <allo.h>

/* All zeros: every client that uses a numeric address or localhost. */
struct allo_access {
	const char *token;        /* that clients have to send; NULL: none */
	const char *const *hosts; /* names of this server, besides numbers and localhost */
	size_t host_count;
	bool has_no_host; /* listens on a Unix socket, which browsers cannot reach: any Host is
			     allowed */
};

/* Whether the header Host, which may be NULL, names this server. */
bool allo_access_allows_host(const struct allo_access *access, const char *host);

/* Whether recordings may be started and stopped: with a token, or by the user of a Unix socket. */
bool allo_access_allows_changes(const struct allo_access *access);

/* Decodes %XX in place, and returns the new length.  %00 stays as it is: the rest of the text would
 * be lost. */
size_t allo_access_unescape(char *text);

/* The headers of a request, one by one: finds those that proxies and servers read differently. */
struct allo_header_check {
	unsigned lengths, encodings; /* Content-Length, Transfer-Encoding */
	bool has_nul;
};

void allo_header_check_add(struct allo_header_check *check, struct allo_text name,
			   struct allo_text value);
bool allo_header_check_passes(const struct allo_header_check *check);

/* Whether a request that changes something may come from this Origin, which may be NULL.  `host`
 * was allowed before. */
bool allo_access_allows_origin(const char *origin, const char *host);

/* Random tokens of this length cannot be guessed. */
enum { ALLO_TOKEN_BYTES = 16, ALLO_TOKEN_SIZE = 2 * ALLO_TOKEN_BYTES + 1 };

/* A random token, in hexadecimal digits. */
bool allo_access_make_token(char token[ALLO_TOKEN_SIZE], struct allo_error *err);

/* Takes the same time for every wrong token of a length.  `given` may be NULL. */
bool allo_access_allows_token(const struct allo_access *access, const char *given);

/* The token of "Bearer TOKEN"; NULL for any other header. */
const char *allo_access_bearer(const char *authorization);

/* The format that the header Accept, which may be NULL, asks for: Prometheus text, unless
 * OpenMetrics is listed with at least the same weight. */
enum allo_metrics_format allo_accepted_metrics(const char *accept);

#endif
