/*
 * window.h - the part of a recording that is asked for: a range of time, a thread.
 */
#ifndef ALLO_REPLAY_WINDOW_H
#define ALLO_REPLAY_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros: everything. */
struct allo_window {
	uint64_t from_ns; /* what was allocated before counts as live, but not as allocated */
	uint64_t to_ns;   /* events from here on are not looked at; 0: none */
	bool has_thread;  /* only what these allocate: */
	size_t stream;    /* an index in the recording's streams */
};

#endif
