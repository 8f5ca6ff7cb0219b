#include "view/reply.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "profile/naming.h"

#include <stdio.h>

static const char magic[8] = { 'A', 'L', 'L', 'O', 'r', 'e', 'p', '1' };

enum { ALIGNMENT = 8, VERSION = 1 };

static const struct allo_output_options plain;

/* By enum allo_code. */
static const char *const codes[] = { "ok",    "usage", "io",    "format",
				     "limit", "order", "unmet", "nomem" };

void allo_text_column_done(struct allo_text_column *column)
{
	allo_vec_done(&column->ends);
	allo_vec_done(&column->bytes);
}

/* Adds a part of a text. */
static void put_text(struct allo_text_column *column, struct allo_text text, struct allo_error *err)
{
	static const struct allo_text replacement = ALLO_TEXT_INIT(ALLO_UTF8_REPLACEMENT);

	while (text.len > 0) {
		size_t valid = allo_utf8_valid_prefix(text);

		allo_vec_add_all(&column->bytes, text.data, valid, err);
		text = allo_text_from(text, valid);
		if (text.len > 0) {
			allo_vec_add_all(&column->bytes, replacement.data, replacement.len, err);
			text = allo_text_from(text, 1);
		}
	}
}

static bool end_text(struct allo_text_column *column, struct allo_error *err)
{
	if (column->bytes.len > UINT32_MAX)
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "the reply has too much text");
	return allo_vec_add(&column->ends, (uint32_t)column->bytes.len, err);
}

bool allo_text_column_add(struct allo_text_column *column, struct allo_text text,
			  struct allo_error *err)
{
	put_text(column, text, err);
	return end_text(column, err);
}

bool allo_text_column_add_place(struct allo_text_column *column, struct allo_text file,
				uint32_t line, struct allo_error *err)
{
	char number[16];

	put_text(column, allo_basename(file), err);
	if (file.len > 0 && line > 0) {
		snprintf(number, sizeof(number), ":%u", line);
		put_text(column, allo_text_of(number), err);
	}
	return end_text(column, err);
}

void allo_reply_done(struct allo_reply *reply)
{
	allo_output_drop(&reply->head_out);
	allo_output_drop(&reply->list_out);
	allo_output_drop(&reply->all);
	allo_vec_done(&reply->columns);
}

static void begin_object(struct allo_json_out *json, struct allo_output *out, const char *ask)
{
	*json = (struct allo_json_out){ .out = out };
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "v", VERSION);
	allo_json_out_member_text(json, "ask", allo_text_of(ask));
}

void allo_reply_begin(struct allo_reply *reply, const char *ask)
{
	if (!allo_output_open_memory(&reply->head_out, &plain, &reply->err) ||
	    !allo_output_open_memory(&reply->list_out, &plain, &reply->err))
		return;
	begin_object(&reply->head, &reply->head_out, ask);
	reply->list = (struct allo_json_out){ .out = &reply->list_out };
	allo_json_out_begin(&reply->list, '[');
}

void allo_reply_count(struct allo_reply *reply, const char *key, uint64_t count)
{
	allo_json_out_member_u64(&reply->head, key, count);
}

void allo_reply_strings(struct allo_reply *reply, const char *key, char *const *strings,
			size_t count)
{
	allo_json_out_key(&reply->head, key);
	allo_json_out_begin(&reply->head, '[');
	for (size_t i = 0; i < count; i++)
		allo_json_out_string(&reply->head, strings[i]);
	allo_json_out_end(&reply->head);
}

/* Describes a column that starts at the end of the others, and adds its first bytes. */
static void add_column(struct allo_reply *reply, const char *name, const char *type,
		       const void *bytes, size_t size, size_t count)
{
	if (allo_failed(&reply->err))
		return;
	ALLO_ASSERT(reply->columns.len % ALIGNMENT == 0);
	allo_json_out_begin(&reply->list, '{');
	allo_json_out_member_text(&reply->list, "name", allo_text_of(name));
	allo_json_out_member_text(&reply->list, "type", allo_text_of(type));
	allo_json_out_member_u64(&reply->list, "at", reply->columns.len);
	allo_json_out_member_u64(&reply->list, "len", count);
	allo_json_out_end(&reply->list);
	allo_vec_add_all(&reply->columns, bytes, size, &reply->err);
}

static void pad_columns(struct allo_reply *reply)
{
	static const char zeros[ALIGNMENT];

	allo_vec_add_all(&reply->columns, zeros, -reply->columns.len % ALIGNMENT, &reply->err);
}

