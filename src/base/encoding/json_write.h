/*
 * json_write.h - writes JSON: adds commas, quotes and escapes.
 *
 *     allo_json_out_begin(&json, '{');
 *     allo_json_out_key(&json, "bytes");
 *     allo_json_out_u64(&json, 4096);
 *     allo_json_out_end(&json);
 *
 * The output is valid UTF-8 for any bytes in the strings.
 */
#ifndef ALLO_BASE_JSON_WRITE_H
#define ALLO_BASE_JSON_WRITE_H

#include "base/io/output.h"

enum { ALLO_JSON_OUT_DEPTH_MAX = 32 };

struct allo_json_out {
	struct allo_output *out;
	unsigned pretty_depth; /* members of this many outer levels are on lines of their own */
	unsigned depth;
	char kind[ALLO_JSON_OUT_DEPTH_MAX]; /* '{' or '[' */
	bool has_member[ALLO_JSON_OUT_DEPTH_MAX];
	bool after_key;
};

/* Opens an object ('{') or array ('['). */
void allo_json_out_begin(struct allo_json_out *json, char bracket);
void allo_json_out_end(struct allo_json_out *json);

void allo_json_out_key(struct allo_json_out *json, const char *key);
void allo_json_out_key_text(struct allo_json_out *json, struct allo_text key);

void allo_json_out_text(struct allo_json_out *json, struct allo_text value);
void allo_json_out_string(struct allo_json_out *json, const char *value);
void allo_json_out_u64(struct allo_json_out *json, uint64_t value);
void allo_json_out_i64(struct allo_json_out *json, int64_t value);
void allo_json_out_double(struct allo_json_out *json, double value); /* ten digits */
void allo_json_out_exact_double(struct allo_json_out *json, double value);
void allo_json_out_bool(struct allo_json_out *json, bool value);
void allo_json_out_null(struct allo_json_out *json);

/* Members of an object; an empty text is omitted. */
void allo_json_out_member_u64(struct allo_json_out *json, const char *key, uint64_t value);
void allo_json_out_member_text(struct allo_json_out *json, const char *key, struct allo_text value);

/* Members that are JSON already: "a":1,"b":[2].  Not empty. */
void allo_json_out_members(struct allo_json_out *json, struct allo_text members);

/* A quoted string, for writers that print the rest of their JSON themselves. */
void allo_json_out_quoted(struct allo_output *out, struct allo_text text);

#endif
