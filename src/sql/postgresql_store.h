/*
 * postgresql_store.h - a script for psql as a store of tables: it creates them, copies the rows
 * into them, and adds the views.
 */
#ifndef ALLO_SQL_POSTGRESQL_STORE_H
#define ALLO_SQL_POSTGRESQL_STORE_H

#include "base/io/output.h"
#include "sql/store.h"

/* Starts a script in `out`, which the caller finishes after the store.  See sql/store.h. */
bool allo_postgresql_open(struct allo_store *store, struct allo_output *out,
			  struct allo_error *err);

#endif
