/*
 * fill_store.h - fills a database or Parquet files from any input, with its individual allocations
 * if it has them.
 */
#ifndef ALLO_ENGINE_FILL_STORE_H
#define ALLO_ENGINE_FILL_STORE_H

#include "engine/convert.h"
#include "sql/store.h"

struct allo_store_request {
	const struct allo_source_options *source;
	char **files;
	struct allo_conversion *conversion;   /* with its filter and metrics; NULL: everything */
	struct allo_attribution *attribution; /* chooses the sites */
	bool has_rows;                        /* result: the input could have some */
};

/* Fills a store that was opened; the caller finishes it.  A filter or a choice of metrics leaves
 * out the rows, which would not agree with the numbers.  `profile` is empty and must stay. */
bool allo_store_fill(struct allo_store *store, struct allo_store_request *request,
		     struct allo_profile *profile, struct allo_error *err);

/* An allo_write_rows for conversions to SQLite, Parquet or PostgreSQL. */
bool allo_write_store(struct allo_conversion *conversion, struct allo_output *out,
		      struct allo_profile *profile, struct allo_error *err);

#endif
