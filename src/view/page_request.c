/* page_request.c - a table of the members that a request may have, and a parser that walks it. */
#include "view/page_request.h"

#include "base/defer.h"
#include "base/encoding/json_read.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, FLAG, SHARE, TEXT, TEXTS, NUMBERS, TIMES, BASE };

struct member {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define MEMBER(name, kind)                                                                         \
	{                                                                                          \
#name, kind, offsetof(struct allo_request, name)                                   \
	}

static const struct member members[] = {
	MEMBER(v, NUMBER),
	MEMBER(ask, TEXT),
	{ "file", NUMBER, offsetof(struct allo_request, range.file) },
	{ "from", NUMBER, offsetof(struct allo_request, range.from) },
	{ "to", NUMBER, offsetof(struct allo_request, range.to) },
	MEMBER(base, BASE),
	MEMBER(metric, TEXT),
	MEMBER(metrics, TEXTS),
	MEMBER(filters, TEXTS),
	MEMBER(kinds, TEXTS),
	MEMBER(by, TEXT),
	MEMBER(sort, TEXT),
	MEMBER(search, TEXT),
	MEMBER(grain, TEXT),
	MEMBER(text, TEXT),
	MEMBER(severity, TEXT),
	MEMBER(preset, TEXT),
	MEMBER(path, TEXT),
	MEMBER(query, TEXT),
	MEMBER(root, NUMBERS),
	MEMBER(ids, NUMBERS),
	MEMBER(open, NUMBERS),
	MEMBER(marks, TIMES),
	MEMBER(invert, FLAG),
	MEMBER(ascending, FLAG),
	MEMBER(age, FLAG),
	MEMBER(least, SHARE),
	MEMBER(offset, NUMBER),
	MEMBER(most, NUMBER),
	MEMBER(since, NUMBER),
	MEMBER(steps, NUMBER),
	MEMBER(call, NUMBER),
	MEMBER(pivot, NUMBER),
	MEMBER(stack, NUMBER),
	MEMBER(site, NUMBER),
	MEMBER(chain, NUMBER),
	MEMBER(size_from, NUMBER),
	MEMBER(size_to, NUMBER),
	MEMBER(at, NUMBER),
	{ NULL, NUMBER, 0 },
};

static const struct member base_members[] = {
	{ "file", NUMBER, offsetof(struct allo_request, base.file) },
	{ "from", NUMBER, offsetof(struct allo_request, base.from) },
	{ "to", NUMBER, offsetof(struct allo_request, base.to) },
	{ NULL, NUMBER, 0 },
};

void allo_request_done(struct allo_request *request)
{
	allo_vec_done(&request->filters);
	allo_vec_done(&request->metrics);
	allo_vec_done(&request->kinds);
	allo_vec_done(&request->root);
	allo_vec_done(&request->ids);
	allo_vec_done(&request->open);
	allo_vec_done(&request->marks);
	allo_arena_done(&request->arena);
}

static void set_defaults(struct allo_request *request)
{
	uint64_t *const numbers[] = { &request->most,      &request->since,  &request->steps,
				      &request->call,      &request->pivot,  &request->stack,
				      &request->site,      &request->chain,  &request->at,
				      &request->size_from, &request->size_to };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		*numbers[i] = ALLO_NOT_GIVEN;
	request->least = -1;
}

static bool read_text(struct allo_request *request, struct allo_json *json, const char **text,
		      struct allo_error *err)
{
	struct allo_text value;

