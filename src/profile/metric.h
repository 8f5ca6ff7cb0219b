/*
 * metric.h - the vocabulary: what a number in a profile means.
 *
 * One name for one thing in the library, on the command line and in what we write.  The table in
 * metric.c is the list; the names that DHAT and pprof use for the same things stand there too.
 */
#ifndef ALLO_PROFILE_METRIC_H
#define ALLO_PROFILE_METRIC_H

#include "base/text.h"

enum allo_meaning {
	ALLO_MEANS_OTHER, /* something of the producer's own: its name says all we know */
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
	const char *name;  /* ours */
	const char *unit;  /* "bytes", "count", ...; NULL where each profile says its own */
	const char *pprof; /* conventional sample type, NULL where it is our name */
	const char *dhat;  /* key of a program point, NULL where DHAT has none */
	const char *alias; /* a short name for the command line, NULL where there is none */
	/* Whether the values of several stacks add up to something true. */
	bool is_additive;
	/* Bytes for blocks and blocks for bytes, where both exist. */
	enum allo_meaning companion;
	const char *about; /* completes "what was ..." */
};

/* Indexed by meaning. */
extern const struct allo_metric_kind allo_metric_kinds[ALLO_MEANINGS];

/* The meaning that goes by this name, ours, pprof's, DHAT's or short; ALLO_MEANS_OTHER if none. */
enum allo_meaning allo_meaning_of_name(struct allo_text name);

/* The meaning of a pprof sample type.  `has_peak` tells whether the same profile has peak_space:
 * then inuse_* is each site's own maximum, as in what we make of DHAT files, and not what was live.
 */
enum allo_meaning allo_meaning_of_pprof(struct allo_text type, bool has_peak);

#endif
