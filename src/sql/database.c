/* database.c - creates the database: SQLite writes all tables but the rows, which we write. */
#include "sql/database.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/vec.h"
#include "sql/sqlite_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The rows of the table `allocation`, written as SQLite would lay them out.  Rows come in the order
 * of their ids, so the pages of the table follow one after the other.  SQLite would take half a
 * microsecond per row.  The format is that of https://www.sqlite.org/fileformat2.html, which SQLite
 * guarantees to keep.
 */

/* A page, and the id of the last row in it or below it. */
struct row_page {
	uint32_t page;
	int64_t last;
};

/* All zeros: nothing to free. */
struct row_pages {
	int fd;
	const char *name;      /* of the file, for messages */
	uint32_t page_size;    /* bytes */
	uint32_t root;         /* root page of the table, empty */
	uint32_t page_count;   /* of the file */
	const int64_t *stacks; /* ids in the database, by stack of the profile */

	unsigned char *page;   /* the current leaf */
	size_t cells, content; /* its rows; where they start: a page is filled from its end */
	int64_t last;          /* id of the last row */
	ALLO_VEC(struct row_page) leaves;
};

enum {
	COLUMNS = 14, /* of the table, including the id */
	/* A row: two lengths, the id, and for each column a type byte and at most 8 bytes. */
	CELL_MAX = 1 + 9 + 1 + COLUMNS + 8 * COLUMNS,

	LEAF = 0x0d,
	LEAF_HEAD = 8,
	INNER = 0x05,
	INNER_HEAD = 12,
	INNER_CELL_MAX = 4 + 9 + 2, /* including its entry in the list of cells */

	PAGE_COUNT_AT = 28, /* offset in the file header */
};

/* SQLite locks this byte and never uses the page that contains it. */
static const uint64_t lock_byte = 1 << 30;

static void row_pages_done(struct row_pages *pages)
{
	free(pages->page);
	allo_vec_done(&pages->leaves);
}

/* Numbers of the format are big-endian. */

static void put_be16(unsigned char *to, size_t number)
{
	to[0] = (unsigned char)(number >> 8);
	to[1] = (unsigned char)number;
}

static void put_be32(unsigned char *to, uint32_t number)
{
	put_be16(to, number >> 16);
	put_be16(to + 2, number);
}

/* Seven bits per byte, most significant first, the top bit set in all but the last byte.  Row ids
 * never need the ninth byte. */
static size_t put_sqlite_varint(unsigned char *to, uint64_t number)
{
	unsigned char bytes[10];
	size_t count = 0;

	do {
		bytes[count++] = (unsigned char)((number & 127) | 128);
		number >>= 7;
	} while (number > 0);
	bytes[0] &= 127;
	for (size_t i = 0; i < count; i++)
		to[i] = bytes[count - 1 - i];
	return count;
}

/* Puts a number into a row in as few bytes as the format has for it; *body moves behind it.
 * Returns its type.  There must be room for 8 bytes. */
static inline unsigned char put_number(unsigned char **body, int64_t number)
{
	static const struct {
		unsigned char type, bytes;
	} kinds[9] = {
		[1] = { 1, 1 }, [2] = { 2, 2 }, [3] = { 3, 3 }, [4] = { 4, 4 },
		[5] = { 5, 6 }, [6] = { 5, 6 }, [7] = { 6, 8 }, [8] = { 6, 8 },
	};
	uint64_t magnitude = (uint64_t)(number < 0 ? ~number : number), swapped;
	unsigned bytes;

	if (number == 0 || number == 1)
		return (unsigned char)(8 + number);                      /* no bytes follow */
	bytes = (unsigned)(64 - __builtin_clzll(magnitude | 1)) / 8 + 1; /* one bit is the sign */
	swapped = __builtin_bswap64((uint64_t)number << (64 - 8 * kinds[bytes].bytes));
	memcpy(*body, &swapped, sizeof(swapped));
	ALLO_ASSERT(bytes >= 1 && bytes <= 8);
	*body += kinds[bytes].bytes;
	return kinds[bytes].type;
}

/* The same for a number with a fraction. */
static inline unsigned char put_real(unsigned char **body, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	bits = __builtin_bswap64(bits);
	memcpy(*body, &bits, sizeof(bits));
	*body += sizeof(bits);
	return 7;
}

/* SQLite stores whole numbers as integers. */
static inline unsigned char put_weight(unsigned char **body, double weight)
{
	if (__builtin_expect(weight == 0, 1))
		return put_number(body, 1);
	return weight < 0x1p53 && weight == (double)(int64_t)weight
		       ? put_number(body, (int64_t)weight)
		       : put_real(body, weight);
}

