/*
 * dhat_columns.h - the metrics of a profile that become the numbers of a DHAT program point.
 *
 * DHAT's viewer requires numbers that other profilers do not measure.  The nearest metric stands in
 * for each, and a note says so.
 */
#ifndef ALLO_WRITERS_DHAT_COLUMNS_H
#define ALLO_WRITERS_DHAT_COLUMNS_H

#include "profile/profile.h"

/* The numbers of a program point, in the order in which they are written. */
enum allo_point_field {
	ALLO_POINT_TB,
	ALLO_POINT_TBK,
	ALLO_POINT_TL,
	ALLO_POINT_MB,
	ALLO_POINT_MBK,
	ALLO_POINT_GB,
	ALLO_POINT_GBK,
	ALLO_POINT_EB,
	ALLO_POINT_EBK,
	ALLO_POINT_RB,
	ALLO_POINT_WB,
	ALLO_POINT_FIELDS
};

/* DHAT's modes. */
enum allo_point_kind { ALLO_POINT_HEAP, ALLO_POINT_COPY, ALLO_POINT_AD_HOC };

/* No metric: the number is 0 or computed from others. */
#define ALLO_POINT_NONE ((size_t)-1)

struct allo_point_columns {
	enum allo_point_kind kind;
	bool has_lifetimes, has_accesses; /* DHAT's "bklt" and "bkacc" */
	size_t metric[ALLO_POINT_FIELDS];
};

/* Notes each stand-in, and each metric that DHAT has no number for. */
struct allo_point_columns allo_point_columns_of(const struct allo_profile *profile,
						struct allo_notes *notes);

/* The numbers of one sample. */
void allo_point_fill(const struct allo_point_columns *columns, const struct allo_profile *profile,
		     size_t sample, uint64_t out[ALLO_POINT_FIELDS], struct allo_notes *notes);

#endif
