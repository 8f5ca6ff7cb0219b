/*
 * dtrace_columns.h - which of the keys that DTrace prints beside a stack is what.
 *
 * They have no names.  Who has written the script can tell them; otherwise they are known by how
 * they look: names are names of programs, and numbers that are large and never fall are times.  All
 * keys before a stack, or behind it, that are alike in number and kind are one group.
 */
#ifndef ALLO_READERS_DTRACE_COLUMNS_H
#define ALLO_READERS_DTRACE_COLUMNS_H

#include "base/vec.h"
#include "readers/dtrace_lines.h"

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
