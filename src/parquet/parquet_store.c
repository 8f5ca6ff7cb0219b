/* parquet_store.c - collects rows into row groups, encodes them on another core, and writes them.
 */
#include "parquet/parquet_store.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/io/output_folder.h"
#include "base/jobs.h"
#include "parquet/engine_sql.h"
#include "parquet/parquet_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	/* Reading takes longer than encoding: one core beside the reader's is enough, and one
	 * packer.  A group is filled, one is encoded, and one waits. */
	WORKERS = 1,
	WAITING = 2,
	SPARE = 1 + WAITING,

	FILE_NAME = 32,
	ROWS_AT_ONCE = 2048, /* few enough to stay in the second-level cache */

	/* Each group has the ids of its stacks, which zstd cannot make smaller.  A group of
	 * allocations ends with a page when they take up to a byte per row. */
	ROWS_PER_STACK = sizeof(int64_t),
	PAGES_MOST = 16,
};

struct table {
	struct allo_output out;
	struct allo_parquet_file file;
	struct allo_parquet_column columns[ALLO_SQL_COLUMNS];
	size_t column_count;
	struct allo_row_group *group; /* NULL until its first row comes */
};

struct parquet {
	struct allo_output_folder folder;
	char file_names[ALLO_TABLES][FILE_NAME];
	const char *names[ALLO_TABLES + ALLO_ENGINES + 1];
	struct table tables[ALLO_TABLES];
	struct allo_jobs jobs;
	struct allo_row_packer *packer;
	struct allo_row_group *spare[SPARE];
	size_t spare_count;

	/* The rows of the table `meta` are in each file. */
	struct allo_arena arena;
	ALLO_VEC(struct allo_parquet_fact) facts;

	/* For the allocations of the current group. */
	uint32_t *stack_indexes; /* by stack: 1 + its index in the dictionary, 0: not there */
	ALLO_VEC(allo_stack_id) stacks; /* in the dictionary */
	size_t pages;                   /* that were given to the packer */
};

static struct parquet *parquet_of(const struct allo_store *store)
{
	return store->state;
}

/* Groups. */

static struct allo_row_group *take_spare(struct parquet *parquet, struct allo_error *err)
{
	struct allo_row_group *group = parquet->spare_count > 0
					       ? parquet->spare[--parquet->spare_count]
					       : allo_row_group_new(parquet->packer);

	if (!group)
		allo_fail_memory(err);
	return group;
}

static void keep_spare(struct parquet *parquet, struct allo_row_group *group)
{
	if (parquet->spare_count < SPARE)
		parquet->spare[parquet->spare_count++] = group;
	else
		allo_row_group_free(group);
}

static bool write_oldest(struct parquet *parquet, struct allo_error *err)
{
	struct allo_row_group *group = allo_jobs_take(&parquet->jobs);
	struct table *table = group->owner;
	bool ok = allo_parquet_file_add(&table->file, group, err);

	keep_spare(parquet, group);
	return ok;
}

static bool end_group(struct parquet *parquet, struct table *table, struct allo_error *err)
{
	if (!table->group)
		return true;
	allo_jobs_give(&parquet->jobs, table->group);
	table->group = NULL;
	return allo_jobs_under_way(&parquet->jobs) < WAITING || write_oldest(parquet, err);
}

static bool end_groups(struct parquet *parquet, struct allo_error *err)
{
	for (size_t i = 0; i < ALLO_TABLES; i++) {
		if (!end_group(parquet, &parquet->tables[i], err))
			return false;
	}
	while (allo_jobs_under_way(&parquet->jobs) > 0) {
		if (!write_oldest(parquet, err))
			return false;
	}
	return true;
}

static bool begin_group(struct parquet *parquet, struct table *table, struct allo_error *err)
{
	if (table->group)
		return true;
	table->group = take_spare(parquet, err);
	if (!table->group)
		return false;
	allo_row_group_begin(table->group, table->columns, table->column_count);
	table->group->owner = table;
	return true;
}

/* Rows. */