static bool write_page(const struct row_pages *pages, uint32_t number, const void *page,
		       struct allo_error *err)
{
	off_t offset = (off_t)(number - 1) * pages->page_size;
	const char *from = page;
	size_t left = pages->page_size;

	while (left > 0) {
		ssize_t done = pwrite(pages->fd, from, left, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return allo_fail_errno(err, pages->name, "write");
		from += done;
		offset += done;
		left -= (size_t)done;
	}
	return true;
}

/* The number of a new page; 0, with a failure, if the file is full. */
static uint32_t new_page(struct row_pages *pages, struct allo_error *err)
{
	if (pages->page_count >= UINT32_MAX - 3) {
		allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = pages->name },
			  "more allocations than a SQLite database can hold");
		return 0;
	}
	pages->page_count++;
	if (pages->page_count == lock_byte / pages->page_size + 1)
		pages->page_count++;
	return pages->page_count;
}

/* Leaf pages hold rows. */

static void clear_leaf(struct row_pages *pages)
{
	memset(pages->page, 0, pages->page_size);
	pages->cells = 0;
	pages->content = pages->page_size;
}

static bool begin_rows(struct row_pages *pages, struct allo_error *err)
{
	pages->page = malloc(pages->page_size);
	if (!pages->page)
		return allo_fail_memory(err);
	clear_leaf(pages);
	return true;
}

static void end_leaf(struct row_pages *pages)
{
	pages->page[0] = LEAF;
	put_be16(pages->page + 3, pages->cells);
	put_be16(pages->page + 5, pages->content);
}

static bool write_leaf(struct row_pages *pages, struct allo_error *err)
{
	struct row_page leaf = { .page = new_page(pages, err), .last = pages->last };

	if (leaf.page == 0)
		return false;
	if (!allo_vec_append(&pages->leaves, &leaf, 1))
		return allo_fail_memory(err);
	end_leaf(pages);
	if (!write_page(pages, leaf.page, pages->page, err))
		return false;
	clear_leaf(pages);
	return true;
}

/* Encodes a row; returns its length. */
static inline size_t make_cell(const struct row_pages *pages, const struct allo_allocation *row,
			       int64_t id, unsigned char *cell)
{
	const int64_t *stacks = pages->stacks;
	size_t head_at = 1 + put_sqlite_varint(cell + 1, (uint64_t)id);
	unsigned char *type = cell + head_at, *body = type + 1 + COLUMNS;

	*type++ = 1 + COLUMNS;
	*type++ = 0; /* the row id stands in for this column */
	*type++ = put_number(&body, stacks[row->stack]);
	*type++ = put_number(&body, allo_sql_number(row->size));
	*type++ = put_number(&body, allo_sql_number(row->alloc_ns));
	*type++ = put_number(&body, allo_sql_number(row->free_ns));
	*type++ = put_number(&body, row->alloc_thread);
	*type++ = put_number(&body, row->free_thread);
	*type++ = put_number(&body, (int64_t)row->address);
	*type++ = put_number(&body, row->is_temporary);
	*type++ = put_number(&body, row->is_resized_on);
	/* Only a realloc makes these differ; null takes no space. */
	*type++ = row->is_resized ? put_number(&body, allo_sql_number(row->first_ns)) : 0;
	*type++ = row->is_resized ? put_number(&body, stacks[row->first_stack]) : 0;
	*type++ = put_number(&body, row->labels);
	*type++ = put_weight(&body, row->weight);
	ALLO_ASSERT(type == cell + head_at + 1 + COLUMNS && body - cell <= CELL_MAX);
	cell[0] = (unsigned char)(body - cell - (ptrdiff_t)head_at); /* less than 128 */
	return (size_t)(body - cell);
}

static bool add_rows(struct row_pages *pages, const struct allo_allocation *rows, size_t count,
		     struct allo_error *err)
{
	unsigned char cell[CELL_MAX + 8];

	for (size_t i = 0; i < count; i++) {
		size_t len = make_cell(pages, &rows[i], pages->last + 1, cell);
		size_t list_end = LEAF_HEAD + 2 * (pages->cells + 1);

		if (list_end + len > pages->content) {
			if (!write_leaf(pages, err))
				return false;
			list_end = LEAF_HEAD + 2;
		}
		pages->content -= len;
		memcpy(pages->page + pages->content, cell, len);
		put_be16(pages->page + list_end - 2, pages->content);
		pages->cells++;
		pages->last++;
		ALLO_ASSERT(pages->content >= LEAF_HEAD + 2 * pages->cells);
	}
	return true;
}

