/*
 * postgresql_store.c - see postgresql_store.h.
 *
 * All is one transaction: a script that fails, or ends early, changes nothing.  Rows of tables that
 * the transaction created need no write-ahead log and, with "freeze", no second write by a vacuum.
 * There are no indexes: the queries read most of a table.
 */
#include "sql/postgresql_store.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

extern const char allo_engine_views_sql[];

struct postgresql {
	struct allo_output *out;
	enum allo_sql_table table; /* whose rows are being copied; ALLO_TABLES: none */
	/* The rows of the table `stack`, until those of `stack_frame`, which come in between, are
	 * written. */
	struct allo_output stacks;
	bool has_stacks;
};

static struct postgresql *postgresql_of(const struct allo_store *store)
{
	return store->state;
}

/* Tables. */

static const char *postgresql_type(const struct allo_sql_column *column)
{
	switch (column->type) {
	case ALLO_COLUMN_NUMBER:
		return "bigint";
	case ALLO_COLUMN_SMALL:
		return "integer";
	case ALLO_COLUMN_REAL:
	case ALLO_COLUMN_WEIGHT:
		return "double precision";
	case ALLO_COLUMN_TEXT:
		break;
	}
	return "text";
}

static void put_table(struct allo_output *out, const struct allo_sql_layout *table)
{
	const char *separator = "(";

	allo_output_printf(out, "create table %s", table->name);
	for (const struct allo_sql_column *column = table->columns; column->name; column++) {
		if (!allo_is_in(column->only_in, ALLO_IN_ENGINES))
			continue;
		allo_output_printf(out, "%s\n\t%s %s%s", separator, column->name,
				   postgresql_type(column), column->may_be_null ? "" : " not null");
		separator = ",";
	}
	allo_output_string(out, "\n);\n");
}

static void put_head(struct allo_output *out)
{
	allo_output_string(out, "-- Tables of Allotrope for PostgreSQL: psql -d DATABASE -f FILE\n"
				"\\set ON_ERROR_STOP on\n"
				"set client_encoding = 'UTF8';\n"
				"begin;\n");
	for (size_t i = 0; i < ALLO_TABLES; i++)
		put_table(out, &allo_sql_tables[i]);
}

static void begin_copy(struct allo_output *out, enum allo_sql_table table)
{
	allo_output_printf(out, "copy %s from stdin with (freeze);\n", allo_sql_tables[table].name);
}

static void end_copy(struct allo_output *out)
{
	allo_output_string(out, "\\.\n");
}

static bool write_stacks(struct postgresql *postgresql, struct allo_error *err)
{
	postgresql->has_stacks = false;
	if (!allo_output_finish(&postgresql->stacks, err))
		return false;
	begin_copy(postgresql->out, ALLO_TABLE_STACK);
	allo_output_text(postgresql->out, allo_output_memory(&postgresql->stacks));
	end_copy(postgresql->out);
	allo_output_drop(&postgresql->stacks);
	return true;
}

/* Ends the table before; ALLO_TABLES only does that. */
static bool go_to(struct postgresql *postgresql, enum allo_sql_table table, struct allo_error *err)
{
	if (postgresql->table == table)
		return true;
	if (postgresql->table != ALLO_TABLES)
		end_copy(postgresql->out);
	postgresql->table = table;
	if (postgresql->has_stacks && table != ALLO_TABLE_STACK_FRAME &&
	    !write_stacks(postgresql, err))
		return false;
	if (table != ALLO_TABLES)
		begin_copy(postgresql->out, table);
	return true;
}

/* Rows. */

/* Without NUL, which PostgreSQL cannot store, and with escapes for the characters that have a
 * meaning in its rows. */
static void put_text(struct allo_output *out, struct allo_text text)
{
	size_t start = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *escape = text.data[i] == '\0'   ? ALLO_UTF8_REPLACEMENT
				     : text.data[i] == '\\' ? "\\\\"
				     : text.data[i] == '\n' ? "\\n"
				     : text.data[i] == '\r' ? "\\r"
				     : text.data[i] == '\t' ? "\\t"
							    : NULL;

		if (!escape)
			continue;
		allo_output_utf8(out, (struct allo_text){ text.data + start, i - start });
		allo_output_string(out, escape);
		start = i + 1;
	}
	allo_output_utf8(out, allo_text_from(text, start));
}

static void put_real(struct allo_output *out, double number)
{
	if (number > -1e9 && number < 1e9 && number == (double)(int32_t)number)
		allo_output_i64(out, (int64_t)number);
	else
		allo_output_printf(out, "%.17g", number);
}

