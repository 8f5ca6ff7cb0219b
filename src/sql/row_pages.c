/* row_pages.c - see row_pages.h. */
#include "sql/row_pages.h"

#include "base/defer.h"
#include "sql/sqlite_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	COLUMNS = 14, /* of the table, with the id */
	/* A row: two lengths, the id, a byte a column and at most 8 more. */
	CELL_MAX = 1 + 9 + 1 + COLUMNS + 8 * COLUMNS,

	LEAF = 0x0d,
	LEAF_HEAD = 8,
	INNER = 0x05,
	INNER_HEAD = 12,
	INNER_CELL_MAX = 4 + 9 + 2, /* with its place in the list of cells */

	PAGE_COUNT_AT = 28, /* in the file's head */
};

/* The page with this byte, by which SQLite locks, is never used. */
static const uint64_t lock_byte = 1 << 30;

void allo_row_pages_done(struct allo_row_pages *pages)
{
	free(pages->page);
	allo_vec_done(&pages->leaves);
}

/* Numbers of the format: the most significant byte first. */

static void put_u16(unsigned char *to, size_t number)
{
	to[0] = (unsigned char)(number >> 8);
	to[1] = (unsigned char)number;
}

static void put_u32(unsigned char *to, uint32_t number)
{
	put_u16(to, number >> 16);
	put_u16(to + 2, number);
}

/* Seven bits a byte, the highest bit in all but the last; row ids never need the ninth byte. */
static size_t put_varint(unsigned char *to, uint64_t number)
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
		return (unsigned char)(8 + number);                      /* and no bytes at all */
	bytes = (unsigned)(64 - __builtin_clzll(magnitude | 1)) / 8 + 1; /* one bit for the sign */
	swapped = __builtin_bswap64((uint64_t)number << (64 - 8 * kinds[bytes].bytes));
	memcpy(*body, &swapped, sizeof(swapped));
	*body += kinds[bytes].bytes;
	return kinds[bytes].type;
}

/* The same of a number with a fraction. */
static inline unsigned char put_real(unsigned char **body, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	bits = __builtin_bswap64(bits);
	memcpy(*body, &bits, sizeof(bits));
	*body += sizeof(bits);
	return 7;
}

/* SQLite keeps what is whole as an integer. */
static inline unsigned char put_weight(unsigned char **body, double weight)
{
	if (__builtin_expect(weight == 0, 1))
		return put_number(body, 1);
	return weight < 0x1p53 && weight == (double)(int64_t)weight
		       ? put_number(body, (int64_t)weight)
		       : put_real(body, weight);
}

