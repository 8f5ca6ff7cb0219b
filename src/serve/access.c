/* access.c - see access.h. */
#include "serve/access.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* "[::1]:80" and "name:80" without the port. */
static struct allo_text without_port(struct allo_text host)
{
	struct allo_text name, port;
	uint64_t number;

	if (allo_text_starts(host, ALLO_TEXT("["))) {
		if (allo_text_cut_last(host, ']', &name, &port) &&
		    (port.len == 0 ||
		     (allo_text_skip(&port, ALLO_TEXT(":")) && allo_text_u64(port, &number))))
			return allo_text_from(name, 1);
		return (struct allo_text){ "", 0 };
	}
	if (allo_text_cut(host, ':', &name, &port))
		return allo_text_u64(port, &number) ? name : (struct allo_text){ "", 0 };
	return host;
}

static bool is_number(const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

bool allo_access_allows_host(const struct allo_access *access, const char *host)
{
	struct allo_text bare = without_port(allo_text_of(host ? host : ""));
	char name[256];

	if (access->has_no_host)
		return true;
	if (bare.len == 0 || bare.len >= sizeof(name))
		return false;
	memcpy(name, bare.data, bare.len);
	name[bare.len] = '\0';
	for (size_t i = 0; i < access->host_count; i++) {
		if (strcasecmp(name, access->hosts[i]) == 0)
			return true;
	}
	return is_number(name) || strcasecmp(name, "localhost") == 0;
}

bool allo_access_allows_origin(const char *origin, const char *host)
{
	struct allo_text rest;

	if (!origin)
		return true;
	rest = allo_text_of(origin);
	return host && allo_text_skip(&rest, ALLO_TEXT("http://")) && rest.len == strlen(host) &&
	       strncasecmp(rest.data, host, rest.len) == 0;
}

bool allo_access_allows_token(const struct allo_access *access, const char *given)
{
	size_t given_len = given ? strlen(given) : 0, len;
	volatile unsigned char difference;

	if (!access->token)
		return true;
	len = strlen(access->token);
	difference = given_len != len;
	for (size_t i = 0; i < given_len; i++)
		difference |= (unsigned char)(given[i] ^ access->token[i % len]);
	return difference == 0;
}

const char *allo_access_bearer(const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return NULL;
	return authorization + strlen(scheme);
}