void allo_reply_u8(struct allo_reply *reply, const char *name, const uint8_t *items, size_t count)
{
	add_column(reply, name, "u8", items, count, count);
	pad_columns(reply);
}

void allo_reply_u32(struct allo_reply *reply, const char *name, const uint32_t *items, size_t count)
{
	add_column(reply, name, "u32", items, count * sizeof(*items), count);
	pad_columns(reply);
}

void allo_reply_f64(struct allo_reply *reply, const char *name, const double *items, size_t count)
{
	add_column(reply, name, "f64", items, count * sizeof(*items), count);
	pad_columns(reply);
}

void allo_reply_texts(struct allo_reply *reply, const char *name,
		      const struct allo_text_column *column)
{
	const uint32_t zero = 0;

	add_column(reply, name, "text", &zero, sizeof(zero), column->ends.len);
	allo_vec_add_all(&reply->columns, (const char *)column->ends.at,
			 column->ends.len * sizeof(*column->ends.at), &reply->err);
	allo_vec_add_all(&reply->columns, column->bytes.at, column->bytes.len, &reply->err);
	pad_columns(reply);
}

double allo_reply_value(struct allo_reply *reply, __int128 sum)
{
	const __int128 most = (__int128)1 << 53;

	reply->is_inexact |= sum > most || sum < -most;
	return (double)sum;
}

/* Puts the head and the columns together. */
static bool join(struct allo_reply *reply, struct allo_error *err)
{
	static const char zeros[ALIGNMENT];
	struct allo_text head = allo_output_memory(&reply->head_out);
	uint32_t length[2] = { (uint32_t)head.len, 0 };

	if (!allo_output_open_memory(&reply->all, &plain, err))
		return false;
	allo_output_bytes(&reply->all, magic, sizeof(magic));
	allo_output_bytes(&reply->all, length, sizeof(length));
	allo_output_text(&reply->all, head);
	allo_output_bytes(&reply->all, zeros, -head.len % ALIGNMENT);
	allo_output_bytes(&reply->all, reply->columns.at, reply->columns.len);
	return allo_output_finish(&reply->all, err);
}

static bool finish_answer(struct allo_reply *reply)
{
	allo_json_out_end(&reply->list);
	if (allo_failed(&reply->err) || !allo_output_finish(&reply->list_out, &reply->err))
		return false;
	if (reply->is_inexact) {
		allo_json_out_key(&reply->head, "exact");
		allo_json_out_bool(&reply->head, false);
	}
	allo_json_out_key(&reply->head, "columns");
	allo_json_out_members(&reply->head, allo_output_memory(&reply->list_out));
	allo_json_out_end(&reply->head);
	return allo_output_finish(&reply->head_out, &reply->err) && join(reply, &reply->err);
}

/* The next step after a failure. */
static const char *hint_of(const struct allo_error *why)
{
	if (why->hint[0])
		return why->hint;
	return why->code == ALLO_NOMEM || why->code == ALLO_IO
		       ? ""
		       : "doc/reply.md describes all requests";
}

/* Replaces the reply by one that describes a failure. */
static bool finish_failure(struct allo_reply *reply, const char *ask, const struct allo_error *why)
{
	struct allo_error err = { 0 };

	allo_output_drop(&reply->head_out);
	allo_output_drop(&reply->all);
	reply->columns.len = 0;
	if (!allo_output_open_memory(&reply->head_out, &plain, &err))
		return false;
	begin_object(&reply->head, &reply->head_out, ask);
	allo_json_out_key(&reply->head, "error");
	allo_json_out_begin(&reply->head, '{');
	allo_json_out_member_text(&reply->head, "code", allo_text_of(codes[why->code]));
	allo_json_out_member_text(&reply->head, "message", allo_text_of(why->message));
	allo_json_out_key(&reply->head, "hint");
	allo_json_out_text(&reply->head, allo_text_of(hint_of(why)));
	allo_json_out_end(&reply->head);
	allo_json_out_end(&reply->head);
	return allo_output_finish(&reply->head_out, &err) && join(reply, &err);
}

struct allo_text allo_reply_finish(struct allo_reply *reply, const char *ask,
				   const struct allo_error *err)
{
	struct allo_error why = allo_failed(err) ? *err : reply->err;

	if (!allo_failed(&why) && finish_answer(reply))
		return allo_output_memory(&reply->all);
	if (!allo_failed(&why))
		why = reply->err;
	return finish_failure(reply, ask, &why) ? allo_output_memory(&reply->all)
						: (struct allo_text){ "", 0 };
}
