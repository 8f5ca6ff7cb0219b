/*
 * perf_lines.h - what stands in a line that `perf script` has written.
 *
 *     V8 Worker 24636/25607 [000] 94564.109216:     100000 cycles:u:     a sample, and below it
 *             7f7b9efb8f30 do_lookup_x+0x120 (/lib/ld.so.6)              frames, the innermost
 * first dl-lookup.c:412                                                  a place in the source
 *
 * Which of its fields a line has is up to -F, so anything may be missing.
 */
#ifndef ALLO_READERS_PERF_LINES_H
#define ALLO_READERS_PERF_LINES_H

#include "base/text.h"

/* The line above the frames of a sample. */
struct allo_perf_head {
	struct allo_text comm; /* empty: not there */
	uint64_t pid, tid;
	bool has_tid; /* and pid, unless that is 0 */
	bool has_time, has_period;
	uint64_t time_ns, period;
	struct allo_text event; /* without its colon; empty: not there */
	struct allo_text rest;  /* what follows: nothing, a frame, or what a tracepoint tells */
};

struct allo_perf_frame {
	struct allo_text symbol; /* without its offset; empty: not known */
	struct allo_text object; /* the file that it is in; empty: not known */
	bool is_inlined;
};

/* Whether a line is a frame: white space, an address in hex, and more. */
bool allo_perf_is_frame(struct allo_text line);

/* The same without the white space, for what stands behind a sample on its own line. */
bool allo_perf_starts_frame(struct allo_text text);

/* Takes a frame apart, with or without it. */
struct allo_perf_frame allo_perf_parse_frame(struct allo_text line);

/* Takes the line above a sample apart; false if it is none.  Lines that have neither time nor
 * event nor numbers of a thread are not known as such. */
bool allo_perf_parse_head(struct allo_text line, struct allo_perf_head *head);

/* "file.c:12"; false, and nothing changed, if it is none. */
bool allo_perf_parse_place(struct allo_text line, struct allo_text *file, uint32_t *number);

#endif
