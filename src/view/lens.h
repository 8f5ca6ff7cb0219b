/*
 * lens.h - the samples of a file as one set of filters shows them.
 *
 * Filtering moves every sample to a stack of the filtered profile, or drops it.  That depends on
 * names only, not on values, so a lens is made once and then shows any range of time: the values of
 * the file's samples are added up by `sample_of`.
 */
#ifndef ALLO_VIEW_LENS_H
#define ALLO_VIEW_LENS_H

#include "analysis/filters/filter.h"
#include "analysis/filters/suppressions.h"
#include "analysis/sites/attribution.h"
#include "view/page_request.h"

/* Parsed filters of a request.  All zeros is empty. */
struct allo_lens_options {
	struct allo_filter filter;
	enum allo_wrappers wrappers;
	bool is_full; /* calls of the allocator stay, and are sites */
	struct allo_suppressions suppressions;
	const char *thread; /* its number or name; NULL for all.  Selects events, not samples. */
};

void allo_lens_options_done(struct allo_lens_options *options);

/* Parses the filters of a request, which holds their texts. */
bool allo_lens_options_parse(struct allo_lens_options *options, const allo_request_texts *filters,
			     struct allo_error *err);

/* All zeros: nothing to free. */
struct allo_lens {
	/* Stacks and samples; they refer to the tables of the dataset's profile. */
	struct allo_profile samples;
	ALLO_VEC(uint32_t) sample_of; /* by sample of the file: index + 1; 0: dropped */
	char *key;                    /* the filters that it shows */
	uint64_t last_use;
};

void allo_lens_done(struct allo_lens *lens);

/* Makes a lens.  `profile` has the tables and no samples; those of the file are in `all`. */
bool allo_lens_make(struct allo_lens *lens, struct allo_lens_options *options,
		    struct allo_profile *profile, const struct allo_profile *all,
		    struct allo_error *err);

/* Replaces the values of the lens by the sums of the file's values. */
bool allo_lens_add_up(struct allo_lens *lens, struct allo_profile *profile,
		      const struct allo_profile *all, struct allo_error *err);

#endif
