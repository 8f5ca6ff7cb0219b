/*
 * rheaper_database.h - a recording of rheaper's as a database, with all its single allocations.
 */
#ifndef ALLO_CLI_RHEAPER_DATABASE_H
#define ALLO_CLI_RHEAPER_DATABASE_H

#include "readers/rheaper/rheaper_files.h"
#include "sql/database.h"

/* Fills a database that was created, and an empty profile on the way. */
bool allo_rheaper_to_database(struct allo_rheaper_files *files, struct allo_profile *profile,
			      struct allo_database *db, struct allo_error *err);

#endif