static bool keep_fact(struct parquet *parquet, const struct allo_sql_cell *cells,
		      struct allo_error *err)
{
	struct allo_text key = cells[0].text, value = cells[1].text;
	struct allo_parquet_fact fact = {
		{ allo_arena_copy(&parquet->arena, key.data, key.len), key.len },
		{ allo_arena_copy(&parquet->arena, value.data, value.len), value.len },
	};

	return (fact.key.data && fact.value.data) ? allo_vec_add(&parquet->facts, fact, err)
						  : allo_fail_memory(err);
}

static bool add_cell(struct allo_column_values *values, enum allo_parquet_type type,
		     const struct allo_sql_cell *cell)
{
	int64_t bits;

	ALLO_ASSERT(!cell->is_null);
	switch (type) {
	case ALLO_PARQUET_TEXT:
		return allo_column_add_text(values, cell->text);
	case ALLO_PARQUET_DOUBLE:
		memcpy(&bits, &cell->real, sizeof(bits));
		return allo_column_add_numbers(values, &bits, 1);
	default:
		return allo_column_add_numbers(values, &cell->number, 1);
	}
}

static bool add_row(struct allo_store *store, enum allo_sql_table id,
		    const struct allo_sql_cell *cells, struct allo_error *err)
{
	struct parquet *parquet = parquet_of(store);
	struct table *table = &parquet->tables[id];
	bool is_full;

	if ((id == ALLO_TABLE_META && !keep_fact(parquet, cells, err)) ||
	    !begin_group(parquet, table, err))
		return false;
	is_full = ++table->group->rows == ALLO_ROW_GROUP_ROWS;
	for (size_t i = 0; i < table->column_count; i++) {
		struct allo_column_values *values = &table->group->values[i];

		if (!add_cell(values, table->columns[i].type, &cells[i]))
			return allo_fail_memory(err);
		is_full |= values->text.len > ALLO_ROW_GROUP_TEXT;
	}
	return !is_full || end_group(parquet, table, err);
}

/* Allocations. */

enum allocation_column {
	COLUMN_ID,
	COLUMN_STACK,
	COLUMN_SIZE,
	COLUMN_ALLOC_NS,
	COLUMN_FREE_NS,
	COLUMN_ALLOC_THREAD,
	COLUMN_FREE_THREAD,
	COLUMN_ADDRESS,
	COLUMN_IS_TEMPORARY,
	COLUMN_IS_RESIZED_ON,
	COLUMN_FIRST_NS,
	COLUMN_FIRST_STACK,
	COLUMN_LABELS,
	COLUMN_WEIGHT,
};

/* The dictionary of stacks is made here: a lookup in an array costs less than a hash. */
static bool add_stacks(struct parquet *parquet, const struct allo_store *store,
		       struct allo_column_values *values, const struct allo_allocation *rows,
		       size_t count)
{
	struct allo_number_dictionary *dictionary = &values->dictionary;
	uint32_t *indexes;

	if (!allo_vec_reserve(&dictionary->indexes, count))
		return false;
	indexes = dictionary->indexes.at + dictionary->indexes.len;
	for (size_t i = 0; i < count; i++) {
		uint32_t *index = &parquet->stack_indexes[rows[i].stack];

		if (*index == 0) {
			if (!allo_vec_append(&dictionary->values, &store->ids.stacks[rows[i].stack],
					     1) ||
			    !allo_vec_append(&parquet->stacks, &rows[i].stack, 1))
				return false;
			*index = (uint32_t)parquet->stacks.len;
		}
		indexes[i] = *index - 1;
	}
	dictionary->indexes.len += count;
	values->count += count;
	return values->has_dictionary = values->has_values = true;
}

