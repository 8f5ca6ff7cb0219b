/* test_row_pages.c - rows of single allocations, as SQLite finds them. */
#include "base/defer.h"
#include "base/io/temporary.h"
#include "check.h"
#include "profile/content_ids.h"
#include "random.h"
#include "sql/database.h"
#include "sql/sqlite_calls.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { AT_ONCE = 1000 };

/* A number with any count of bits, so that all lengths come. */
static uint64_t any_number(uint64_t *seed)
{
	return draw_u64(seed) >> draw(seed, 64);
}

static void fill(struct allo_allocation *row, uint64_t *seed)
{
	*row = (struct allo_allocation){
		.alloc_ns = any_number(seed),
		.first_ns = any_number(seed),
		.free_ns = any_number(seed),
		.size = any_number(seed),
		.address = any_number(seed),
		.stack = (allo_stack_id)draw(seed, 3),
		.first_stack = (allo_stack_id)draw(seed, 3),
		.alloc_thread = (allo_thread_id)any_number(seed),
		.free_thread = (allo_thread_id)any_number(seed),
		.labels = (allo_labels_id)any_number(seed),
		.is_resized = draw(seed, 2),
		.is_resized_on = draw(seed, 2),
		.is_temporary = draw(seed, 2),
	};
	/* Exact ones, whole ones, and those with a fraction. */
	if (draw(seed, 2))
		row->weight = 1 + draw(seed, 3) + (draw(seed, 2) ? draw(seed, 1000) / 1024.0 : 0);
}

static void make_profile(struct allo_profile *profile)
{
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(profile, ALLO_TEXT("f"), &err);
	allo_stack_id stack = allo_profile_add_stack(profile, 0, frame, &err);

	allo_profile_add_stack(profile, stack, frame, &err);
	assert_false(allo_failed(&err));
}

static void make(int fd, const struct allo_profile *profile, size_t count)
{
	ALLO_DEFER(allo_store_drop) struct allo_store db = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	struct allo_allocation *rows = calloc(AT_ONCE, sizeof(*rows));
	struct allo_error err = { 0 };
	uint64_t seed = 1;

	assert_non_null(rows);
	assert_true(allo_database_open(&db, fd, "test", &err));
	assert_true(allo_store_add_profile(&db, profile, &attribution, NULL, NULL, &err));
	for (size_t done = 0; done < count;) {
		size_t part = count - done < AT_ONCE ? count - done : AT_ONCE;

		for (size_t i = 0; i < part; i++)
			fill(&rows[i], &seed);
		assert_true(allo_store_add_allocations(&db, rows, part, &err));
		done += part;
	}
	assert_true(allo_store_finish(&db, &err));
	assert_int_equal(db.rows, count);
	free(rows);
}

static void check_integrity(sqlite3 *db)
{
	ALLO_DEFER(allo_sqlite_finalize) sqlite3_stmt *check = NULL;

	assert_int_equal(sqlite3_prepare_v2(db, "pragma integrity_check", -1, &check, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(check), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(check, 0), "ok");
}

static void check_optional(sqlite3_stmt *found, int column, bool is_there, int64_t value)
{
	if (is_there)
		assert_int_equal(sqlite3_column_int64(found, column), value);
	else
		assert_int_equal(sqlite3_column_type(found, column), SQLITE_NULL);
}

static void check_row(sqlite3_stmt *found, int64_t id, const struct allo_allocation *row,
		      const int64_t *stacks)
{
	assert_int_equal(sqlite3_column_int64(found, 0), id);
	assert_int_equal(sqlite3_column_int64(found, 1), stacks[row->stack]);
	assert_int_equal(sqlite3_column_int64(found, 2), allo_sql_number(row->size));
	assert_int_equal(sqlite3_column_int64(found, 3), allo_sql_number(row->alloc_ns));
	assert_int_equal(sqlite3_column_int64(found, 4), allo_sql_number(row->free_ns));
	assert_int_equal(sqlite3_column_int64(found, 5), row->alloc_thread);
	assert_int_equal(sqlite3_column_int64(found, 6), row->free_thread);
	assert_int_equal(sqlite3_column_int64(found, 7), (int64_t)row->address);
	assert_int_equal(sqlite3_column_int64(found, 8), row->is_temporary);
	assert_int_equal(sqlite3_column_int64(found, 9), row->is_resized_on);
	check_optional(found, 10, row->is_resized, allo_sql_number(row->first_ns));
	check_optional(found, 11, row->is_resized, stacks[row->first_stack]);
	assert_int_equal(sqlite3_column_int64(found, 12), row->labels);
	assert_true(sqlite3_column_double(found, 13) == (row->weight == 0 ? 1 : row->weight));
	assert_int_equal(sqlite3_column_type(found, 13),
			 row->weight == floor(row->weight) ? SQLITE_INTEGER : SQLITE_FLOAT);
}

static void check(size_t count)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_content_ids_done) struct allo_content_ids ids = { 0 };
	ALLO_DEFER(allo_close_fd) int fd = allo_temporary_open();
	struct allo_error err = { 0 };
	sqlite3_stmt *found = NULL;
	sqlite3 *db = NULL;
	uint64_t seed = 1;

	assert_true(fd >= 0);
	make_profile(&profile);
	make(fd, &profile, count);
	assert_true(allo_content_ids_init(&ids, &profile, &err));
	assert_true(allo_sqlite_open_fd(&db, fd, true, &err));
	check_integrity(db);
	found = allo_sqlite_prepare(db, "test", "select * from allocation", &err);
	assert_non_null(found);
	for (size_t i = 0; i < count; i++) {
		struct allo_allocation row;

		fill(&row, &seed);
		assert_int_equal(sqlite3_step(found), SQLITE_ROW);
		check_row(found, (int64_t)i + 1, &row, ids.stacks);
	}
	assert_int_equal(sqlite3_step(found), SQLITE_DONE);
	sqlite3_finalize(found);
	/* A program with the right to change it can change it. */
	assert_int_equal(sqlite3_exec(db,
				      "delete from allocation where id % 3 = 0; "
				      "insert into allocation select id + 1000000000, stack, "
				      "size, 1, 2, 3, 4, 5, 0, 0, null, null, 6, 1 from allocation",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	check_integrity(db);
	sqlite3_close(db);
}

static void rows_of_no_and_of_one_page_are_found(void **state)
{
	const size_t counts[] = { 0, 1, 2, 100, 200, 230, 240, 250, 260, 270, 280, 300 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		check(counts[i]);
}

static void rows_of_many_pages_are_found(void **state)
{
	(void)state;
	check(1000);
	check(60001);
}

/* More than a page has room to point to. */
static void rows_of_many_levels_are_found(void **state)
{
	(void)state;
	check(700000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_no_and_of_one_page_are_found),
		cmocka_unit_test(rows_of_many_pages_are_found),
		cmocka_unit_test(rows_of_many_levels_are_found),
	};

	return cmocka_run_group_tests_name("row_pages", tests, NULL, NULL);
}
