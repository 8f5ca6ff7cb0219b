/* json_write.c - commas, indentation and escapes. */
#include "base/encoding/json_write.h"

#include "base/assert.h"
#include <math.h>
#include <stdio.h>

static void new_line(struct allo_json_out *json)
{
	allo_output_byte(json->out, '\n');
	for (unsigned i = 0; i < json->depth; i++)
		allo_output_string(json->out, "  ");
}

/* Writes the comma and line break before a value or a key. */
static void separate(struct allo_json_out *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth == 0)
		return;
	if (json->has_member[json->depth - 1])
		allo_output_byte(json->out, ',');
	json->has_member[json->depth - 1] = true;
	if (json->depth <= json->pretty_depth)
		new_line(json);
}

void allo_json_out_begin(struct allo_json_out *json, char bracket)
{
	ALLO_ASSERT(json->depth < ALLO_JSON_OUT_DEPTH_MAX);
	ALLO_ASSERT(bracket == '{' || bracket == '[');
	separate(json);
	allo_output_byte(json->out, bracket);
	json->kind[json->depth] = bracket;
	json->has_member[json->depth] = false;
	json->depth++;
}

void allo_json_out_end(struct allo_json_out *json)
{
	bool is_pretty = json->depth <= json->pretty_depth;

	ALLO_ASSERT(json->depth > 0 && !json->after_key);
	json->depth--;
	if (is_pretty && json->has_member[json->depth])
		new_line(json);
	allo_output_byte(json->out, json->kind[json->depth] == '{' ? '}' : ']');
	if (json->depth == 0 && json->pretty_depth > 0)
		allo_output_byte(json->out, '\n');
}

void allo_json_out_key_text(struct allo_json_out *json, struct allo_text key)
{
	ALLO_ASSERT(json->depth > 0 && json->kind[json->depth - 1] == '{' && !json->after_key);
	separate(json);
	allo_json_out_quoted(json->out, key);
	allo_output_string(json->out, json->depth <= json->pretty_depth ? ": " : ":");
	json->after_key = true;
}

void allo_json_out_key(struct allo_json_out *json, const char *key)
{
	allo_json_out_key_text(json, allo_text_of(key));
}

void allo_json_out_text(struct allo_json_out *json, struct allo_text value)
{
	separate(json);
	allo_json_out_quoted(json->out, value);
}

void allo_json_out_members(struct allo_json_out *json, struct allo_text members)
{
	separate(json);
	allo_output_text(json->out, members);
}

void allo_json_out_string(struct allo_json_out *json, const char *value)
{
	allo_json_out_text(json, allo_text_of(value));
}

void allo_json_out_u64(struct allo_json_out *json, uint64_t value)
{
	separate(json);
	allo_output_u64(json->out, value);
}

void allo_json_out_i64(struct allo_json_out *json, int64_t value)
{
	separate(json);
	allo_output_i64(json->out, value);
}

static void put_double(struct allo_json_out *json, double value, int digits)
{
	char text[32];

	separate(json);
	if (!isfinite(value)) {
		allo_output_string(json->out, "null");
		return;
	}
	snprintf(text, sizeof(text), "%.*g", digits, value);
	allo_output_string(json->out, text);
}

void allo_json_out_double(struct allo_json_out *json, double value)
{
	put_double(json, value, 10);
}

void allo_json_out_exact_double(struct allo_json_out *json, double value)
{
	put_double(json, value, 17);
}

void allo_json_out_bool(struct allo_json_out *json, bool value)
{
	separate(json);
	allo_output_string(json->out, value ? "true" : "false");
}

void allo_json_out_null(struct allo_json_out *json)
{
	separate(json);
	allo_output_string(json->out, "null");
}

static bool needs_escape(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c == 0x7f;
}

void allo_json_out_quoted(struct allo_output *out, struct allo_text text)
{
	size_t plain = 0;

	allo_output_byte(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (!needs_escape(c))
			continue;
		allo_output_utf8(out, (struct allo_text){ text.data + plain, i - plain });
		if (c == '"' || c == '\\')
			allo_output_printf(out, "\\%c", c);
		else if (c == '\n')
			allo_output_string(out, "\\n");
		else
			allo_output_printf(out, "\\u%04x", c);
		plain = i + 1;
	}
	allo_output_utf8(out, allo_text_from(text, plain));
	allo_output_byte(out, '"');
}

void allo_json_out_member_u64(struct allo_json_out *json, const char *key, uint64_t value)
{
	allo_json_out_key(json, key);
	allo_json_out_u64(json, value);
}

void allo_json_out_member_text(struct allo_json_out *json, const char *key, struct allo_text value)
{
	if (value.len == 0)
		return;
	allo_json_out_key(json, key);
	allo_json_out_text(json, value);
}
