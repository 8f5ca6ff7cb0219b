/* lib_top.c - sums by function, file or module, and their order; see allotrope.h. */
#include "analysis/top.h"
#include "base/defer.h"
#include "lib/lib_common.h"

#include <stdlib.h>

static int64_t cut(allo_sum sum)
{
	return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

int64_t allotrope_sum(const struct allotrope_profile *profile, size_t metric)
{
	if (!profile || metric >= profile->data.metrics.len)
		return 0;
	return cut(allo_metric_sum(&profile->data, metric));
}

static const enum allo_by grains[] = {
	[ALLOTROPE_BY_FUNCTION] = ALLO_BY_FUNCTION, [ALLOTROPE_BY_SITE] = ALLO_BY_SITE,
	[ALLOTROPE_BY_FILE] = ALLO_BY_FILE,         [ALLOTROPE_BY_MODULE] = ALLO_BY_MODULE,
	[ALLOTROPE_BY_ADDRESS] = ALLO_BY_ADDRESS,
};

static const enum allo_top_order orders[] = {
	[ALLOTROPE_ORDER_SELF] = ALLO_TOP_BY_SELF,
	[ALLOTROPE_ORDER_TOTAL] = ALLO_TOP_BY_TOTAL,
	[ALLOTROPE_ORDER_CHANGE] = ALLO_TOP_BY_CHANGE,
};

static bool check_options(const struct allotrope_top_options *options, struct allotrope_error *err)
{
	if ((size_t)options->by >= sizeof(grains) / sizeof(*grains) ||
	    (size_t)options->order >= sizeof(orders) / sizeof(*orders))
		return allo_lib_misuse(err, "there are no rows by %d in the order %d",
				       (int)options->by, (int)options->order);
	return allo_lib_is_clear(options, err);
}

static struct allotrope_row row_of(const struct allo_top *top, const struct allo_profile *profile,
				   const struct allo_top_row *row)
{
	bool is_line = top->by == ALLO_BY_SITE && (row->key.function != 0 || row->key.file != 0);

	return (struct allotrope_row){
		.file = allo_lib_string(profile, row->key.file),
		.module = allo_lib_string(profile, row->key.module),
		.line = is_line ? row->key.number : 0,
		.address = is_line ? 0 : row->key.number,
		.self = cut(row->self.value),
		.total = cut(row->total.value),
		.self_blocks = cut(row->self.blocks),
		.total_blocks = cut(row->total.blocks),
		.self_before = cut(row->self.before),
		.total_before = cut(row->total.before),
	};
}

/* The rows and, behind them, a copy of each name: some are made up, and one piece is easily freed.
 */
static struct allotrope_row *make_rows(const struct allo_top *top,
				       const struct allo_profile *profile, size_t count,
				       struct allo_error *err)
{
	char scratch[ALLO_TOP_SCRATCH], *names;
	struct allotrope_row *rows;
	size_t bytes = 1; /* no rows are something, too */

	for (size_t i = 0; i < count; i++)
		bytes += sizeof(*rows) +
			 allo_top_name(top, profile, &top->rows.at[i], scratch).len + 1;
	rows = malloc(bytes);
	if (!rows) {
		allo_fail_memory(err);
		return NULL;
	}
	names = (char *)(rows + count);
	for (size_t i = 0; i < count; i++) {
		struct allo_text name = allo_top_name(top, profile, &top->rows.at[i], scratch);

		rows[i] = row_of(top, profile, &top->rows.at[i]);
		rows[i].name = memcpy(names, name.data, name.len);
		names += name.len;
		*names++ = '\0';
	}
	ALLO_ASSERT(names <= (char *)rows + bytes);
	return rows;
}

struct allotrope_row *allotrope_top(const struct allotrope_profile *profile,
				    const struct allotrope_top_options *options, size_t *count,
				    struct allotrope_error *err)
{
	static const struct allotrope_top_options defaults;
	ALLO_DEFER(allo_top_done) struct allo_top top = { 0 };
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution attribution = { .wrappers = ALLO_WRAPPERS_NONE };
	struct allo_error failure = { 0 };
	struct allotrope_row *rows = NULL;
	struct allo_metric_columns columns;
	int metric;

	if (!options)
		options = &defaults;
	if (!allo_lib_begin(profile, err) || !check_options(options, err))
		return NULL;
	if (!count) {
		allo_lib_misuse(err, "there is no place for the number of rows");
		return NULL;
	}
	metric = allotrope_find_metric(profile, options->metric, err);
	if (metric < 0)
		return NULL;
	columns = allo_metric_columns_of(&profile->data, (size_t)metric);
	top.by = grains[options->by];
	if (!options->keep_allocator)
		top.attribution = &attribution;
	if (allo_top_add(&top, &profile->data, &columns, &failure)) {
		allo_top_sort(&top, &profile->data, orders[options->order]);
		*count = options->most && options->most < top.rows.len ? options->most
								       : top.rows.len;
		rows = make_rows(&top, &profile->data, *count, &failure);
	}
	if (!rows)
		allo_lib_fail(err, &failure);
	return rows;
}