	if (!allo_json_string(json, &value, err))
		return false;
	if (memchr(value.data, 0, value.len))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a text has a NUL character");
	*text = allo_arena_copy(&request->arena, value.data, value.len);
	return allo_or_fail_memory(*text != NULL, err);
}

static bool read_share(struct allo_json *json, double *share, struct allo_error *err)
{
	struct allo_text number;
	char digits[64];

	if (!allo_json_number(json, &number, err))
		return false;
	if (number.len >= sizeof(digits))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a number is too long");
	memcpy(digits, number.data, number.len);
	digits[number.len] = '\0';
	*share = strtod(digits, NULL);
	return true;
}

static bool read_texts(struct allo_request *request, struct allo_json *json,
		       allo_request_texts *texts, struct allo_error *err)
{
	const char *text = NULL;

	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		if (!read_text(request, json, &text, err) || !allo_vec_add(texts, text, err))
			return false;
	}
	return !allo_failed(err);
}

static bool read_numbers(struct allo_json *json, allo_request_numbers *numbers,
			 struct allo_error *err)
{
	uint64_t number;

	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		if (!allo_json_u64(json, &number, err))
			return false;
		if (number > UINT32_MAX)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%llu is not an id",
					 (unsigned long long)number);
		if (!allo_vec_add(numbers, (uint32_t)number, err))
			return false;
	}
	return !allo_failed(err);
}

static bool read_times(struct allo_json *json, allo_request_times *times, struct allo_error *err)
{
	uint64_t ns;

	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		if (!allo_json_u64(json, &ns, err) || !allo_vec_add(times, ns, err))
			return false;
	}
	return !allo_failed(err);
}

static bool read_object(struct allo_request *request, struct allo_json *json,
			const struct member *known, struct allo_error *err);

static bool read_member(struct allo_request *request, struct allo_json *json,
			const struct member *member, struct allo_error *err)
{
	void *at = (char *)request + member->offset;

	switch (member->kind) {
	case NUMBER:
		return allo_json_u64(json, at, err);
	case FLAG:
		return allo_json_bool(json, at, err);
	case SHARE:
		return read_share(json, at, err);
	case TEXT:
		return read_text(request, json, at, err);
	case TEXTS:
		return read_texts(request, json, at, err);
	case NUMBERS:
		return read_numbers(json, at, err);
	case TIMES:
		request->has_marks = true;
		return read_times(json, at, err);
	default:
		request->has_base = true;
		return read_object(request, json, base_members, err);
	}
}

static bool read_object(struct allo_request *request, struct allo_json *json,
			const struct member *known, struct allo_error *err)
{
	struct allo_text key;

	if (!allo_json_begin(json, '{', err))
		return false;
	while (allo_json_key(json, &key, err)) {
		const struct member *member = known;

		while (member->name && !allo_text_equal(key, allo_text_of(member->name)))
			member++;
		if (!member->name)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "unknown member '%.*s' in the request",
					 ALLO_TEXT_ARG(key));
		if (!read_member(request, json, member, err))
			return false;
	}
	return !allo_failed(err);
}

static bool check_range(const struct allo_request_range *range, struct allo_error *err)
{
	return range->to == 0 || range->from <= range->to ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the range ends before it starts");
}

bool allo_request_parse(struct allo_request *request, struct allo_text text, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };

	set_defaults(request);
	if (text.len > ALLO_REQUEST_MAX)
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "the request is longer than %d KiB",
				 ALLO_REQUEST_MAX / 1024);
	if (!allo_input_open_memory(&in, "request", text.data, text.len, err) ||
	    !read_object(request, &json, members, err) || !allo_json_end(&json, err))
		return false;
	if (request->v != 1)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request has no \"v\": 1");
	if (!check_range(&request->range, err) || !check_range(&request->base, err))
		return false;
	return request->ask ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request has no \"ask\"");
}

bool allo_request_choose(const char *text, const char *const *choices, size_t *choice,
			 struct allo_error *err)
{
	char list[256] = "";

	for (*choice = 0; text && choices[*choice]; ++*choice) {
		const char *name = choices[*choice];

		if (strcmp(text, name) == 0)
			return true;
		if (strlen(list) + strlen(name) + 3 < sizeof(list)) {
			strcat(list, *choice ? ", " : "");
			strcat(list, name);
		}
	}
	return !text ||
	       allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'%.60s' is none of %s", text, list);
}