/* Inner pages lead to the leaves. */

static void make_inner(const struct row_pages *pages, const struct row_page *below, size_t count,
		       unsigned char *page)
{
	size_t content = pages->page_size;

	memset(page, 0, pages->page_size);
	page[0] = INNER;
	/* The last page below has no cell. */
	for (size_t i = 0; i + 1 < count; i++) {
		unsigned char cell[4 + 10];
		size_t len = 4 + put_sqlite_varint(cell + 4, (uint64_t)below[i].last);

		put_be32(cell, below[i].page);
		content -= len;
		memcpy(page + content, cell, len);
		put_be16(page + INNER_HEAD + 2 * i, content);
	}
	ALLO_ASSERT(count > 0 && content >= INNER_HEAD + 2 * (count - 1));
	put_be16(page + 3, count - 1);
	put_be16(page + 5, content);
	put_be32(page + 8, below[count - 1].page);
}

/* Adds a level of inner pages above `count` pages, evenly filled, and replaces the list of pages
 * below by the new ones.  Returns their number, or 0 on failure. */
static size_t add_level(struct row_pages *pages, size_t count, size_t most, struct allo_error *err)
{
	size_t groups = (count + most - 1) / most, from = 0;
	struct row_page *level = pages->leaves.at;

	for (size_t i = 0; i < groups; i++) {
		size_t to = count * (i + 1) / groups;
		uint32_t number = new_page(pages, err);

		if (number == 0)
			return 0;
		make_inner(pages, level + from, to - from, pages->page);
		if (!write_page(pages, number, pages->page, err))
			return 0;
		ALLO_ASSERT(to > from && i < to);
		level[i] = (struct row_page){ number, level[to - 1].last };
		from = to;
	}
	return groups;
}

static bool write_root(struct row_pages *pages, struct allo_error *err)
{
	size_t most = (pages->page_size - INNER_HEAD) / INNER_CELL_MAX, count;

	if (pages->leaves.len == 0) {
		end_leaf(pages);
		return write_page(pages, pages->root, pages->page, err);
	}
	if (pages->cells > 0 && !write_leaf(pages, err))
		return false;
	for (count = pages->leaves.len; count > most;) {
		count = add_level(pages, count, most, err);
		if (count == 0)
			return false;
	}
	make_inner(pages, pages->leaves.at, count, pages->page);
	return write_page(pages, pages->root, pages->page, err);
}

static bool finish_rows(struct row_pages *pages, struct allo_error *err)
{
	unsigned char count[4];

	if (!write_root(pages, err))
		return false;
	put_be32(count, pages->page_count);
	return pwrite(pages->fd, count, sizeof(count), PAGE_COUNT_AT) == sizeof(count) ||
	       allo_fail_errno(err, pages->name, "write");
}

/* The database. */

extern const char allo_views_sql[];

/* The page size is a compromise: small databases grow, large ones are faster. */
static const char pragmas[] = "pragma page_size = 16384;"
			      "pragma synchronous = off;"
			      "pragma locking_mode = exclusive;"
			      "pragma cache_size = -32768;"
			      "pragma application_id = " ALLO_SQL_APPLICATION ";"
			      "pragma user_version = " ALLO_SQL_VERSION ";"
			      "begin";

struct database {
	sqlite3 *db; /* NULL once everything but the rows is written */
	const char *name;
	sqlite3_stmt *inserts[ALLO_TABLES]; /* made when they are needed */
	struct row_pages rows;
};

static bool make_tables(struct database *database, struct allo_error *err)
{
	for (size_t i = 0; i < ALLO_TABLES; i++) {
		char sql[ALLO_SQL_CREATE_MAX];

		if (!allo_is_in(allo_sql_tables[i].only_in, ALLO_IN_SQLITE))
			continue;
		allo_sql_create_table(&allo_sql_tables[i], sql);
		if (!allo_sqlite_exec(database->db, database->name, sql, err))
			return false;
	}
	return true;
}

static size_t count_columns(const struct allo_sql_layout *table)
{
	size_t count = 0;

	for (const struct allo_sql_column *column = table->columns; column->name; column++)
		count += allo_is_in(column->only_in, ALLO_IN_SQLITE);
	return count;
}

static sqlite3_stmt *insert_into(struct database *database, enum allo_sql_table table,
				 struct allo_error *err)
{
	sqlite3_stmt **insert = &database->inserts[table];
	char sql[160];
	int used;

