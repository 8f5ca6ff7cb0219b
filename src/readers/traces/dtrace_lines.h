/*
 * dtrace_lines.h - what a line of DTrace's output is.
 *
 * DTrace prints aggregations without any names or separators: what a line is shows in how it looks.
 */
#ifndef ALLO_READERS_DTRACE_LINES_H
#define ALLO_READERS_DTRACE_LINES_H

#include "base/text.h"
#include "base/vec.h"

enum allo_dtrace_line {
	ALLO_DTRACE_BLANK,
	ALLO_DTRACE_NOTICE,     /* DTrace's own, "dtrace: ...", which may be anywhere */
	ALLO_DTRACE_PROBE,      /* of a probe that fired, and the head of such lines */
	ALLO_DTRACE_TABLE,      /* the head of a distribution, which ends with a blank line */
	ALLO_DTRACE_FRAME,      /* of a stack */
	ALLO_DTRACE_ANNOTATION, /* of the frame before it: "[ lists:foldl/3 ]" */
	ALLO_DTRACE_NUMBERS,    /* keys or a count, or both */
	ALLO_DTRACE_WORDS,      /* keys with names among them, or anything else */
};

/* `line` ends without white space.  `indent` is how far frames are known to be indented; 0 when
 * that is not known yet. */
enum allo_dtrace_line allo_dtrace_line_of(struct allo_text line, size_t indent);

/* What frames are indented by at least, unless they are known to be by less. */
enum { ALLO_DTRACE_INDENT = 10 };

/* Whether a text has a module's name in front, or is an address: what nothing else than frames is.
 */
bool allo_dtrace_is_plain(struct allo_text text);

/* Spaces at the front. */
size_t allo_dtrace_indent(struct allo_text line);

/* How much DTrace says to have dropped; 0 for notices of something else. */
uint64_t allo_dtrace_drops(struct allo_text notice);

/* What stands in a line of keys. */
struct allo_dtrace_key {
	struct allo_text text;
	uint64_t number; /* the magnitude */
	bool is_number, is_negative;
	bool is_wide; /* printed as DTrace prints integers of 64 bits at the front of a line */
};

enum { ALLO_DTRACE_KEYS = 16 };

/* Takes a line apart, by columns; how many keys there are, or more than ALLO_DTRACE_KEYS if there
 * are too many.  A name may have spaces in it. */
size_t allo_dtrace_split(struct allo_text line, struct allo_dtrace_key keys[ALLO_DTRACE_KEYS]);

/* The same, by white space alone. */
size_t allo_dtrace_split_words(struct allo_text line,
			       struct allo_dtrace_key keys[ALLO_DTRACE_KEYS]);

enum allo_dtrace_role {
	ALLO_DTRACE_UNSAID, /* by --fields; a time is known for what it is */
	ALLO_DTRACE_IGNORED,
	ALLO_DTRACE_TIME,
	ALLO_DTRACE_PID,
	ALLO_DTRACE_TID,
	ALLO_DTRACE_NAME,
	ALLO_DTRACE_CPU,
};

/* What a column has been seen to hold. */
struct allo_dtrace_column {
	uint64_t least, most, last;
	bool falls; /* at least once */
	bool is_wide;
};

struct allo_dtrace_group {
	bool is_behind; /* the stack */
	uint32_t names; /* a bit for each that is no number */
	size_t first;   /* of the fields that were told */
	size_t count;
	uint64_t seen;
	struct allo_dtrace_column columns[ALLO_DTRACE_KEYS];
	bool has_roles;
	enum allo_dtrace_role roles[ALLO_DTRACE_KEYS];
};

/* All zeros: nothing told, nothing seen. */
struct allo_dtrace_columns {
	bool has_fields;
	size_t field_count;
	enum allo_dtrace_role fields[ALLO_DTRACE_KEYS];
	ALLO_VEC(struct allo_dtrace_group) groups;
};

/* Takes names as --fields has them; false when there are too many. */
bool allo_dtrace_columns_init(struct allo_dtrace_columns *columns, const char *fields);

void allo_dtrace_columns_done(struct allo_dtrace_columns *columns);

/* Looks at keys before their roles are asked for; `before` of the stack's keys were seen already.
 * False when memory is short. */
bool allo_dtrace_columns_look(struct allo_dtrace_columns *columns,
			      const struct allo_dtrace_key *keys, size_t count, size_t before,
			      bool is_behind);

/* The first of the times that were seen, if there are such. */
bool allo_dtrace_columns_first_time(struct allo_dtrace_columns *columns, uint64_t *time);

/* What these keys are; NULL when memory is short. */
const enum allo_dtrace_role *allo_dtrace_columns_roles(struct allo_dtrace_columns *columns,
						       const struct allo_dtrace_key *keys,
						       size_t count, size_t before, bool is_behind);

#endif
