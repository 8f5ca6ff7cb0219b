/*
 * json_read.h - JSON as a stream of pieces, without a tree.
 *
 *     allo_json_open(&json, in);
 *     if (allo_json_begin(&json, '{', err))
 *             while (allo_json_key(&json, &key, err))
 *                     ... read or skip exactly one value ...
 *
 * Strict where it matters (syntax, numbers, nesting) and lenient about what real files get wrong:
 * bytes that are not UTF-8 pass.  Memory is bounded by the longest string.
 */
#ifndef ALLO_BASE_JSON_READ_H
#define ALLO_BASE_JSON_READ_H

#include "base/input.h"
#include "base/vec.h"

enum { ALLO_JSON_DEPTH_MAX = 256 };

/* All zeros with `in` set is ready for use. */
struct allo_json {
	struct allo_input *in;
	unsigned depth;
	bool is_first; /* nothing has been read yet in the innermost object or array */
	/* Arrays are as those leave them who write on until they are stopped: there may be a comma
	 * behind the last item, and the outermost one may lack its end. */
	bool has_open_arrays;
	ALLO_VEC(char) string; /* with its escapes undone */
};

void allo_json_done(struct allo_json *json);

/* The first byte of the next value ('{', '[', '"', '-', a digit, 't', 'f', 'n'), 0 at the end of
 * the input and at failure. */
char allo_json_peek(struct allo_json *json, struct allo_error *err);

/* Enters an object ('{') or array ('['). */
bool allo_json_begin(struct allo_json *json, char bracket, struct allo_error *err);

/* The next key of an object, valid until the next call; false behind the last one (the object is
 * left then) and at failure. */
bool allo_json_key(struct allo_json *json, struct allo_text *key, struct allo_error *err);

/* Whether there is a next item in an array; false behind the last one (the array is left then) and
 * at failure. */
bool allo_json_item(struct allo_json *json, struct allo_error *err);

/* Values.  A string is valid until the next call. */
bool allo_json_string(struct allo_json *json, struct allo_text *value, struct allo_error *err);
bool allo_json_bool(struct allo_json *json, bool *value, struct allo_error *err);

/* A number as it stands in the file, for those who want it whole; valid until the next call. */
bool allo_json_number(struct allo_json *json, struct allo_text *value, struct allo_error *err);

/* A number from 0 to 2^64 - 1; a fraction or an exponent is accepted and rounded. */
bool allo_json_u64(struct allo_json *json, uint64_t *value, struct allo_error *err);

/* Steps over one value of any kind. */
bool allo_json_skip(struct allo_json *json, struct allo_error *err);

/* Only white space may follow. */
bool allo_json_end(struct allo_json *json, struct allo_error *err);

/* The number that a JSON number's text stands for, rounded; false when it is negative or too large,
 * or no number at all. */
bool allo_json_text_u64(struct allo_text number, uint64_t *value);

/* The same for the number times a thousand, for those whose unit is a thousandth of the file's. */
bool allo_json_text_thousands(struct allo_text number, uint64_t *value);

#endif