	if (*insert != NULL)
		return *insert;
	used = snprintf(sql, sizeof(sql), "insert into %s values(?", allo_sql_tables[table].name);
	for (size_t i = 1; i < count_columns(&allo_sql_tables[table]); i++)
		used += snprintf(sql + used, sizeof(sql) - (size_t)used, ", ?");
	snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
	return *insert = allo_sqlite_prepare(database->db, database->name, sql, err);
}

static bool bind_cell(sqlite3_stmt *insert, int parameter, const struct allo_sql_column *column,
		      const struct allo_sql_cell *cell)
{
	if (cell->is_null)
		return sqlite3_bind_null(insert, parameter) == SQLITE_OK;
	switch (column->type) {
	case ALLO_COLUMN_REAL:
	case ALLO_COLUMN_WEIGHT:
		return sqlite3_bind_double(insert, parameter, cell->real) == SQLITE_OK;
	case ALLO_COLUMN_TEXT:
		return allo_sqlite_bind_text(insert, parameter, cell->text);
	default:
		return sqlite3_bind_int64(insert, parameter, cell->number) == SQLITE_OK;
	}
}

static bool add_row(struct allo_store *store, enum allo_sql_table table,
		    const struct allo_sql_cell *cells, struct allo_error *err)
{
	struct database *database = store->state;
	sqlite3_stmt *insert = insert_into(database, table, err);
	int parameter = 0;
	bool ok;

	if (!insert)
		return false;
	for (const struct allo_sql_column *column = allo_sql_tables[table].columns; column->name;
	     column++) {
		if (!allo_is_in(column->only_in, ALLO_IN_SQLITE))
			continue;
		if (!bind_cell(insert, parameter + 1, column, &cells[parameter]))
			return allo_fail_memory(err);
		parameter++;
	}
	ok = sqlite3_step(insert) == SQLITE_DONE;
	if (!ok)
		allo_sqlite_fail(database->db, database->name, err);
	sqlite3_reset(insert);
	return ok;
}

static void close_database(struct database *database)
{
	for (size_t i = 0; i < ALLO_TABLES; i++)
		allo_sqlite_finalize(&database->inserts[i]);
	sqlite3_close(database->db);
	database->db = NULL;
}

static bool read_number(const struct database *database, const char *sql, uint32_t *number,
			struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *select = allo_sqlite_prepare(database->db, database->name, sql, err);

	if (!select)
		return false;
	if (sqlite3_step(select) != SQLITE_ROW)
		return allo_sqlite_fail(database->db, database->name, err);
	*number = (uint32_t)sqlite3_column_int64(select, 0);
	return true;
}

/* Ends SQLite's part of the file; the rows follow. */
static bool end_tables(struct database *database, struct allo_error *err)
{
	struct row_pages *rows = &database->rows;

	if (!allo_sqlite_exec(database->db, database->name, allo_views_sql, err) ||
	    !allo_sqlite_exec(database->db, database->name, "commit", err) ||
	    !read_number(database, "pragma page_size", &rows->page_size, err) ||
	    !read_number(database, "pragma page_count", &rows->page_count, err) ||
	    !read_number(database, "select rootpage from sqlite_schema where name = 'allocation'",
			 &rows->root, err))
		return false;
	close_database(database);
	return begin_rows(rows, err);
}

static bool add_allocations(struct allo_store *store, const struct allo_allocation *rows,
			    size_t count, struct allo_error *err)
{
	struct database *database = store->state;

	database->rows.stacks = store->ids.stacks;
	if (database->db && !end_tables(database, err))
		return false;
	return add_rows(&database->rows, rows, count, err);
}

static bool finish(struct allo_store *store, struct allo_error *err)
{
	struct database *database = store->state;

	return (!database->db || end_tables(database, err)) &&
	       (store->rows == 0 || finish_rows(&database->rows, err));
}

static void drop(struct allo_store *store)
{
	struct database *database = store->state;

	if (!database)
		return;
	row_pages_done(&database->rows);
	close_database(database);
	free(database);
}

static const struct allo_store_kind sqlite_kind = {
	.place = ALLO_IN_SQLITE,
	.add_row = add_row,
	.add_allocations = add_allocations,
	.finish = finish,
	.drop = drop,
};

bool allo_database_open(struct allo_store *store, int fd, const char *name, struct allo_error *err)
{
	struct database *database = calloc(1, sizeof(*database));

	*store = (struct allo_store){ .kind = &sqlite_kind, .state = database };
	if (!database)
		return allo_fail_memory(err);
	database->name = database->rows.name = name;
	database->rows.fd = fd;
	return allo_sqlite_open_fd(&database->db, fd, true, err) &&
	       allo_sqlite_exec(database->db, name, pragmas, err) && make_tables(database, err);
}
