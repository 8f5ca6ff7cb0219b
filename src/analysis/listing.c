#include "analysis/listing.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

void allo_listing_done(struct allo_listing *listing)
{
	allo_vec_done(&listing->functions);
	allo_vec_done(&listing->lines);
}

/* Sums by function and by line, and the function of each line. */
struct sums {
	const struct allo_profile *profile;
	struct allo_top functions, sites;
	size_t *listed;    /* by row of functions: index + 1 in the listing; 0: not in it */
	bool *site_listed; /* by row of sites */
};

static void sums_done(struct sums *sums)
{
	allo_top_done(&sums->functions);
	allo_top_done(&sums->sites);
	free(sums->listed);
	free(sums->site_listed);
}

static bool holds_nothing(const struct allo_values *total)
{
	return total->value == 0 && total->blocks == 0;
}

/* The function of one of a frame's calls, and the line. */
struct call {
	uint32_t function, site; /* rows + 1; 0 when no sample has it */
};

static struct call call_of(const struct sums *sums, allo_frame_id id, uint32_t call)
{
	return (struct call){
		allo_top_call_of(&sums->functions, sums->profile, id, call)->row,
		allo_top_call_of(&sums->sites, sums->profile, id, call)->row,
	};
}

static bool add_function(struct allo_listing *listing, struct sums *sums, uint32_t row,
			 struct allo_error *err)
{
	const struct allo_top_row *of = &sums->functions.rows.at[row];
	struct allo_listed_function function = {
		.name = of->key.function,
		.file = of->key.file,
		.self = of->self,
		.total = of->total,
	};

	if (sums->listed[row] != 0 || of->key.function == 0 || holds_nothing(&of->total))
		return true;
	if (!allo_vec_add(&listing->functions, function, err))
		return false;
	sums->listed[row] = listing->functions.len;
	return true;
}

static bool add_functions(struct allo_listing *listing, struct sums *sums,
			  struct allo_pattern *pattern, struct allo_error *err)
{
	const struct allo_profile *profile = sums->profile;

	for (size_t id = 1; id < profile->frames.len; id++) {
		const struct allo_frame *frame = &profile->frames.at[id];

		for (uint32_t i = 0; i < frame->line_count; i++) {
			struct call call = call_of(sums, (allo_frame_id)id, i);

			if (call.function != 0 &&
			    allo_pattern_matches(pattern, profile, frame, i) &&
			    !add_function(listing, sums, call.function - 1, err))
				return false;
		}
	}
	return !pattern->has_failed || allo_fail_memory(err);
}

static bool add_line(struct allo_listing *listing, struct sums *sums, struct call call,
		     struct allo_error *err)
{
	const struct allo_top_row *site = &sums->sites.rows.at[call.site - 1];
	struct allo_listed_line line = {
		.line = site->key.number,
		.self = site->self,
		.total = site->total,
		.function = sums->listed[call.function - 1] - 1,
	};

	if (sums->site_listed[call.site - 1] || holds_nothing(&site->total))
		return true;
	sums->site_listed[call.site - 1] = true;
	return allo_vec_add(&listing->lines, line, err);
}

static bool add_lines(struct allo_listing *listing, struct sums *sums, struct allo_error *err)
{
	const struct allo_profile *profile = sums->profile;

	for (size_t id = 1; id < profile->frames.len; id++) {
		for (uint32_t i = 0; i < profile->frames.at[id].line_count; i++) {
			struct call call = call_of(sums, (allo_frame_id)id, i);

			if (call.function != 0 && sums->listed[call.function - 1] != 0 &&
			    !add_line(listing, sums, call, err))
				return false;
		}
	}
	return true;
}

static int compare_functions(const void *a, const void *b, void *context)
{
	const struct allo_profile *profile = context;
	const struct allo_listed_function *x = a, *y = b;
	int order = (x->total.value < y->total.value) - (x->total.value > y->total.value);

	if (order == 0)
		order = allo_text_compare(allo_profile_text(profile, x->name),
					  allo_profile_text(profile, y->name));
	if (order == 0)
		order = allo_text_compare(allo_profile_text(profile, x->file),
					  allo_profile_text(profile, y->file));
	return order;
}

static int compare_lines(const void *a, const void *b)
{
	const struct allo_listed_line *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Groups lines by function, then sorts functions by value. */
static void sort(struct allo_listing *listing, const struct allo_profile *profile)
{
	struct allo_listed_function *functions = listing->functions.at;

	if (listing->lines.len > 0)
		qsort(listing->lines.at, listing->lines.len, sizeof(*listing->lines.at),
		      compare_lines);
	for (size_t i = listing->lines.len; i-- > 0;) {
		functions[listing->lines.at[i].function].first = i;
		functions[listing->lines.at[i].function].count++;
	}
	if (listing->functions.len > 0)
		qsort_r(functions, listing->functions.len, sizeof(*functions), compare_functions,
			(void *)profile);
	for (size_t i = 0; i < listing->functions.len; i++) {
		for (size_t k = 0; k < functions[i].count; k++)
			listing->lines.at[functions[i].first + k].function = i;
	}
}

bool allo_listing_of(struct allo_listing *listing, const struct allo_profile *profile,
		     const struct allo_metric_columns *columns, struct allo_pattern *pattern,
		     struct allo_error *err)
{
	ALLO_DEFER(sums_done)
	struct sums sums = {
		.profile = profile,
		.functions = { .by = ALLO_BY_FUNCTION, .attribution = listing->attribution },
		.sites = { .by = ALLO_BY_SITE, .attribution = listing->attribution },
	};

	if (!allo_top_add(&sums.functions, profile, columns, err) ||
	    !allo_top_add(&sums.sites, profile, columns, err))
		return false;
	sums.listed = calloc(sums.functions.rows.len + 1, sizeof(*sums.listed));
	sums.site_listed = calloc(sums.sites.rows.len + 1, sizeof(*sums.site_listed));
	if (!sums.listed || !sums.site_listed)
		return allo_fail_memory(err);
	listing->sum = sums.functions.sum;
	if (!add_functions(listing, &sums, pattern, err) || !add_lines(listing, &sums, err))
		return false;
	sort(listing, profile);
	return true;
}
