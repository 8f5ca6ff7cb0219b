/* show.c - see show.h. */
#include "cli/show.h"

#include "profile/naming.h"

#include <stdio.h>

void allo_show_json_sum(struct allo_json_out *json, allo_sum sum)
{
	struct allo_number number = allo_sum_number(sum);

	if (number.is_negative && number.magnitude <= (uint64_t)INT64_MAX)
		allo_json_out_i64(json, -(int64_t)number.magnitude);
	else if (number.is_negative)
		allo_json_out_i64(json, INT64_MIN);
	else
		allo_json_out_u64(json, number.magnitude);
}

void allo_show_json_metric(struct allo_json_out *json, const struct allo_profile *profile,
			   size_t metric)
{
	const struct allo_metric *m = &profile->metrics.at[metric];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_profile_text(profile, m->name));
	allo_json_out_key(json, "unit");
	allo_json_out_text(json, allo_profile_text(profile, m->unit));
	allo_json_out_key(json, "about");
	allo_json_out_string(json, allo_metric_kinds[m->meaning].about);
	allo_json_out_key(json, "adds_up");
	allo_json_out_bool(json, allo_metric_kinds[m->meaning].is_additive);
	allo_json_out_end(json);
}

struct allo_text allo_show_place(struct allo_text name, struct allo_text file, uint64_t line,
				 char out[ALLO_PLACE_SIZE])
{
	struct allo_text base = allo_basename(file);
	size_t room = ALLO_PLACE_SIZE - 128, used = name.len < room ? name.len : room;

	memcpy(out, name.data, used);
	if (base.len > 0)
		used += (size_t)snprintf(out + used, 100, "  %.*s", ALLO_TEXT_ARG(base));
	if (base.len > 0 && line > 0)
		used += (size_t)snprintf(out + used, 24, ":%llu", (unsigned long long)line);
	return (struct allo_text){ out, used };
}
