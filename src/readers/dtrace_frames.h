/*
 * dtrace_frames.h - frames as DTrace prints them: "libc.so.1`malloc+0x1c".
 */
#ifndef ALLO_READERS_DTRACE_FRAMES_H
#define ALLO_READERS_DTRACE_FRAMES_H

#include "readers/reader.h"

/*
 * The frame of a text: module, symbol and offset; module and address; an address alone; or what a
 * helper for some language prints.  The offset does not tell frames apart, since it does not tell
 * where the code is.  0 when memory is short.
 */
allo_frame_id allo_dtrace_frame(struct allo_profile *profile, struct allo_text text,
				const struct allo_trace_options *options, struct allo_error *err);

/* Whether a frame belongs to a kernel, by the name of its module. */
bool allo_dtrace_is_kernel(const struct allo_profile *profile, allo_frame_id frame);

#endif
