/*
 * reply.h - builds a reply of the view engine: a JSON head and columns (doc/reply.md).
 *
 *     allo_reply_begin(&reply, "tree");
 *     allo_json_out_member_u64(&reply.head, "samples", count);
 *     allo_reply_f64(&reply, "total", totals, count);
 *     bytes = allo_reply_finish(&reply, &err);
 *
 * Failures latch in the reply's error.
 */
#ifndef ALLO_VIEW_REPLY_H
#define ALLO_VIEW_REPLY_H

#include "base/encoding/json_write.h"
#include "base/vec.h"

/* A column of texts under construction.  All zeros is empty. */
struct allo_text_column {
	ALLO_VEC(uint32_t) ends; /* of each text, in `bytes` */
	ALLO_VEC(char) bytes;
};

void allo_text_column_done(struct allo_text_column *column);

/* Adds a text; invalid UTF-8 is replaced, so that every reply decodes. */
bool allo_text_column_add(struct allo_text_column *column, struct allo_text text,
			  struct allo_error *err);

/* Adds the name of a source file without its folders, and the line unless it is 0: "file.c:12". */
bool allo_text_column_add_place(struct allo_text_column *column, struct allo_text file,
				uint32_t line, struct allo_error *err);

/* All zeros: nothing to drop. */
struct allo_reply {
	struct allo_json_out head; /* an open object; add members to it */
	struct allo_error err;

	/* Private from here on. */
	struct allo_output head_out, list_out, all;
	struct allo_json_out list; /* of the columns */
	ALLO_VEC(char) columns;
	bool is_inexact; /* a value does not fit 53 bits */
};

void allo_reply_done(struct allo_reply *reply);

/* Starts a reply, which must be all zeros. */
void allo_reply_begin(struct allo_reply *reply, const char *ask);

/* Adds members to the head. */
void allo_reply_count(struct allo_reply *reply, const char *key, uint64_t count);
void allo_reply_strings(struct allo_reply *reply, const char *key, char *const *strings,
			size_t count);

/* Adds columns. */
void allo_reply_u8(struct allo_reply *reply, const char *name, const uint8_t *items, size_t count);
void allo_reply_u32(struct allo_reply *reply, const char *name, const uint32_t *items,
		    size_t count);
void allo_reply_f64(struct allo_reply *reply, const char *name, const double *items, size_t count);
void allo_reply_texts(struct allo_reply *reply, const char *name,
		      const struct allo_text_column *column);

/* A sum as a number of a column; notes when it is not exact. */
double allo_reply_value(struct allo_reply *reply, __int128 sum);

/* The bytes of the reply, or of one that reports `err` or the reply's own error.  The reply owns
 * them.  Empty only when memory is too short even for that. */
struct allo_text allo_reply_finish(struct allo_reply *reply, const char *ask,
				   const struct allo_error *err);

#endif
