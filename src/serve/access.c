/* access.c - parses the headers Host, Origin, Authorization and Accept. */
#include "serve/access.h"

#include "base/assert.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* The host of "[::1]:80" and "name:80"; empty if the port is malformed. */
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

bool allo_access_allows_changes(const struct allo_access *access)
{
	return access->token || access->has_no_host;
}

static int hex_digit(char c)
{
	if (allo_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t allo_access_unescape(char *text)
{
	char *out = text;

	for (const char *at = text; *at; at++) {
		int high = *at == '%' ? hex_digit(at[1]) : -1;
		int low = high >= 0 ? hex_digit(at[2]) : -1;

		if (low >= 0 && high + low > 0) {
			*out++ = (char)(high << 4 | low);
			at += 2;
		} else {
			*out++ = *at;
		}
	}
	*out = '\0';
	return (size_t)(out - text);
}

/* Headers. */

static bool is_word(struct allo_text text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

void allo_header_check_add(struct allo_header_check *check, struct allo_text name,
			   struct allo_text value)
{
	check->lengths += is_word(name, "Content-Length");
	check->encodings += is_word(name, "Transfer-Encoding");
	check->has_nul |= (name.len > 0 && memchr(name.data, '\0', name.len)) ||
			  (value.len > 0 && memchr(value.data, '\0', value.len));
}

bool allo_header_check_passes(const struct allo_header_check *check)
{
	return check->lengths + check->encodings <= 1 && !check->has_nul;
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
	ALLO_ASSERT(len > 0);
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

/* Accept. */

/* "0.75" in thousandths; 0 if it is not a number. */
static unsigned thousandths(struct allo_text text)
{
	unsigned scale = 1000, sum = 0;

	for (size_t i = 0; i < text.len && scale > 0; i++) {
		if (i == 1 && text.data[i] == '.')
			continue;
		if (!allo_is_digit(text.data[i]) || i > 4)
			return 0;
		sum += (unsigned)(text.data[i] - '0') * scale;
		scale /= 10;
	}
	return sum;
}

/* The weight of a list entry: "text/plain;version=0.0.4;q=0.5" is 500. */
static unsigned weight_of(struct allo_text parameters)
{
	struct allo_text parameter, key, value;
	unsigned weight = 1000;

	while (allo_text_next(&parameters, ';', &parameter)) {
		if (allo_text_cut(allo_text_trim(parameter), '=', &key, &value) &&
		    is_word(allo_text_trim(key), "q"))
			weight = thousandths(allo_text_trim(value));
	}
	return weight;
}

enum allo_metrics_format allo_accepted_metrics(const char *accept)
{
	struct allo_text rest = allo_text_of(accept ? accept : ""), entry, type;
	unsigned plain = 0, open = 0, weight;

	while (allo_text_next(&rest, ',', &entry)) {
		if (!allo_text_next(&entry, ';', &type))
			continue;
		type = allo_text_trim(type);
		weight = weight_of(entry);
		if (is_word(type, "application/openmetrics-text"))
			open = weight > open ? weight : open;
		else if (is_word(type, "text/plain") || is_word(type, "text/*") ||
			 is_word(type, "*/*"))
			plain = weight > plain ? weight : plain;
	}
	return open > 0 && open >= plain ? ALLO_METRICS_OPENMETRICS : ALLO_METRICS_PROMETHEUS;
}

bool allo_access_make_token(char token[ALLO_TOKEN_SIZE], struct allo_error *err)
{
	unsigned char bytes[ALLO_TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return allo_fail_errno(err, NULL, "make a token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		sprintf(token + 2 * i, "%02x", bytes[i]);
	return true;
}
