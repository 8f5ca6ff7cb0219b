/*
 * dhat_columns.h - which of a profile's metrics become which numbers of a DHAT program point.
 *
 * DHAT's viewer demands numbers that other profilers do not measure.  The nearest ones stand in for
 * them, and a note says so.
 */
#ifndef ALLO_WRITERS_DHAT_COLUMNS_H
#define ALLO_WRITERS_DHAT_COLUMNS_H

#include "profile/profile.h"

/* The numbers of a program point, in the order in which they are written. */
enum allo_pp_field {
	ALLO_PP_TB,
	ALLO_PP_TBK,
	ALLO_PP_TL,
	ALLO_PP_MB,
	ALLO_PP_MBK,
	ALLO_PP_GB,
	ALLO_PP_GBK,
	ALLO_PP_EB,
	ALLO_PP_EBK,
	ALLO_PP_RB,
	ALLO_PP_WB,
	ALLO_PP_FIELDS
};

/* What DHAT calls its modes. */
enum allo_pp_kind { ALLO_PP_HEAP, ALLO_PP_COPY, ALLO_PP_AD_HOC };

/* No metric: the number is 0, or made of others. */
#define ALLO_PP_NONE ((size_t)-1)

struct allo_pp_columns {
	enum allo_pp_kind kind;
	bool has_lifetimes, has_accesses; /* DHAT's "bklt" and "bkacc" */
	size_t metric[ALLO_PP_FIELDS];
};

/* Notes what stands in for what, and which metrics have no place. */
struct allo_pp_columns allo_pp_columns_of(const struct allo_profile *profile,
					  struct allo_notes *notes);

/* The numbers of one sample. */
void allo_pp_fill(const struct allo_pp_columns *columns, const struct allo_profile *profile,
		  size_t sample, uint64_t out[ALLO_PP_FIELDS], struct allo_notes *notes);

#endif
