/*
 * trigger.h - conditions that make a snapshot of a process due.
 */
#ifndef ALLO_RUN_TRIGGER_H
#define ALLO_RUN_TRIGGER_H

#include "base/error.h"

#include <allo.h>

enum allo_trigger_kind {
	ALLO_TRIGGER_RSS,      /* resident bytes, or a percentage of the limit */
	ALLO_TRIGGER_PEAK,     /* a new peak */
	ALLO_TRIGGER_PRESSURE, /* tasks wait for memory */
	ALLO_TRIGGER_SIGNAL,
	ALLO_TRIGGER_EVERY,
};

struct allo_trigger {
	enum allo_trigger_kind kind;
	uint64_t bytes;     /* of RSS; 0: `percent` of the limit */
	double percent;     /* of RSS and PRESSURE */
	int signal;         /* of SIGNAL */
	uint64_t period_ns; /* of EVERY */
	uint64_t next_ns;   /* next time of EVERY; the caller advances it */
};

/* State of a process between two looks.  Starts as all zeros, except since_ns. */
struct allo_trigger_state {
	uint64_t since_ns;  /* time of the last snapshot, or of the first look */
	uint64_t rss, peak; /* at the last snapshot for each; 0: none, or it has shrunk since */
	uint64_t pressure_ns, pressure_at_ns; /* time spent waiting, and when it was read */
	bool is_pressed;                      /* the pressure that triggered a snapshot persists */
};

/* The results of a look. */
struct allo_trigger_look {
	uint64_t now_ns;
	int signal; /* that has arrived; 0: none */
	struct allo_memory_snapshot memory;
};

/* "rss=90%", "peak", "pressure", "signal=USR2", "every=5m". */
bool allo_trigger_parse(struct allo_trigger *trigger, const char *condition,
			struct allo_error *err);

/* "rss", ... */
const char *allo_trigger_name(enum allo_trigger_kind kind);

bool allo_trigger_is_due(const struct allo_trigger *trigger, struct allo_trigger_state *state,
			 const struct allo_trigger_look *look);

#endif
