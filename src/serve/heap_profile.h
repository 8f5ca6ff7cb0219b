/*
 * served_heap.h - the heap of a process that is being recorded, as somebody asks for it.
 */
#ifndef ALLO_SERVE_HEAP_PROFILE_H
#define ALLO_SERVE_HEAP_PROFILE_H

#include "serve/process_list.h"
#include "symbols/symbols.h"

enum allo_heap_format {
	ALLO_HEAP_PPROF,      /* what pprof's own tools read */
	ALLO_HEAP_NAMED_TEXT, /* lines for people, with names */
	ALLO_HEAP_TEXT,       /* the same for programs, which ask for names by themselves */
};

struct allo_heap_request {
	const struct allo_served_process *process;
	const struct allo_symbol_options *symbols;
	enum allo_heap_format form;
	bool is_of_all;    /* what was ever allocated comes first, not what is live */
	uint64_t asked_ns; /* when, by a clock that never stops */
	uint64_t seconds;  /* what happens from then on, for so long; 0: all until now */
};

/* An worker, which needs the process's descriptor: see worker.h. */
unsigned allo_served_heap(const void *wish, int out, struct allo_error *err);

#endif
