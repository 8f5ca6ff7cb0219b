/*
 * database.h - writes a SQLite database of a profile and, if they are known, of single allocations.
 *
 *     allo_database_create(&db, fd, name)       in an empty file, which may have no name
 *     allo_database_add_profile(&db, profile)   stacks, names, threads, sums
 *     allo_database_add_markers(&db, ...)       if there are any
 *     allo_database_add_rows(&db, rows, count)  any number of times, or never
 *     allo_database_finish(&db)
 *
 * doc/sql.md describes the tables.  Rows may come from any source: our recordings or other tools'.
 */
#ifndef ALLO_SQL_DATABASE_H
#define ALLO_SQL_DATABASE_H

#include "profile/profile.h"

/* Identify our databases: "allo" as a number, and the version of the tables. */
#define ALLO_SQL_APPLICATION "1634495599"
#define ALLO_SQL_VERSION     "2"

/* The free time of a block that was never freed. */
#define ALLO_SQL_NEVER ((uint64_t)INT64_MAX)

/* A single allocation with its lifetime.  Times are nanoseconds since the start. */
struct allo_sql_row {
	uint64_t alloc_ns;
	uint64_t first_ns; /* alloc_ns, or that of the first block in a chain of reallocs */
	uint64_t free_ns;  /* ALLO_SQL_NEVER: live at the end */
	uint64_t size;
	uint64_t address; /* 0: unknown */
	/* Ids of the profile; 0: unknown. */
	allo_stack_id stack;
	allo_stack_id first_stack; /* stack, or that of the first block in a chain of reallocs */
	allo_thread_id alloc_thread, free_thread;
	allo_labels_id labels; /* of the thread at the allocation; 0: none */
	double weight;      /* number of blocks it represents, in a sampled recording; 0 means 1 */
	bool is_resized;    /* a realloc of another block allocated it */
	bool is_resized_on; /* a realloc freed it and made another block */
	bool is_temporary;  /* its thread freed it before the next allocation */
};

/* Facts about the process that are not in the profile's meta; empty texts are unknown. */
struct allo_sql_process {
	struct allo_text program, folder, host;
	struct allo_text end; /* how the process ended */
	uint64_t parent_pid;
};

struct allo_sql_state;

/* All zeros is closed. */
struct allo_database {
	struct allo_sql_state *state; /* private */
	uint64_t rows;                /* number of added rows */
};

/* Starts a database in an empty file, which is open for reading and writing and must stay open.
 * `name` stands for it in messages. */
bool allo_database_create(struct allo_database *db, int fd, const char *name,
			  struct allo_error *err);

/* Adds a profile, which must not change until the end, because rows refer to its stacks and
 * threads.  `process` may be NULL.  `has_rows` marks the stacks that rows will refer to; NULL: only
 * stacks with samples. */
bool allo_database_add_profile(struct allo_database *db, const struct allo_profile *profile,
			       const struct allo_sql_process *process, const bool *has_rows,
			       struct allo_error *err);

/* A moment that the program named. */
struct allo_sql_marker {
	uint64_t ns;
	allo_thread_id thread;
	struct allo_text name;
};

bool allo_database_add_markers(const struct allo_database *db,
			       const struct allo_sql_marker *markers, size_t count,
			       struct allo_error *err);

/* Adds rows in any order, which stays.  Nothing else can be added after rows. */
bool allo_database_add_rows(struct allo_database *db, const struct allo_sql_row *rows, size_t count,
			    struct allo_error *err);

/* Adds a row of the table `meta`. */
bool allo_database_add_meta(const struct allo_database *db, const char *key, struct allo_text value,
			    struct allo_error *err);

/* Writes everything to the file. */
bool allo_database_finish(struct allo_database *db, struct allo_error *err);

/* Closes, finished or not. */
void allo_database_drop(struct allo_database *db);

#endif