static bool write_page(const struct allo_row_pages *pages, uint32_t number, const void *page,
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

/* The next page's number; 0, and a failure, when there are as many as can be. */
static uint32_t new_page(struct allo_row_pages *pages, struct allo_error *err)
{
	if (pages->page_count >= UINT32_MAX - 3) {
		allo_fail(err, ALLO_LIMIT, (struct allo_pos){ .file = pages->name },
			  "there are more allocations than a database of SQLite holds");
		return 0;
	}
	pages->page_count++;
	if (pages->page_count == lock_byte / pages->page_size + 1)
		pages->page_count++;
	return pages->page_count;
}

/* Leaves: rows. */

static void clear_leaf(struct allo_row_pages *pages)
{
	memset(pages->page, 0, pages->page_size);
	pages->cells = 0;
	pages->content = pages->page_size;
}

bool allo_row_pages_begin(struct allo_row_pages *pages, struct allo_error *err)
{
	pages->page = malloc(pages->page_size);
	if (!pages->page)
		return allo_fail_memory(err);
	clear_leaf(pages);
	return true;
}

static void end_leaf(struct allo_row_pages *pages)
{
	pages->page[0] = LEAF;
	put_u16(pages->page + 3, pages->cells);
	put_u16(pages->page + 5, pages->content);
}

static bool write_leaf(struct allo_row_pages *pages, struct allo_error *err)
{
	struct allo_row_page leaf = { .page = new_page(pages, err), .last = pages->last };

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

/* A row as it lies in a page; returns its length. */
static inline size_t make_cell(const struct allo_row_pages *pages, const struct allo_sql_row *row,
			       int64_t id, unsigned char *cell)
{
	const int64_t *stacks = pages->stacks;
	size_t head_at = 1 + put_varint(cell + 1, (uint64_t)id);
	unsigned char *type = cell + head_at, *body = type + 1 + COLUMNS;

	*type++ = 1 + COLUMNS;
	*type++ = 0; /* the id stands for this column */
	*type++ = put_number(&body, stacks[row->stack]);
	*type++ = put_number(&body, allo_sqlite_number(row->size));
	*type++ = put_number(&body, allo_sqlite_number(row->alloc_ns));
	*type++ = put_number(&body, allo_sqlite_number(row->free_ns));
	*type++ = put_number(&body, row->alloc_thread);
	*type++ = put_number(&body, row->free_thread);
	*type++ = put_number(&body, (int64_t)row->address);
	*type++ = put_number(&body, row->is_temporary);
	*type++ = put_number(&body, row->is_resized_on);
	/* Only a realloc makes these differ; null takes no room. */
	*type++ = row->is_resized ? put_number(&body, allo_sqlite_number(row->first_ns)) : 0;
	*type++ = row->is_resized ? put_number(&body, stacks[row->first_stack]) : 0;
	*type++ = put_number(&body, row->labels);
	*type++ = put_weight(&body, row->weight);
	cell[0] = (unsigned char)(body - cell - (ptrdiff_t)head_at); /* less than 128 */
	return (size_t)(body - cell);
}

bool allo_row_pages_add(struct allo_row_pages *pages, const struct allo_sql_row *rows, size_t count,
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
		put_u16(pages->page + list_end - 2, pages->content);
		pages->cells++;
		pages->last++;
	}
	return true;
}

/* Inner pages: the way to the rows. */

static void make_inner(const struct allo_row_pages *pages, const struct allo_row_page *below,
		       size_t count, unsigned char *page)
{
	size_t content = pages->page_size;

	memset(page, 0, pages->page_size);
	page[0] = INNER;
	/* The last has no cell. */
	for (size_t i = 0; i + 1 < count; i++) {
		unsigned char cell[4 + 10];
		size_t len = 4 + put_varint(cell + 4, (uint64_t)below[i].last);

		put_u32(cell, below[i].page);
		content -= len;
		memcpy(page + content, cell, len);
		put_u16(page + INNER_HEAD + 2 * i, content);
	}
	put_u16(page + 3, count - 1);
	put_u16(page + 5, content);
	put_u32(page + 8, below[count - 1].page);
}

/* Puts pages over `count` of those below, as many over each as the others, and leaves them in the
 * place of these; returns how many there are, or 0 at failure. */
static size_t add_level(struct allo_row_pages *pages, size_t count, size_t most,
			struct allo_error *err)
{
	size_t groups = (count + most - 1) / most, from = 0;
	struct allo_row_page *level = pages->leaves.at;

	for (size_t i = 0; i < groups; i++) {
		size_t to = count * (i + 1) / groups;
		uint32_t number = new_page(pages, err);

		if (number == 0)
			return 0;
		make_inner(pages, level + from, to - from, pages->page);
		if (!write_page(pages, number, pages->page, err))
			return 0;
		level[i] = (struct allo_row_page){ number, level[to - 1].last };
		from = to;
	}
	return groups;
}

static bool write_root(struct allo_row_pages *pages, struct allo_error *err)
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

bool allo_row_pages_finish(struct allo_row_pages *pages, struct allo_error *err)
{
	unsigned char count[4];

	if (!write_root(pages, err))
		return false;
	put_u32(count, pages->page_count);
	return pwrite(pages->fd, count, sizeof(count), PAGE_COUNT_AT) == sizeof(count) ||
	       allo_fail_errno(err, pages->name, "write");
}
