/*
 * fuzz_json.c - any bytes as JSON, in two ways that must agree: stepped over, and read piece by
 * piece.
 */
#include "base/defer.h"
#include "base/encoding/json_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool skip(const uint8_t *data, size_t size, struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };

	return allo_input_open_memory(&in, "fuzz", data, size, err) && allo_json_skip(&json, err) &&
	       allo_json_end(&json, err);
}

static bool read_scalar(struct allo_json *json, char first, struct allo_error *err)
{
	struct allo_text text;
	uint64_t number;
	bool flag;

	switch (first) {
	case '"':
		return allo_json_string(json, &text, err);
	case 't':
	case 'f':
		return allo_json_bool(json, &flag, err);
	case 'n':
		return allo_json_skip(json, err);
	default:
		if (!allo_json_number(json, &text, err))
			return false;
		allo_json_text_u64(text, &number);
		return true;
	}
}

/* The innermost object or array goes on until it says that it is over. */
static bool read_all(struct allo_json *json, struct allo_error *err)
{
	char open[ALLO_JSON_DEPTH_MAX + 1];
	struct allo_text key;

	do {
		char first = allo_json_peek(json, err);

		if (first == '{' || first == '[') {
			if (!allo_json_begin(json, first, err))
				return false;
			open[json->depth] = first;
		} else if (!read_scalar(json, first, err)) {
			return false;
		}
		while (json->depth > 0 &&
		       !(open[json->depth] == '{' ? allo_json_key(json, &key, err)
						  : allo_json_item(json, err))) {
			if (allo_failed(err))
				return false;
		}
	} while (json->depth > 0);
	return allo_json_end(json, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
	struct allo_error skipping = { 0 }, reading = { 0 };
	bool is_skipped = skip(data, size, &skipping);
	bool is_read = allo_input_open_memory(&in, "fuzz", data, size, &reading) &&
		       read_all(&json, &reading);

	if (is_skipped != is_read || is_skipped == allo_failed(&skipping) ||
	    is_read == allo_failed(&reading))
		abort();
	return 0;
}
