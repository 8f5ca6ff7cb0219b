/*
 * heap_profile.h - the heap of a recorded process, in the format that a request asks for.
 */
#ifndef ALLO_SERVE_HEAP_PROFILE_H
#define ALLO_SERVE_HEAP_PROFILE_H

#include "engine/live/followed_profile.h"
#include "serve/process_list.h"
#include "view/answers/answers.h"
#include "watch/recorded_process.h"

enum allo_heap_format {
	ALLO_HEAP_PPROF,
	ALLO_HEAP_NAMED_TEXT, /* text with names, for people */
	ALLO_HEAP_TEXT,       /* text with addresses, for google-pprof */
};

/* A request for a heap profile, or one of the page (page_view.h). */
struct allo_heap_request {
	const struct allo_served_process *process;
	const struct allo_symbol_options *symbols;
	enum allo_heap_format format;
	bool is_of_all;   /* the default value is all allocations so far, not live memory */
	bool is_delta;    /* allocations since the last such request, instead of all */
	uint64_t seconds; /* length of a window from now on; 0: everything until now */
	/* Of the page: the request, and as in struct allo_asked_files. */
	struct allo_text ask;
	allo_answer *(*find_more)(const char *ask);
};

/* Finds the file that a process records to.  If the process does not record, the error says how to
 * start. */
unsigned allo_served_recording_find(const struct allo_served_process *process,
				    struct allo_recorded_processes *list,
				    struct allo_recorded_process *recorded, const char **file,
				    struct allo_error *err);

/* The engine's options for a request.  `root` is room for a path. */
struct allo_source_options allo_heap_source_options(const struct allo_heap_request *request,
						    char root[ALLO_ROOT_SIZE]);

/* Writes the profile.  Replays only the events since the last request.  A request with a window
 * waits for its end. */
unsigned allo_heap_profile_follow(struct allo_followed_profile *followed,
				  const struct allo_heap_request *request, int out,
				  struct allo_error *err);

#endif
