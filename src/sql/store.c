/* store.c - fills the tables of any store; see store.h. */
#include "sql/store.h"

#include "base/assert.h"
#include "sql/tables.h"

#include <stdio.h>

bool allo_store_add_meta(struct allo_store *store, const char *key, struct allo_text value,
			 struct allo_error *err)
{
	const struct allo_sql_cell cells[] = { ALLO_CELL_TEXT(allo_text_of(key)),
					       ALLO_CELL_TEXT(value) };

	return allo_store_add_row(store, ALLO_TABLE_META, cells, err);
}

static bool add_meta(struct allo_store *store, const char *key, const char *value,
		     struct allo_error *err)
{
	return allo_store_add_meta(store, key, allo_text_of(value), err);
}

static bool add_profile_meta(struct allo_store *store, struct allo_error *err)
{
	const struct allo_profile *profile = store->profile;
	const struct allo_meta *meta = &profile->meta;
	char period[24];

	snprintf(period, sizeof(period), "%lld", (long long)meta->period);
	for (size_t i = 0; i < profile->comments.len; i++) {
		char key[32];

		snprintf(key, sizeof(key), "comment %zu", i + 1);
		if (!allo_store_add_meta(store, key,
					 allo_profile_text(profile, profile->comments.at[i]), err))
			return false;
	}
	return add_meta(store, "format", meta->format ? meta->format : "", err) &&
	       add_meta(store, "allo version", ALLO_VERSION, err) &&
	       allo_store_add_meta(store, "producer", allo_profile_text(profile, meta->producer),
				   err) &&
	       add_meta(store, "period", period, err) &&
	       allo_store_add_meta(store, "period unit",
				   allo_profile_text(profile, meta->period_unit), err);
}

/* The settings that sites depend on. */
static bool add_site_meta(struct allo_store *store, struct allo_error *err)
{
	const struct allo_attribution *attribution = store->attribution;

	for (size_t i = 0; i < attribution->name_count; i++) {
		char key[32];

		snprintf(key, sizeof(key), "alloc-fn %zu", i + 1);
		if (!add_meta(store, key, attribution->names[i], err))
			return false;
	}
	return add_meta(store, "wrappers", allo_wrappers_names[attribution->wrappers], err);
}

bool allo_store_add_profile(struct allo_store *store, const struct allo_profile *profile,
			    struct allo_attribution *attribution,
			    const struct allo_process_info *process, const bool *has_rows,
			    struct allo_error *err)
{
	store->profile = profile;
	store->attribution = attribution;
	return allo_attribution_learn(attribution, profile, err) &&
	       allo_content_ids_init(&store->ids, profile, err) &&
	       allo_sql_write_code(store, err) && allo_sql_write_stacks(store, has_rows, err) &&
	       allo_sql_write_numbers(store, process, err) && add_profile_meta(store, err) &&
	       add_site_meta(store, err);
}

bool allo_store_add_allocations(struct allo_store *store, const struct allo_allocation *rows,
				size_t count, struct allo_error *err)
{
	ALLO_ASSERT(store->profile);
	store->rows += count;
	return store->kind->add_allocations(store, rows, count, err);
}

bool allo_store_finish(struct allo_store *store, struct allo_error *err)
{
	return store->kind->finish(store, err);
}

void allo_store_drop(struct allo_store *store)
{
	if (!store->kind)
		return;
	store->kind->drop(store);
	allo_content_ids_done(&store->ids);
	*store = (struct allo_store){ 0 };
}
