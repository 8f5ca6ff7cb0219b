/*
 * dtrace_lines.h - the lines of DTrace's output, and the meaning of the keys in them.
 *
 * DTrace prints aggregations without names or separators: lines are classified by their look.  Keys
 * beside a stack have no names, either.  --fields can name them; otherwise their roles are guessed:
 * words are program names, and large numbers that never fall are times.  All keys before a stack,
 * or after it, that agree in number and kind form a group.
 */
#ifndef ALLO_READERS_DTRACE_LINES_H
#define ALLO_READERS_DTRACE_LINES_H

#include "base/text.h"
#include "base/vec.h"

enum allo_dtrace_line {
	ALLO_DTRACE_BLANK,
	ALLO_DTRACE_NOTICE,     /* a message, "dtrace: ...", which may be anywhere */
	ALLO_DTRACE_PROBE,      /* a probe that fired, or the heading of such lines */
	ALLO_DTRACE_TABLE,      /* the heading of a distribution, which ends with a blank line */
	ALLO_DTRACE_FRAME,      /* of a stack */
	ALLO_DTRACE_ANNOTATION, /* of the frame before it: "[ lists:foldl/3 ]" */
	ALLO_DTRACE_NUMBERS,    /* keys or a count, or both */
	ALLO_DTRACE_WORDS,      /* keys with names among them, or anything else */
};

/* `line` has no trailing white space.  `indent` is the known indentation of frames; 0 if unknown.
 */
enum allo_dtrace_line allo_dtrace_line_of(struct allo_text line, size_t indent);

enum {
	ALLO_DTRACE_INDENT = 10,    /* the minimum indentation of frames while it is unknown */
	ALLO_DTRACE_KEY_INDENT = 2, /* of keys; and of frames, with -x stackindent=2 */
};

/* Whether a line has several words and the last one is a number, as a key with its count. */
bool allo_dtrace_ends_in_number(struct allo_text line);

/* Whether a text starts with a module or is an address, which only frames do.
 */
bool allo_dtrace_is_plain(struct allo_text text);

/* The number of leading spaces. */
size_t allo_dtrace_indent(struct allo_text line);

/* The number of drops that a message reports; 0 for other messages. */
uint64_t allo_dtrace_drops(struct allo_text notice);

/* A key in a line. */
struct allo_dtrace_key {
	struct allo_text text;
	uint64_t number; /* the magnitude */
	bool is_number, is_negative;
	bool is_wide; /* printed with the width of a 64-bit integer at the front of a line */
};

enum { ALLO_DTRACE_KEYS = 16 };

/* Splits a line into keys, by columns; a name may contain spaces.  Returns the number of keys, or
 * more than ALLO_DTRACE_KEYS if there are too many. */
size_t allo_dtrace_split(struct allo_text line, struct allo_dtrace_key keys[ALLO_DTRACE_KEYS]);

/* Splits a line into keys by white space alone. */
size_t allo_dtrace_split_words(struct allo_text line,
			       struct allo_dtrace_key keys[ALLO_DTRACE_KEYS]);

enum allo_dtrace_role {
	ALLO_DTRACE_UNSAID, /* not named by --fields; a time is still recognised */
	ALLO_DTRACE_IGNORED,
	ALLO_DTRACE_TIME,
	ALLO_DTRACE_PID,
	ALLO_DTRACE_TID,
	ALLO_DTRACE_NAME,
	ALLO_DTRACE_CPU,
};

/* The values of a column so far. */
struct allo_dtrace_column {
	uint64_t least, most, last;
	bool falls; /* at least once */
	bool is_wide;
};

struct allo_dtrace_group {
	bool is_behind; /* the stack */
	uint32_t names; /* a bit for each key that is not a number */
	size_t first;   /* index of its first key in the fields of --fields */
	size_t count;
	uint64_t seen;
	struct allo_dtrace_column columns[ALLO_DTRACE_KEYS];
	bool has_roles;
	enum allo_dtrace_role roles[ALLO_DTRACE_KEYS];
};

/* All zeros: no fields, nothing seen. */
struct allo_dtrace_columns {
	bool has_fields;
	size_t field_count;
	enum allo_dtrace_role fields[ALLO_DTRACE_KEYS];
	ALLO_VEC(struct allo_dtrace_group) groups;
};

/* Parses the value of --fields; false if there are too many names. */
bool allo_dtrace_columns_init(struct allo_dtrace_columns *columns, const char *fields);

void allo_dtrace_columns_done(struct allo_dtrace_columns *columns);

/* Observes keys before their roles are decided; `before` keys of the same stack came earlier. False
 * when memory is short. */
bool allo_dtrace_columns_look(struct allo_dtrace_columns *columns,
			      const struct allo_dtrace_key *keys, size_t count, size_t before,
			      bool is_behind);

/* The first observed time; false if there is none. */
bool allo_dtrace_columns_first_time(struct allo_dtrace_columns *columns, uint64_t *time);

/* The roles of these keys; NULL when memory is short. */
const enum allo_dtrace_role *allo_dtrace_columns_roles(struct allo_dtrace_columns *columns,
						       const struct allo_dtrace_key *keys,
						       size_t count, size_t before, bool is_behind);

#endif
