/*
 * name_scan.h - brackets and operators in demangled names; only for short_*.c.
 */
#ifndef ALLO_PROFILE_NAME_SCAN_H
#define ALLO_PROFILE_NAME_SCAN_H

#include "profile/short_name.h"

/* A name that is being shortened. */
struct allo_shortener {
	struct allo_text in;
	struct allo_name_buffer *out;
	enum allo_name_detail detail;
	unsigned depth; /* of template arguments */
	bool has_failed;
};

enum {
	/* Deeper template arguments are "...". */
	ALLO_NAME_DEPTH = 24,
	/* Bytes of the template arguments of a class, and of those inside others and of functions;
	 * more are "<...>". */
	ALLO_NAME_ARGUMENTS = 48,
	ALLO_NAME_INNER_ARGUMENTS = 24,
};

/* Each writes a short name; false: the name stays. */
bool allo_short_cpp(struct allo_shortener *w);
bool allo_short_rust(struct allo_shortener *w);

void allo_name_put(struct allo_shortener *w, struct allo_text text);

/* Writes a part of the input. */
void allo_name_put_part(struct allo_shortener *w, size_t from, size_t to);

static inline size_t allo_name_mark(const struct allo_shortener *w)
{
	return w->out->text.len;
}

/* Removes the text that was written since the mark. */
static inline void allo_name_cut(struct allo_shortener *w, size_t mark)
{
	w->out->text.len = mark;
}

/* The text that was written between two marks; empty if there was no memory for any. */
static inline struct allo_text allo_name_between(const struct allo_shortener *w, size_t from,
						 size_t to)
{
	return w->out->text.at ? (struct allo_text){ w->out->text.at + from, to - from }
			       : ALLO_TEXT("");
}

/* The text that was written since the mark. */
static inline struct allo_text allo_name_since(const struct allo_shortener *w, size_t mark)
{
	return allo_name_between(w, mark, w->out->text.len);
}

static inline bool allo_name_has(struct allo_text name, size_t at, struct allo_text part)
{
	return at <= name.len && allo_text_starts(allo_text_from(name, at), part);
}

static inline struct allo_text allo_name_slice(struct allo_text name, size_t from, size_t to)
{
	return (struct allo_text){ name.data + from, to - from };
}

bool allo_name_is_among(struct allo_text name, const struct allo_text *names, size_t count);

/* Letters, digits, '_', '$' and all of UTF-8 beyond ASCII. */
bool allo_is_name_char(char c);

/* The end of the identifier at `at`; `at` if there is none. */
size_t allo_name_identifier_end(struct allo_text name, size_t at);

/* The end of the group that begins with the bracket at `at`; 0 if it has none. */
size_t allo_name_group_end(struct allo_text name, size_t at);

/* The end of "operator<<", "operator new[]" or "operator char const*" at `at`; 0: no operator. */
size_t allo_name_operator_end(struct allo_text name, size_t at);

/* The next `separator` outside of brackets from `at` on, or `to`. */
size_t allo_name_find(struct allo_text name, size_t at, size_t to, struct allo_text separator);

#endif
