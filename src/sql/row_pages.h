/*
 * row_pages.h - the table of single allocations, written as SQLite would lay it out.
 *
 * Rows come in the order of their ids, so the pages of the table follow from them one after the
 * other, and SQLite's machine, which takes half a microsecond a row, need not be asked.  The
 * format is that of https://www.sqlite.org/fileformat2.html, which SQLite promises to keep.
 */
#ifndef ALLO_SQL_ROW_PAGES_H
#define ALLO_SQL_ROW_PAGES_H

#include "sql/database.h"

/* A page and the last row in it or below it. */
struct allo_row_page {
	uint32_t page;
	int64_t last;
};

/* All zeros: nothing to free. */
struct allo_row_pages {
	int fd;
	const char *name;      /* of the file, for messages */
	uint32_t page_size;    /* bytes */
	uint32_t root;         /* page, which is there already and empty */
	uint32_t page_count;   /* of the file */
	const int64_t *stacks; /* ids of the database, by stack of the profile */

	/* Private from here on. */
	unsigned char *page;   /* that is being filled */
	size_t cells, content; /* in it; where they begin: it is filled from its end */
	int64_t last;          /* row */
	ALLO_VEC(struct allo_row_page) leaves;
};

void allo_row_pages_done(struct allo_row_pages *pages);

/* Begins behind the pages of a database that SQLite has closed; what is above is set. */
bool allo_row_pages_begin(struct allo_row_pages *pages, struct allo_error *err);

bool allo_row_pages_add(struct allo_row_pages *pages, const struct allo_sql_row *rows, size_t count,
			struct allo_error *err);

/* Writes what is left, and the way to all of it. */
bool allo_row_pages_finish(struct allo_row_pages *pages, struct allo_error *err);

#endif