static bool add_firsts(const struct allo_store *store, struct allo_row_group *group,
		       const struct allo_allocation *rows, size_t count)
{
	uint8_t is_there[ROWS_AT_ONCE];
	int64_t times[ROWS_AT_ONCE], stacks[ROWS_AT_ONCE];
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		is_there[i] = rows[i].is_resized;
		times[found] = allo_sql_number(rows[i].first_ns);
		stacks[found] = store->ids.stacks[rows[i].first_stack];
		found += is_there[i];
	}
	return allo_column_add_optional(&group->values[COLUMN_FIRST_NS], group->rows, is_there,
					count, times, found) &&
	       allo_column_add_optional(&group->values[COLUMN_FIRST_STACK], group->rows, is_there,
					count, stacks, found);
}

static int64_t weight_bits(const struct allo_allocation *row)
{
	double weight = row->weight == 0 ? 1 : row->weight;
	int64_t bits;

	memcpy(&bits, &weight, sizeof(bits));
	return bits;
}

/* Adds `value`, an expression on `row`, for each row. */
#define ADD_ALL(column, value)                                                                     \
	do {                                                                                       \
		for (size_t i = 0; i < count; i++) {                                               \
			const struct allo_allocation *row = &rows[i];                              \
			numbers[i] = (int64_t)(value);                                             \
		}                                                                                  \
		ok &= allo_column_add_numbers(&group->values[column], numbers, count);             \
	} while (0)

/* At most ROWS_AT_ONCE rows, for which the group has room. */
static bool add_some(const struct allo_store *store, struct allo_row_group *group,
		     uint64_t first_id, const struct allo_allocation *rows, size_t count,
		     struct allo_error *err)
{
	struct parquet *parquet = parquet_of(store);
	int64_t numbers[ROWS_AT_ONCE];
	bool ok = add_stacks(parquet, store, &group->values[COLUMN_STACK], rows, count) &&
		  add_firsts(store, group, rows, count);

	ADD_ALL(COLUMN_ID, first_id + (uint64_t)(row - rows));
	ADD_ALL(COLUMN_SIZE, allo_sql_number(row->size));
	ADD_ALL(COLUMN_ALLOC_NS, allo_sql_number(row->alloc_ns));
	ADD_ALL(COLUMN_FREE_NS, allo_sql_number(row->free_ns));
	ADD_ALL(COLUMN_ALLOC_THREAD, row->alloc_thread);
	ADD_ALL(COLUMN_FREE_THREAD, row->free_thread);
	ADD_ALL(COLUMN_ADDRESS, row->address);
	ADD_ALL(COLUMN_IS_TEMPORARY, row->is_temporary);
	ADD_ALL(COLUMN_IS_RESIZED_ON, row->is_resized_on);
	ADD_ALL(COLUMN_LABELS, row->labels);
	ADD_ALL(COLUMN_WEIGHT, weight_bits(row));
	group->rows += count;
	return ok || allo_fail_memory(err);
}

#undef ADD_ALL

static bool begin_allocations(const struct allo_store *store, struct allo_error *err)
{
	struct parquet *parquet = parquet_of(store);

	if (parquet->stack_indexes)
		return true;
	ALLO_ASSERT(strcmp(parquet->tables[ALLO_TABLE_ALLOCATION].columns[COLUMN_WEIGHT].name,
			   "weight") == 0);
	parquet->stack_indexes = calloc(store->ids.stack_count, sizeof(*parquet->stack_indexes));
	return parquet->stack_indexes ? end_groups(parquet, err) : allo_fail_memory(err);
}

static void forget_stacks(struct parquet *parquet)
{
	for (size_t i = 0; i < parquet->stacks.len; i++)
		parquet->stack_indexes[parquet->stacks.at[i]] = 0;
	parquet->stacks.len = 0;
}

/* Ends a page; and the group, unless its dictionary of stacks is large. */
static bool end_page(struct parquet *parquet, struct table *table, struct allo_error *err)
{
	size_t rows = ++parquet->pages * ALLO_ROW_GROUP_ROWS;

	if (parquet->stacks.len > rows / ROWS_PER_STACK && parquet->pages < PAGES_MOST) {
		table->group->is_continued = true;
	} else {
		parquet->pages = 0;
		forget_stacks(parquet);
	}
	return end_group(parquet, table, err);
}

