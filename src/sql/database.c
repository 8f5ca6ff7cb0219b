/* database.c - creates the database: SQLite writes all tables but the rows, which we write. */
#include "sql/database.h"

#include "base/assert.h"
#include "base/defer.h"
#include "sql/tables.h"

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
	*type++ = put_number(&body, allo_sqlite_number(row->size));
	*type++ = put_number(&body, allo_sqlite_number(row->alloc_ns));
	*type++ = put_number(&body, allo_sqlite_number(row->free_ns));
	*type++ = put_number(&body, row->alloc_thread);
	*type++ = put_number(&body, row->free_thread);
	*type++ = put_number(&body, (int64_t)row->address);
	*type++ = put_number(&body, row->is_temporary);
	*type++ = put_number(&body, row->is_resized_on);
	/* Only a realloc makes these differ; null takes no space. */
	*type++ = row->is_resized ? put_number(&body, allo_sqlite_number(row->first_ns)) : 0;
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

extern const char allo_schema_sql[], allo_views_sql[];

/* The page size is a compromise: small databases grow, large ones are faster. */
static const char pragmas[] = "pragma page_size = 16384;"
			      "pragma synchronous = off;"
			      "pragma locking_mode = exclusive;"
			      "pragma cache_size = -32768;"
			      "pragma application_id = " ALLO_SQL_APPLICATION ";"
			      "pragma user_version = " ALLO_SQL_VERSION ";"
			      "begin";

struct allo_sql_state {
	struct allo_sql_tables tables; /* .db is NULL once everything but the rows is written */
	struct row_pages rows;
};

bool allo_database_create(struct allo_database *db, int fd, const char *name,
			  struct allo_error *err)
{
	struct allo_sql_state *state = calloc(1, sizeof(*state));

	*db = (struct allo_database){ .state = state };
	if (!state)
		return allo_fail_memory(err);
	state->tables.name = name;
	if (!allo_sqlite_open_fd(&state->tables.db, fd, true, err))
		return false;
	state->rows.fd = fd;
	state->rows.name = name;
	return allo_sqlite_exec(state->tables.db, name, pragmas, err) &&
	       allo_sqlite_exec(state->tables.db, name, allo_schema_sql, err);
}

static bool add_meta(const struct allo_database *db, const char *key, const char *value,
		     struct allo_error *err)
{
	return allo_database_add_meta(db, key, allo_text_of(value), err);
}

static bool add_profile_meta(const struct allo_database *db, const struct allo_profile *profile,
			     struct allo_error *err)
{
	const struct allo_meta *meta = &profile->meta;
	char period[24];

	snprintf(period, sizeof(period), "%lld", (long long)meta->period);
	for (size_t i = 0; i < profile->comments.len; i++) {
		char key[32];

		snprintf(key, sizeof(key), "comment %zu", i + 1);
		if (!allo_database_add_meta(
			    db, key, allo_profile_text(profile, profile->comments.at[i]), err))
			return false;
	}
	return add_meta(db, "format", meta->format ? meta->format : "", err) &&
	       add_meta(db, "allo version", ALLO_VERSION, err) &&
	       allo_database_add_meta(db, "producer", allo_profile_text(profile, meta->producer),
				      err) &&
	       add_meta(db, "period", period, err) &&
	       allo_database_add_meta(db, "period unit",
				      allo_profile_text(profile, meta->period_unit), err);
}

/* The settings that sites depend on. */
static bool add_site_meta(const struct allo_database *db,
			  const struct allo_attribution *attribution, struct allo_error *err)
{
	for (size_t i = 0; i < attribution->name_count; i++) {
		char key[32];

		snprintf(key, sizeof(key), "alloc-fn %zu", i + 1);
		if (!add_meta(db, key, attribution->names[i], err))
			return false;
	}
	return add_meta(db, "wrappers", allo_wrappers_names[attribution->wrappers], err);
}

bool allo_database_add_profile(struct allo_database *db, const struct allo_profile *profile,
			       struct allo_attribution *attribution,
			       const struct allo_process_info *process, const bool *has_rows,
			       struct allo_error *err)
{
	struct allo_sql_tables *tables = &db->state->tables;

	tables->profile = profile;
	tables->attribution = attribution;
	if (!allo_attribution_learn(attribution, profile, err) ||
	    !allo_content_ids_init(&tables->ids, profile, err))
		return false;
	db->state->rows.stacks = tables->ids.stacks;
	return allo_sql_write_code(tables, has_rows, err) &&
	       allo_sql_write_numbers(tables, process, err) && add_profile_meta(db, profile, err) &&
	       add_site_meta(db, attribution, err);
}

bool allo_database_add_markers(const struct allo_database *db, const struct allo_marker *markers,
			       size_t count, struct allo_error *err)
{
	return allo_sql_write_markers(&db->state->tables, markers, count, err);
}

static bool read_number(const struct allo_sql_tables *tables, const char *sql, uint32_t *number,
			struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *select = allo_sql_prepare(tables, sql, err);

	if (!select)
		return false;
	if (sqlite3_step(select) != SQLITE_ROW)
		return allo_sqlite_fail(tables->db, tables->name, err);
	*number = (uint32_t)sqlite3_column_int64(select, 0);
	return true;
}

/* Ends SQLite's part of the file; the rows follow. */
static bool end_tables(struct allo_sql_state *state, struct allo_error *err)
{
	struct allo_sql_tables *tables = &state->tables;
	struct row_pages *rows = &state->rows;

	if (!allo_sqlite_exec(tables->db, tables->name, allo_views_sql, err) ||
	    !allo_sqlite_exec(tables->db, tables->name, "commit", err) ||
	    !read_number(tables, "pragma page_size", &rows->page_size, err) ||
	    !read_number(tables, "pragma page_count", &rows->page_count, err) ||
	    !read_number(tables, "select rootpage from sqlite_schema where name = 'allocation'",
			 &rows->root, err))
		return false;
	sqlite3_close(tables->db);
	tables->db = NULL;
	return begin_rows(rows, err);
}

bool allo_database_add_rows(struct allo_database *db, const struct allo_allocation *rows,
			    size_t count, struct allo_error *err)
{
	struct allo_sql_state *state = db->state;

	ALLO_ASSERT(state->tables.profile);
	if (state->tables.db && !end_tables(state, err))
		return false;
	db->rows += count;
	return add_rows(&state->rows, rows, count, err);
}

bool allo_database_add_meta(const struct allo_database *db, const char *key, struct allo_text value,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_sqlite_finalize)
	sqlite3_stmt *insert = allo_sql_prepare(&db->state->tables, "insert into meta values(?, ?)",
						err);

	if (!insert)
		return false;
	if (!allo_sqlite_bind_text(insert, 1, allo_text_of(key)) ||
	    !allo_sqlite_bind_text(insert, 2, value))
		return allo_fail_memory(err);
	return allo_sql_insert(&db->state->tables, insert, err);
}

bool allo_database_finish(struct allo_database *db, struct allo_error *err)
{
	struct allo_sql_state *state = db->state;

	return (!state->tables.db || end_tables(state, err)) &&
	       (db->rows == 0 || finish_rows(&state->rows, err));
}

void allo_database_drop(struct allo_database *db)
{
	struct allo_sql_state *state = db->state;

	if (!state)
		return;
	row_pages_done(&state->rows);
	sqlite3_close(state->tables.db);
	allo_content_ids_done(&state->tables.ids);
	free(state);
	*db = (struct allo_database){ 0 };
}
