#include "analysis/overview.h"

static const struct {
	const char *name, *title;
	enum allo_meaning meaning;
} kinds[] = {
	{ "peak", "held at the peak", ALLO_PEAK_BYTES },
	{ "live", "live when it was taken", ALLO_LIVE_BYTES },
	{ "end", "never freed", ALLO_END_BYTES },
	{ "alloc", "most allocated", ALLO_ALLOC_BYTES },
	{ "temporary", "most temporary", ALLO_TEMPORARY_BLOCKS },
};
_Static_assert(sizeof(kinds) / sizeof(*kinds) <= ALLO_OVERVIEW_TABLES, "there is room for all");

/* `runtime` may be NULL. */
static bool count_rows(struct allo_top *top, const struct allo_profile *profile,
		       const struct allo_metric_columns *columns, enum allo_by by,
		       struct allo_values *runtime, struct allo_error *err)
{
	top->by = by;
	if (!allo_top_add(top, profile, columns, err) ||
	    (runtime && !allo_top_take_runtime(top, profile, columns, runtime, err)))
		return false;
	allo_top_sort(top, profile, ALLO_TOP_BY_SELF);
	return true;
}

static const char *title_of(const struct allo_profile *profile, size_t kind)
{
	if (profile->meta.part.is_attached && kinds[kind].meaning == ALLO_END_BYTES)
		return "allocated since attach and not freed";
	return kinds[kind].title;
}

static bool add_table(struct allo_overview *overview, const struct allo_profile *profile,
		      const char *name, const char *title, size_t metric, struct allo_error *err)
{
	struct allo_overview_table *table = &overview->tables[overview->count++];

	table->name = name;
	table->title = title;
	table->columns = allo_metric_columns_of(profile, metric);
	table->top.attribution = overview->attribution;
	return count_rows(&table->top, profile, &table->columns, ALLO_BY_SITE,
			  profile->metrics.at[metric].meaning == ALLO_END_BYTES ? &table->runtime
										: NULL,
			  err);
}

bool allo_overview_of(struct allo_overview *overview, const struct allo_profile *profile,
		      struct allo_error *err)
{
	size_t metric;

	if (profile->metrics.len == 0)
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (allo_profile_find_metric(profile, kinds[i].meaning, &metric) &&
		    !add_table(overview, profile, kinds[i].name, title_of(profile, i), metric, err))
			return false;
	}
	/* None of these: the metric is not memory, such as CPU time. */
	if (overview->count == 0 &&
	    !add_table(overview, profile, "other", "most", allo_default_metric(profile), err))
		return false;
	metric = overview->tables[0].columns.metric;
	overview->modules.attribution = overview->attribution;
	if (!count_rows(&overview->modules, profile, &overview->tables[0].columns, ALLO_BY_MODULE,
			NULL, err) ||
	    !allo_label_sums_of(&overview->threads, profile, "thread", err))
		return false;
	allo_label_sums_sort(&overview->threads, metric);
	return true;
}

const struct allo_overview_table *allo_overview_find(const struct allo_overview *overview,
						     const char *name)
{
	for (size_t i = 0; i < overview->count; i++) {
		if (strcmp(overview->tables[i].name, name) == 0)
			return &overview->tables[i];
	}
	return NULL;
}

void allo_overview_done(struct allo_overview *overview)
{
	for (size_t i = 0; i < overview->count; i++)
		allo_top_done(&overview->tables[i].top);
	allo_top_done(&overview->modules);
	allo_label_sums_done(&overview->threads);
}