/* Ends a group whose last page was full. */
static bool end_allocations(struct parquet *parquet, struct allo_error *err)
{
	return parquet->pages == 0 ||
	       begin_group(parquet, &parquet->tables[ALLO_TABLE_ALLOCATION], err);
}

static bool add_allocations(struct allo_store *store, const struct allo_allocation *rows,
			    size_t count, struct allo_error *err)
{
	struct parquet *parquet = parquet_of(store);
	struct table *table = &parquet->tables[ALLO_TABLE_ALLOCATION];
	uint64_t id = store->rows - count + 1;

	if (!begin_allocations(store, err))
		return false;
	while (count > 0) {
		size_t some = count < ROWS_AT_ONCE ? count : ROWS_AT_ONCE, room;

		if (!begin_group(parquet, table, err))
			return false;
		room = ALLO_ROW_GROUP_ROWS - table->group->rows;
		some = some < room ? some : room;
		if (!add_some(store, table->group, id, rows, some, err))
			return false;
		rows += some;
		count -= some;
		id += some;
		if (table->group->rows == ALLO_ROW_GROUP_ROWS && !end_page(parquet, table, err))
			return false;
	}
	return true;
}

/* The beginning and the end. */

static enum allo_parquet_type type_of(const struct allo_sql_column *column)
{
	switch (column->type) {
	case ALLO_COLUMN_NUMBER:
		return ALLO_PARQUET_INT64;
	case ALLO_COLUMN_SMALL:
		return ALLO_PARQUET_INT32;
	case ALLO_COLUMN_REAL:
	case ALLO_COLUMN_WEIGHT:
		return ALLO_PARQUET_DOUBLE;
	case ALLO_COLUMN_TEXT:
		break;
	}
	return ALLO_PARQUET_TEXT;
}

static bool begin_table(struct parquet *parquet, size_t id, struct allo_error *err)
{
	const struct allo_sql_layout *layout = &allo_sql_tables[id];
	struct table *table = &parquet->tables[id];

	if (!allo_is_in(layout->only_in, ALLO_IN_ENGINES))
		return true;
	for (const struct allo_sql_column *column = layout->columns; column->name; column++) {
		if (!allo_is_in(column->only_in, ALLO_IN_ENGINES))
			continue;
		table->columns[table->column_count++] = (struct allo_parquet_column){
			.name = column->name,
			.type = type_of(column),
			.may_be_null = column->may_be_null,
			.is_steady = column->is_steady,
		};
	}
	if (!allo_output_folder_add(&parquet->folder, &table->out, parquet->file_names[id], err))
		return false;
	allo_parquet_file_begin(&table->file, &table->out, table->columns, table->column_count);
	return true;
}

static bool end_table(struct parquet *parquet, struct table *table, struct allo_error *err)
{
	return table->column_count == 0 ||
	       (allo_parquet_file_end(&table->file, parquet->facts.at, parquet->facts.len, err) &&
		allo_output_finish(&table->out, err));
}

static bool write_engine_sql(struct parquet *parquet, enum allo_engine engine,
			     struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	return allo_output_folder_add(&parquet->folder, &out, allo_engine_files[engine], err) &&
	       allo_engine_sql(engine, parquet->folder.name, &out, err) &&
	       allo_output_finish(&out, err);
}

/* Runs. */

struct allo_text allo_parquet_runs_folder(const char *path)
{
	struct allo_text whole = allo_text_of(path), parent, name;

	while (whole.len > 1 && allo_text_ends(whole, ALLO_TEXT("/")))
		whole.len--;
	if (!allo_text_cut_last(whole, '/', &parent, &name)) {
		parent = ALLO_TEXT(".");
		name = whole;
	}
	return allo_text_starts(name, ALLO_TEXT("run=")) ? parent : ALLO_TEXT("");
}

