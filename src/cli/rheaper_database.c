/* rheaper_database.c - see rheaper_database.h. */
#include "cli/rheaper_database.h"

#include "base/defer.h"
#include "readers/rheaper/rheaper_profile.h"
#include "readers/rheaper/rheaper_rows.h"

enum { ROWS_AT_ONCE = 512 };

static bool add_rows(void *context, const struct allo_rheaper_row *rows, size_t count,
		     struct allo_error *err)
{
	struct allo_sql_row batch[ROWS_AT_ONCE];

	for (size_t done = 0, i; done < count; done += i) {
		for (i = 0; i < ROWS_AT_ONCE && done + i < count; i++) {
			const struct allo_rheaper_row *row = &rows[done + i];
			bool is_live = row->free_ns == ALLO_RHEAPER_NEVER;

			batch[i] = (struct allo_sql_row){
				.alloc_ns = row->alloc_ns,
				.first_ns = row->alloc_ns,
				.free_ns = is_live ? ALLO_SQL_NEVER : row->free_ns,
				.size = row->size,
				.address = row->address,
				.stack = row->stack,
				.first_stack = row->stack,
				.alloc_thread = row->alloc_thread,
				.free_thread = row->free_thread,
				.is_temporary = row->is_temporary,
			};
		}
		if (!allo_database_add_rows(context, batch, i, err))
			return false;
	}
	return true;
}

bool allo_rheaper_to_database(struct allo_rheaper_files *files, struct allo_profile *profile,
			      struct allo_database *db, struct allo_error *err)
{
	ALLO_DEFER(allo_rheaper_stacks_done) struct allo_rheaper_stacks stacks = { 0 };

	profile->meta.format = "rheaper";
	return allo_rheaper_profile(files, &stacks, profile, err) &&
	       allo_profile_validate(profile, err) &&
	       allo_database_add_profile(db, profile, NULL, NULL, err) &&
	       allo_rheaper_rows(files, &stacks, add_rows, db, err);
}
