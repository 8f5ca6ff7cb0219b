/* schema.c - the tables; see schema.h. */
#include "sql/schema.h"

#include "base/assert.h"

#include <stdio.h>

#define NUMBER(column)                                                                             \
	{                                                                                          \
		.name = (column), .type = ALLO_COLUMN_NUMBER                                       \
	}
#define SMALL(column)                                                                              \
	{                                                                                          \
		.name = (column), .type = ALLO_COLUMN_SMALL                                        \
	}
#define TEXT(column)                                                                               \
	{                                                                                          \
		.name = (column), .type = ALLO_COLUMN_TEXT                                         \
	}
#define STEADY(column)                                                                             \
	{                                                                                          \
		.name = (column), .type = ALLO_COLUMN_NUMBER, .is_steady = true                    \
	}
#define ID                                                                                         \
	{                                                                                          \
		.name = "id", .type = ALLO_COLUMN_NUMBER, .is_key = true                           \
	}
/* Rows count from 1. */
#define COUNTED                                                                                    \
	{                                                                                          \
		.name = "id", .type = ALLO_COLUMN_NUMBER, .is_key = true, .is_steady = true        \
	}

/* clang-format off */
const struct allo_sql_layout allo_sql_tables[ALLO_TABLES] = {
	[ALLO_TABLE_META] = { .name = "meta", .columns = {
		{ .name = "key", .type = ALLO_COLUMN_TEXT, .is_key = true },
		TEXT("value"),
	} },
	[ALLO_TABLE_PROCESS] = { .name = "process", .columns = {
		ID, NUMBER("pid"), NUMBER("parent_pid"), TEXT("command"), TEXT("program"),
		TEXT("folder"), TEXT("host"), TEXT("ended"), TEXT("clock"), NUMBER("start_ns"),
		NUMBER("duration"), NUMBER("peak"),
	} },
	[ALLO_TABLE_MODULE] = { .name = "module", .is_code = true, .columns = {
		ID, TEXT("path"), TEXT("build_id"),
	} },
	[ALLO_TABLE_FUNCTION] = { .name = "function", .is_code = true, .columns = {
		ID, TEXT("name"), TEXT("system_name"), TEXT("file"), NUMBER("line"),
		SMALL("is_allocator"),
	} },
	[ALLO_TABLE_FRAME] = { .name = "frame", .is_code = true, .columns = {
		ID, NUMBER("module"), NUMBER("address"), NUMBER("function"), NUMBER("line"),
		NUMBER("col"), SMALL("is_inlined"),
	} },
	/* SQLite has all calls, with their callers.  Other engines get the stacks of samples and
	 * allocations and their sites; stack_frame has their calls. */
	[ALLO_TABLE_STACK] = { .name = "stack", .is_code = true, .columns = {
		ID,
		{ .name = "parent", .type = ALLO_COLUMN_NUMBER, .may_be_null = true,
		  .only_in = ALLO_IN_SQLITE },
		NUMBER("frame"), NUMBER("site"),
		{ .name = "leaf", .type = ALLO_COLUMN_NUMBER, .only_in = ALLO_IN_SQLITE },
		{ .name = "leaf_frame", .type = ALLO_COLUMN_NUMBER, .only_in = ALLO_IN_ENGINES },
		SMALL("depth"),
		{ .name = "number", .type = ALLO_COLUMN_NUMBER, .only_in = ALLO_IN_SQLITE },
		{ .name = "is_sampled", .type = ALLO_COLUMN_SMALL, .only_in = ALLO_IN_SQLITE },
	} },
	[ALLO_TABLE_STACK_FRAME] = { .name = "stack_frame", .only_in = ALLO_IN_ENGINES,
				     .is_code = true, .columns = {
		NUMBER("stack"), SMALL("frame_no"), NUMBER("frame"),
	} },
	[ALLO_TABLE_THREAD] = { .name = "thread", .columns = {
		COUNTED, NUMBER("process"), NUMBER("tid"), TEXT("name"),
	} },
	[ALLO_TABLE_METRIC] = { .name = "metric", .columns = {
		COUNTED, TEXT("name"), TEXT("unit"), TEXT("about"), SMALL("adds_up"),
	} },
	[ALLO_TABLE_LABEL] = { .name = "label", .columns = {
		COUNTED, NUMBER("labels"), TEXT("name"), TEXT("text"), NUMBER("number"),
		TEXT("unit"),
	} },
	[ALLO_TABLE_SAMPLE] = { .name = "sample", .columns = {
		COUNTED, NUMBER("stack"), NUMBER("metric"), NUMBER("value"), NUMBER("labels"),
		NUMBER("thread"), STEADY("start_ns"), NUMBER("duration_ns"),
		{ .name = "variance", .type = ALLO_COLUMN_REAL },
	} },
	[ALLO_TABLE_MARKER] = { .name = "marker", .columns = {
		COUNTED, NUMBER("process"), NUMBER("thread"), NUMBER("ns"), TEXT("name"),
	} },
	[ALLO_TABLE_ALLOCATION] = { .name = "allocation", .columns = {
		COUNTED, NUMBER("stack"), NUMBER("size"), STEADY("alloc_ns"), STEADY("free_ns"),
		SMALL("alloc_thread"), SMALL("free_thread"), NUMBER("address"),
		SMALL("is_temporary"), SMALL("is_resized_on"),
		{ .name = "first_ns", .type = ALLO_COLUMN_NUMBER, .may_be_null = true,
		  .is_steady = true },
		{ .name = "first_stack", .type = ALLO_COLUMN_NUMBER, .may_be_null = true },
		NUMBER("labels"),
		{ .name = "weight", .type = ALLO_COLUMN_WEIGHT },
	} },
};
/* clang-format on */

static const char *sqlite_type(const struct allo_sql_column *column)
{
	switch (column->type) {
	case ALLO_COLUMN_NUMBER:
	case ALLO_COLUMN_SMALL:
		return "integer";
	case ALLO_COLUMN_REAL:
		return "real";
	case ALLO_COLUMN_WEIGHT:
		return "numeric";
	case ALLO_COLUMN_TEXT:
		return "text";
	}
	return "";
}

void allo_sql_create_table(const struct allo_sql_layout *table, char out[ALLO_SQL_CREATE_MAX])
{
	bool has_text_key = table->columns[0].type == ALLO_COLUMN_TEXT;
	const char *separator = "(";
	size_t used = (size_t)snprintf(out, ALLO_SQL_CREATE_MAX, "create table %s", table->name);

	for (const struct allo_sql_column *column = table->columns; column->name; column++) {
		if (!allo_is_in(column->only_in, ALLO_IN_SQLITE))
			continue;
		used += (size_t)snprintf(out + used, ALLO_SQL_CREATE_MAX - used, "%s\n\t%s %s%s",
					 separator, column->name, sqlite_type(column),
					 column->is_key        ? " primary key"
					 : column->may_be_null ? ""
							       : " not null");
		separator = ",";
	}
	used += (size_t)snprintf(out + used, ALLO_SQL_CREATE_MAX - used, "\n)%s",
				 has_text_key ? " without rowid" : "");
	ALLO_ASSERT(used < ALLO_SQL_CREATE_MAX);
}
