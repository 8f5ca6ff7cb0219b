/*
 * database.h - a SQLite database of a profile and, where they are known, of single allocations.
 *
 *     allo_database_create(&db, fd, name)       into an empty file, which need not have a name
 *     allo_database_add_profile(&db, profile)   stacks, names, threads, sums
 *     allo_database_add_markers(&db, ...)       where there are any
 *     allo_database_add_rows(&db, rows, count)  as often as there are some; not at all is fine
 *     allo_database_finish(&db)
 *
 * doc/sql.md describes the tables.  Nothing here knows where rows come from: a recording of ours,
 * another tool's.
 */
#ifndef ALLO_SQL_DATABASE_H
#define ALLO_SQL_DATABASE_H

#include "profile/profile.h"

/* By these a database is known as ours: "allo", and the version of its tables. */
#define ALLO_SQL_APPLICATION "1634495599"
#define ALLO_SQL_VERSION     "2"

/* In place of the time when a block was freed that never was. */
#define ALLO_SQL_NEVER ((uint64_t)INT64_MAX)

/* A single allocation with its whole life.  Times are nanoseconds since the start. */
struct allo_sql_row {
	uint64_t alloc_ns;
	uint64_t first_ns; /* the same, or that of the first block of a chain of reallocs */
	uint64_t free_ns;  /* ALLO_SQL_NEVER: live at the end */
	uint64_t size;
	uint64_t address; /* 0: not known */
	/* Of the profile; 0: not known. */
	allo_stack_id stack;
	allo_stack_id first_stack; /* the same, or that of the first block of a chain of reallocs */
	allo_thread_id alloc_thread, free_thread;
	allo_labels_id labels; /* that the thread had when it was allocated; 0: none */
	double weight;         /* how many blocks it stands for; 0 is 1, as in all that is exact */
	bool is_resized;       /* it was made by a realloc of another block */
	bool is_resized_on;    /* it ended by a realloc, which made another block of it */
	bool is_temporary;     /* its thread freed it before it allocated again */
};

/* What is known of the process beside what the profile's meta says; empty texts are not known. */
struct allo_sql_process {
	struct allo_text program, folder, host;
	struct allo_text end; /* how it ended */
	uint64_t parent_pid;
};

struct allo_sql_state;

/* All zeros: nothing to drop. */
struct allo_database {
	struct allo_sql_state *state; /* private */
	uint64_t rows;                /* that were added */
};

/* Begins a database in an empty file, open for reading and writing, that stays open as long. `name`
 * stands for it in messages. */
bool allo_database_create(struct allo_database *db, int fd, const char *name,
			  struct allo_error *err);

/* All of a profile, which must stay as it is until the end: rows refer to its stacks and threads.
 * `process` may be NULL.  `has_rows` tells of each stack whether rows will refer to it; NULL: only
 * to stacks that have samples. */
bool allo_database_add_profile(struct allo_database *db, const struct allo_profile *profile,
			       const struct allo_sql_process *process, const bool *has_rows,
			       struct allo_error *err);

/* A moment that the program has given a name to. */
struct allo_sql_marker {
	uint64_t ns;
	allo_thread_id thread;
	struct allo_text name;
};

bool allo_database_add_markers(const struct allo_database *db,
			       const struct allo_sql_marker *markers, size_t count,
			       struct allo_error *err);

/* Rows in any order; the order stays.  Nothing else can be added behind them. */
bool allo_database_add_rows(struct allo_database *db, const struct allo_sql_row *rows, size_t count,
			    struct allo_error *err);

/* A line of the table `meta`. */
bool allo_database_add_meta(const struct allo_database *db, const char *key, struct allo_text value,
			    struct allo_error *err);

/* Writes everything to the file. */
bool allo_database_finish(struct allo_database *db, struct allo_error *err);

/* Closes, finished or not. */
void allo_database_drop(struct allo_database *db);

#endif