static bool write_runs_sql(const struct parquet *parquet, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_output_options plain = { 0 };
	struct allo_text parent = allo_parquet_runs_folder(parquet->folder.name);
	ALLO_DEFER(allo_free_pointer) char *folder = NULL;
	ALLO_DEFER(allo_free_pointer) char *path = NULL;

	if (parent.len == 0)
		return true;
	folder = strndup(parent.data, parent.len);
	if (!folder || asprintf(&path, "%s/%s", folder, allo_engine_files[ALLO_ENGINE_DUCKDB]) < 0)
		return allo_fail_memory(err);
	return access(path, F_OK) == 0 ||
	       (allo_output_open(&out, path, &plain, err) && allo_runs_sql(folder, &out, err) &&
		allo_output_finish(&out, err));
}

static bool finish(struct allo_store *store, struct allo_error *err)
{
	struct parquet *parquet = parquet_of(store);

	if (!end_allocations(parquet, err) || !end_groups(parquet, err))
		return false;
	for (size_t i = 0; i < ALLO_TABLES; i++) {
		if (!end_table(parquet, &parquet->tables[i], err))
			return false;
	}
	for (int i = 0; i < ALLO_ENGINES; i++) {
		if (!write_engine_sql(parquet, (enum allo_engine)i, err))
			return false;
	}
	return allo_output_folder_finish(&parquet->folder, err) && write_runs_sql(parquet, err);
}

static void drop(struct allo_store *store)
{
	struct parquet *parquet = parquet_of(store);

	if (!parquet)
		return;
	while (allo_jobs_under_way(&parquet->jobs) > 0)
		keep_spare(parquet, allo_jobs_take(&parquet->jobs));
	allo_jobs_close(&parquet->jobs);
	for (size_t i = 0; i < ALLO_TABLES; i++) {
		allo_row_group_free(parquet->tables[i].group);
		allo_parquet_file_done(&parquet->tables[i].file);
		allo_output_drop(&parquet->tables[i].out);
	}
	while (parquet->spare_count > 0)
		allo_row_group_free(parquet->spare[--parquet->spare_count]);
	allo_row_packer_free(parquet->packer);
	allo_output_folder_drop(&parquet->folder);
	allo_arena_done(&parquet->arena);
	allo_vec_done(&parquet->facts);
	allo_vec_done(&parquet->stacks);
	free(parquet->stack_indexes);
	free(parquet);
}

static const struct allo_store_kind parquet_kind = {
	.place = ALLO_IN_ENGINES,
	.add_row = add_row,
	.add_allocations = add_allocations,
	.finish = finish,
	.drop = drop,
};

static void list_files(struct parquet *parquet)
{
	size_t count = 0;

	for (size_t i = 0; i < ALLO_TABLES; i++) {
		snprintf(parquet->file_names[i], FILE_NAME, "%s.parquet", allo_sql_tables[i].name);
		parquet->names[count++] = parquet->file_names[i];
	}
	for (size_t i = 0; i < ALLO_ENGINES; i++)
		parquet->names[count++] = allo_engine_files[i];
}

bool allo_parquet_open(struct allo_store *store, const char *path,
		       const struct allo_output_options *options, struct allo_error *err)
{
	struct parquet *parquet = calloc(1, sizeof(*parquet));

	*store = (struct allo_store){ .kind = &parquet_kind, .state = parquet };
	if (!parquet)
		return allo_fail_memory(err);
	for (size_t i = 0; i < ALLO_TABLES; i++)
		parquet->tables[i].out.fd = -1;
	parquet->packer = allo_row_packer_new();
	if (!parquet->packer)
		return allo_fail_memory(err);
	list_files(parquet);
	allo_jobs_open(&parquet->jobs, allo_row_group_encode, allo_cpu_count() > 1 ? WORKERS : 0);
	parquet->jobs.is_serial = true; /* there is one packer */
	if (!allo_output_folder_open(&parquet->folder, path, options, parquet->names, err))
		return false;
	for (size_t i = 0; i < ALLO_TABLES; i++) {
		if (!begin_table(parquet, i, err))
			return false;
	}
	return true;
}

uint64_t allo_parquet_size(const struct allo_store *store)
{
	return parquet_of(store)->folder.size;
}
