/*
 * database.h - a SQLite database as a store of tables.
 */
#ifndef ALLO_SQL_DATABASE_H
#define ALLO_SQL_DATABASE_H

#include "sql/store.h"

/* Identify our databases: "allo" as a number, and the version of the tables. */
#define ALLO_SQL_APPLICATION "1634495599"
#define ALLO_SQL_VERSION     "4"

/* Starts a database in an empty file, which is open for reading and writing and must stay open.
 * `name` stands for it in messages.  See sql/store.h. */
bool allo_database_open(struct allo_store *store, int fd, const char *name, struct allo_error *err);

#endif
