/*
 * bpftrace_frame.h - what stands in a line of a stack that bpftrace has printed.
 *
 *     work+31                                          a symbol, and how far into it
 *     work+31@src/work.c:12                            and where in the source
 *     [inlined] spin@src/work.c:7                      inlined into the one on the next line
 *     0x7f2067994ed2                                   no symbol is known
 *     55eca7a3b219 work+31 (/tmp/demo/busy)            as perf has it
 *     55eca7a3b219                                     nothing but the address
 *     0af3...9e 0x1219                                 a build-id of 40 digits, and where in the
 * file
 */
#ifndef ALLO_READERS_BPFTRACE_FRAME_H
#define ALLO_READERS_BPFTRACE_FRAME_H

#include "base/text.h"

/* What is not known is empty or 0. */
struct allo_bpftrace_frame {
	struct allo_text symbol;
	struct allo_text file;
	uint32_t line;
	struct allo_text module, build_id;
	uint64_t address; /* where there is no symbol */
	bool is_inlined;
};

struct allo_bpftrace_frame allo_bpftrace_parse_frame(struct allo_text line);

#endif
