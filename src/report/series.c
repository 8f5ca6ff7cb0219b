#include "report/series.h"

#include "base/defer.h"
#include "base/encoding/json_write.h"

#include <stdio.h>
#include <stdlib.h>

void allo_series_done(struct allo_series *series)
{
	for (size_t i = 0; i < series->list.len; i++)
		free(series->list.at[i].benchmark);
	allo_vec_done(&series->list);
}

static void put_value(struct allo_json_out *json, allo_sum value)
{
	allo_json_out_key(json, "value");
	if (value >= 0 && value <= (allo_sum)UINT64_MAX)
		allo_json_out_u64(json, (uint64_t)value);
	else
		allo_json_out_double(json, (double)value);
}

static void put_benchmark(struct allo_json_out *json, const struct allo_series_number *number)
{
	ALLO_DEFER(allo_free_pointer) char *name = NULL;

	if (asprintf(&name, "%s: %s", number->benchmark, number->metric) < 0) {
		name = NULL;
		allo_output_fail_memory(json->out);
		return;
	}
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "name", allo_text_of(name));
	allo_json_out_member_text(json, "unit", allo_text_of(number->unit));
	put_value(json, number->value);
	allo_json_out_end(json);
}

void allo_series_write_benchmark(const struct allo_series *series, struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 1 };

	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < series->list.len; i++)
		put_benchmark(&json, &series->list.at[i]);
	allo_json_out_end(&json);
}

/* "peak-bytes": {"value": 5} */
static void put_measure(struct allo_json_out *json, const struct allo_series_number *number)
{
	ALLO_DEFER(allo_free_pointer) char *slug = strdup(number->metric);

	if (!slug) {
		allo_output_fail_memory(json->out);
		return;
	}
	for (char *c = slug; *c; c++)
		*c = *c == '_' ? '-' : *c;
	allo_json_out_key(json, slug);
	allo_json_out_begin(json, '{');
	put_value(json, number->value);
	allo_json_out_end(json);
}

/* The first number of the same benchmark. */
static size_t first_of(const struct allo_series *series, size_t number)
{
	size_t first = 0;

	while (strcmp(series->list.at[first].benchmark, series->list.at[number].benchmark) != 0)
		first++;
	return first;
}

void allo_series_write_bencher(const struct allo_series *series, struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };

	allo_json_out_begin(&json, '{');
	for (size_t i = 0; i < series->list.len; i++) {
		if (first_of(series, i) != i)
			continue;
		allo_json_out_key(&json, series->list.at[i].benchmark);
		allo_json_out_begin(&json, '{');
		for (size_t k = i; k < series->list.len; k++) {
			if (first_of(series, k) == i)
				put_measure(&json, &series->list.at[k]);
		}
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
}