static void put_cell(struct allo_output *out, enum allo_sql_type type,
		     const struct allo_sql_cell *cell)
{
	switch (type) {
	case ALLO_COLUMN_TEXT:
		put_text(out, cell->text);
		break;
	case ALLO_COLUMN_REAL:
	case ALLO_COLUMN_WEIGHT:
		put_real(out, cell->real);
		break;
	default:
		allo_output_i64(out, cell->number);
	}
}

static bool add_row(struct allo_store *store, enum allo_sql_table table,
		    const struct allo_sql_cell *cells, struct allo_error *err)
{
	static const struct allo_output_options plain;
	struct postgresql *postgresql = postgresql_of(store);
	struct allo_output *out = postgresql->out;

	if (table == ALLO_TABLE_STACK) {
		if (!postgresql->has_stacks &&
		    !allo_output_open_memory(&postgresql->stacks, &plain, err))
			return false;
		postgresql->has_stacks = true;
		out = &postgresql->stacks;
	} else if (!go_to(postgresql, table, err)) {
		return false;
	}
	for (const struct allo_sql_column *column = allo_sql_tables[table].columns; column->name;
	     column++) {
		if (!allo_is_in(column->only_in, ALLO_IN_ENGINES))
			continue;
		if (column != allo_sql_tables[table].columns)
			allo_output_byte(out, '\t');
		put_cell(out, column->type, cells++);
	}
	allo_output_byte(out, '\n');
	return true;
}

static void put_number(struct allo_output *out, int64_t number)
{
	allo_output_byte(out, '\t');
	allo_output_i64(out, number);
}

/* Only a realloc makes these two differ from those of the block. */
static void put_first(struct allo_output *out, const struct allo_store *store,
		      const struct allo_allocation *row)
{
	if (!row->is_resized) {
		allo_output_string(out, "\t\\N\t\\N");
		return;
	}
	put_number(out, allo_sql_number(row->first_ns));
	put_number(out, store->ids.stacks[row->first_stack]);
}

static void put_allocation(struct allo_output *out, const struct allo_store *store, uint64_t id,
			   const struct allo_allocation *row)
{
	allo_output_u64(out, id);
	put_number(out, store->ids.stacks[row->stack]);
	put_number(out, allo_sql_number(row->size));
	put_number(out, allo_sql_number(row->alloc_ns));
	put_number(out, allo_sql_number(row->free_ns));
	put_number(out, row->alloc_thread);
	put_number(out, row->free_thread);
	put_number(out, (int64_t)row->address);
	put_number(out, row->is_temporary);
	put_number(out, row->is_resized_on);
	put_first(out, store, row);
	put_number(out, row->labels);
	allo_output_byte(out, '\t');
	put_real(out, row->weight == 0 ? 1 : row->weight);
	allo_output_byte(out, '\n');
}

static bool add_allocations(struct allo_store *store, const struct allo_allocation *rows,
			    size_t count, struct allo_error *err)
{
	struct postgresql *postgresql = postgresql_of(store);
	uint64_t id = store->rows - count + 1;

	if (!go_to(postgresql, ALLO_TABLE_ALLOCATION, err))
		return false;
	for (size_t i = 0; i < count; i++)
		put_allocation(postgresql->out, store, id + i, &rows[i]);
	return true;
}

/* The beginning and the end. */

static bool finish(struct allo_store *store, struct allo_error *err)
{
	struct postgresql *postgresql = postgresql_of(store);

	if (!go_to(postgresql, ALLO_TABLES, err))
		return false;
	allo_output_byte(postgresql->out, '\n');
	allo_output_string(postgresql->out, allo_engine_views_sql);
	allo_output_string(postgresql->out, "commit;\n");
	/* The plans of joins follow from the sizes of tables. */
	for (size_t i = 0; i < ALLO_TABLES; i++)
		allo_output_printf(postgresql->out, "analyze %s;\n", allo_sql_tables[i].name);
	return true;
}

static void drop(struct allo_store *store)
{
	struct postgresql *postgresql = postgresql_of(store);

	if (!postgresql)
		return;
	allo_output_drop(&postgresql->stacks);
	free(postgresql);
}

static const struct allo_store_kind postgresql_kind = {
	.place = ALLO_IN_ENGINES,
	.add_row = add_row,
	.add_allocations = add_allocations,
	.finish = finish,
	.drop = drop,
};

bool allo_postgresql_open(struct allo_store *store, struct allo_output *out, struct allo_error *err)
{
	struct postgresql *postgresql = calloc(1, sizeof(*postgresql));

	*store = (struct allo_store){ .kind = &postgresql_kind, .state = postgresql };
	if (!postgresql)
		return allo_fail_memory(err);
	postgresql->out = out;
	postgresql->table = ALLO_TABLES;
	postgresql->stacks.fd = -1;
	put_head(out);
	return true;
}
