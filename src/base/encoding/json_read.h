/*
 * json_read.h - a pull parser for JSON: tokens on demand, no tree.
 *
 *     allo_json_open(&json, in);
 *     if (allo_json_begin(&json, '{', err))
 *             while (allo_json_key(&json, &key, err))
 *                     ... read or skip exactly one value ...
 *
 * Syntax, numbers and nesting are checked strictly.  Invalid UTF-8 passes, since real files have
 * it. Memory is bounded by the longest string.
 */
#ifndef ALLO_BASE_JSON_READ_H
#define ALLO_BASE_JSON_READ_H

#include "base/io/input.h"
#include "base/vec.h"

/* V8's heap profiles nest 128 calls, with two levels for each. */
enum { ALLO_JSON_DEPTH_MAX = 1024 };

/* All zeros with `in` set is ready for use. */
struct allo_json {
	struct allo_input *in;
	unsigned depth;
	bool is_first; /* at the start of the innermost object or array */
	/* Accepts arrays of a producer that was stopped: a comma may follow the last item, and the
	 * outermost array may lack its end. */
	bool has_open_arrays;
	ALLO_VEC(char) string; /* unescaped */
};

void allo_json_done(struct allo_json *json);

/* The first byte of the next value ('{', '[', '"', '-', a digit, 't', 'f', 'n'), or 0 at the end of
 * the input and on failure. */
char allo_json_peek(struct allo_json *json, struct allo_error *err);

/* Enters an object ('{') or array ('['). */
bool allo_json_begin(struct allo_json *json, char bracket, struct allo_error *err);

/* The next key of an object, valid until the next call.  False after the last one, which leaves the
 * object, and on failure. */
bool allo_json_key(struct allo_json *json, struct allo_text *key, struct allo_error *err);

/* Whether the array has a next item.  False after the last one, which leaves the array, and on
 * failure. */
bool allo_json_item(struct allo_json *json, struct allo_error *err);

/* Read one value.  A string is valid until the next call. */
bool allo_json_string(struct allo_json *json, struct allo_text *value, struct allo_error *err);
bool allo_json_bool(struct allo_json *json, bool *value, struct allo_error *err);

/* The text of a number, valid until the next call. */
bool allo_json_number(struct allo_json *json, struct allo_text *value, struct allo_error *err);

/* A number from 0 to 2^64 - 1; fractions and exponents are rounded. */
bool allo_json_u64(struct allo_json *json, uint64_t *value, struct allo_error *err);

/* Skips one value of any kind. */
bool allo_json_skip(struct allo_json *json, struct allo_error *err);

/* Fails unless only white space follows. */
bool allo_json_end(struct allo_json *json, struct allo_error *err);

/* The value of a JSON number's text, rounded; false when it is not a number, negative or too large.
 */
bool allo_json_text_u64(struct allo_text number, uint64_t *value);

/* The same times 1000, for a target unit of a thousandth of the file's. */
bool allo_json_text_thousands(struct allo_text number, uint64_t *value);

#endif
