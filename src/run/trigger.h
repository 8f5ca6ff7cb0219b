/*
 * trigger.h - what may make a snapshot of a process due.
 */
#ifndef ALLO_RUN_TRIGGER_H
#define ALLO_RUN_TRIGGER_H

#include "base/error.h"

#include <allo.h>

enum allo_trigger_kind {
	ALLO_TRIGGER_RSS,      /* so many resident bytes, or so much of the limit */
	ALLO_TRIGGER_PEAK,     /* more than ever before */
	ALLO_TRIGGER_PRESSURE, /* somebody waits for memory */
	ALLO_TRIGGER_SIGNAL,
	ALLO_TRIGGER_EVERY,
};

struct allo_trigger {
	enum allo_trigger_kind kind;
	uint64_t bytes;     /* of RSS; 0: `percent` of the limit */
	double percent;     /* of RSS and PRESSURE */
	int signal;         /* of SIGNAL */
	uint64_t period_ns; /* of EVERY, */
	uint64_t next_ns;   /* and when it is due; whoever uses it moves it on */
};

/* What is remembered of a process from one look to the next.  All zeros but for the first. */
struct allo_trigger_state {
	uint64_t since_ns;  /* the last snapshot, or since it is known */
	uint64_t rss, peak; /* at the last snapshots for these; 0: none, or it is less since */
	uint64_t pressure_ns, pressure_at_ns; /* waited for memory up to then */
	bool is_pressed;                      /* there was a snapshot, and it still is so */
};

/* What a look has found. */
struct allo_trigger_look {
	uint64_t now_ns;
	int signal; /* that has come; 0: none */
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
