/*
 * metric.h - the list of known metrics.
 *
 * Each has one name in the library, on the command line and in output.  The table in metric.c also
 * lists the names that DHAT and pprof use for the same metric.
 */
#ifndef ALLO_PROFILE_METRIC_H
#define ALLO_PROFILE_METRIC_H

#include "base/text.h"

enum allo_meaning {
	ALLO_MEANS_OTHER, /* a metric of the producer, known by its name only */
	ALLO_ALLOC_BLOCKS,
	ALLO_ALLOC_BYTES,
	ALLO_MAX_BLOCKS,
	ALLO_MAX_BYTES,
	ALLO_PEAK_BLOCKS,
	ALLO_PEAK_BYTES,
	ALLO_END_BLOCKS,
	ALLO_END_BYTES,
	ALLO_LIVE_BLOCKS,
	ALLO_LIVE_BYTES,
	ALLO_FREED_BLOCKS,
	ALLO_FREED_BYTES,
	ALLO_LIFETIME,
	ALLO_TEMPORARY_BLOCKS,
	ALLO_READ_BYTES,
	ALLO_WRITE_BYTES,
	ALLO_COPY_BLOCKS,
	ALLO_COPY_BYTES,
	ALLO_EVENTS,
	ALLO_EVENT_UNITS,
	ALLO_SAMPLES,
	ALLO_CPU,
	ALLO_WALL,
	ALLO_MEANINGS
};

struct allo_metric_kind {
	const char *name;    /* ours */
	const char *unit;    /* "bytes", "count", ...; NULL when it depends on the profile */
	const char *pprof;   /* conventional sample type; NULL when it is our name */
	const char *dhat;    /* key in a program point; NULL when DHAT has none */
	const char *aliases; /* other names for the command line, separated by spaces; or NULL */
	/* Whether sums over stacks are meaningful. */
	bool is_additive;
	/* Bytes for blocks and blocks for bytes, when both exist. */
	enum allo_meaning companion;
	const char *about; /* follows the value: "5,000 bytes, live when recording ended" */
};

/* Indexed by meaning. */
extern const struct allo_metric_kind allo_metric_kinds[ALLO_MEANINGS];

/* The metric with this name: ours, pprof's, DHAT's or an alias; ALLO_MEANS_OTHER if none. */
enum allo_meaning allo_meaning_of_name(struct allo_text name);

/* The metric of a pprof sample type.  When the profile has peak_space (`has_peak`), inuse_* is each
 * call site's own maximum, as in conversions of DHAT files; otherwise it is the live heap. */
enum allo_meaning allo_meaning_of_pprof(struct allo_text type, bool has_peak);

#endif
