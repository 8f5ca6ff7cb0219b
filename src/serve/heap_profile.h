/*
 * heap_profile.h - the heap of a recorded process, in the format that a request asks for.
 */
#ifndef ALLO_SERVE_HEAP_PROFILE_H
#define ALLO_SERVE_HEAP_PROFILE_H

#include "engine/followed_profile.h"
#include "serve/process_list.h"

enum allo_heap_format {
	ALLO_HEAP_PPROF,
	ALLO_HEAP_NAMED_TEXT, /* text with names, for people */
	ALLO_HEAP_TEXT,       /* text with addresses, for google-pprof */
};

struct allo_heap_request {
	const struct allo_served_process *process;
	const struct allo_symbol_options *symbols;
	enum allo_heap_format format;
	bool is_of_all;    /* the default value is all allocations so far, not live memory */
	uint64_t asked_ns; /* time of the request, monotonic clock */
	uint64_t seconds;  /* length of a window from then on; 0: everything until now */
};

/* For a worker that keeps the process's pidfd: replays the recording and writes the profile. */
unsigned allo_heap_profile_write(const void *request, int out, struct allo_error *err);

/* The same for a request without a window: replays only the events since the last request. */
unsigned allo_heap_profile_follow(struct allo_followed_profile *followed,
				  const struct allo_heap_request *request, int out,
				  struct allo_error *err);

#endif
