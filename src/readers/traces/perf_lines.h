/*
 * perf_lines.h - parses lines of `perf script`.
 *
 *     V8 Worker 24636/25607 [000] 94564.109216:     100000 cycles:u:     a sample, and below it
 *             7f7b9efb8f30 do_lookup_x+0x120 (/lib/ld.so.6)              frames, the innermost
 * first dl-lookup.c:412                                                  a place in the source
 *
 * The option -F selects the fields of a line, so any of them may be missing.
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
	struct allo_text rest;  /* the rest: nothing, a frame, or the data of a tracepoint */
};

struct allo_perf_frame {
	struct allo_text symbol; /* without its offset; empty: unknown */
	struct allo_text object; /* the file it is in; empty: unknown */
	bool is_inlined;
};

/* Frames, and the source lines below them, begin with a tab or spaces. */
static inline bool allo_perf_is_indented(char c)
{
	return c == '\t' || c == ' ';
}

/* Whether a line is a frame: white space, an address in hex, and more. */
bool allo_perf_is_frame(struct allo_text line);

/* Whether a text is a frame without leading white space, as on the line of a sample. */
bool allo_perf_starts_frame(struct allo_text text);

/* Parses a frame, with or without leading white space. */
struct allo_perf_frame allo_perf_parse_frame(struct allo_text line);

/* Parses the line above a sample's frames; false for any other line.  A line without time, event
 * and thread ids is not recognised. */
bool allo_perf_parse_head(struct allo_text line, struct allo_perf_head *head);

/* "file.c:12"; false, with nothing changed, for any other text. */
bool allo_perf_parse_place(struct allo_text line, struct allo_text *file, uint32_t *number);

#endif
