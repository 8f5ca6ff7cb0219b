/*
 * fuzz_http.c - the headers of HTTP requests, as `allo serve` checks them.
 *
 * The lines of the input are Host, Origin, Authorization, Accept and a path; the rest are headers.
 */
#include "serve/access.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOST, ORIGIN, AUTHORIZATION, ACCEPT, PATH, LINES };

/* A path without '%' must stay as it is, and none may grow. */
static void check_path(const char *path)
{
	char *copy = strdup(path);
	size_t len = copy ? allo_access_unescape(copy) : 0;

	if (copy && (len > strlen(path) || len != strlen(copy) ||
		     (!strchr(path, '%') && strcmp(copy, path) != 0)))
		abort();
	free(copy);
}

static void check_headers(struct allo_text rest)
{
	struct allo_header_check check = { 0 };
	struct allo_text line, name, value;

	while (allo_text_next(&rest, '\n', &line)) {
		if (allo_text_cut(line, ':', &name, &value))
			allo_header_check_add(&check, name, allo_text_trim(value));
	}
	allo_header_check_passes(&check);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const hosts[] = { "metrics.example" };
	const struct allo_access access = { .token = "correct-horse-battery",
					    .hosts = hosts,
					    .host_count = 1 };
	struct allo_text rest = { (const char *)data, size }, line;
	char *lines[LINES] = { NULL };

	for (int i = 0; i < LINES && allo_text_next(&rest, '\n', &line); i++)
		lines[i] = strndup(line.data, line.len);
	allo_access_allows_host(&access, lines[HOST]);
	allo_access_allows_origin(lines[ORIGIN], lines[HOST]);
	/* The token is no secret here, so that a fuzzer may find it. */
	if (allo_access_allows_token(&access, allo_access_bearer(lines[AUTHORIZATION])) &&
	    !strstr(lines[AUTHORIZATION], access.token))
		abort();
	allo_accepted_metrics(lines[ACCEPT]);
	if (lines[PATH])
		check_path(lines[PATH]);
	check_headers(rest);
	for (int i = 0; i < LINES; i++)
		free(lines[i]);
	return 0;
}
