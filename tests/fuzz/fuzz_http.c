/*
 * fuzz_http.c - HTTP requests, as `allo serve` checks them.
 *
 * The lines of the input are Host, Origin, Authorization, Accept and a path; the rest are headers,
 * and behind an empty line the body of POST /symbol.
 */
#include "serve/access.h"
#include "serve/address_list.h"

#include <stdint.h>
#include <stdio.h>
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

/* Returns the body. */
static struct allo_text check_headers(struct allo_text rest)
{
	struct allo_header_check check = { 0 };
	struct allo_text line, name, value;

	while (allo_text_next(&rest, '\n', &line) && line.len > 0) {
		if (allo_text_cut(line, ':', &name, &value))
			allo_header_check_add(&check, name, allo_text_trim(value));
	}
	allo_header_check_passes(&check);
	return rest;
}

/* The sum of the addresses. */
static uint64_t sum_of(struct allo_text body, size_t *count)
{
	struct allo_address_list list = { .rest = body };
	uint64_t address, sum = 0;

	for (*count = 0; allo_address_list_next(&list, &address); ++*count) {
		if (address == 0)
			abort();
		sum += address;
	}
	return sum;
}

/* The same addresses, written as programs write them, must give the same. */
static void check_addresses(struct allo_text body)
{
	struct allo_address_list list = { .rest = body };
	char *again = malloc(body.len * 4 + 1); /* "1" becomes "0x1+" */
	size_t count, count_again, len = 0;
	uint64_t address, sum = sum_of(body, &count);

	if (!again)
		return;
	while (allo_address_list_next(&list, &address))
		len += (size_t)sprintf(again + len, "0x%llx+", (unsigned long long)address);
	if (count > ALLO_ADDRESSES_MAX || count > body.len || len > body.len * 4 ||
	    sum_of((struct allo_text){ again, len }, &count_again) != sum || count_again != count)
		abort();
	free(again);
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
	check_addresses(check_headers(rest));
	for (int i = 0; i < LINES; i++)
		free(lines[i]);
	return 0;
}
