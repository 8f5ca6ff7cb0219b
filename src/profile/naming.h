/*
 * naming.h - what frames and metrics are called when they are shown.
 */
#ifndef ALLO_PROFILE_NAMING_H
#define ALLO_PROFILE_NAMING_H

#include "profile/profile.h"

/* The file's name without its folders. */
struct allo_text allo_basename(struct allo_text path);

/* A frame is shown as one call a line, inlined calls included; a frame without lines as one. */
static inline uint32_t allo_frame_call_count(const struct allo_frame *frame)
{
	return frame->line_count ? frame->line_count : 1;
}

/* The address of a frame in its module's file, as addr2line takes it and every run has it; where
 * that is not known, the address that it had. */
uint64_t allo_frame_file_address(const struct allo_profile *profile, const struct allo_frame *frame);

/*
 * The name of one of a frame's calls, the innermost first.  Where the function is not known it is
 * made up in `scratch` of its place and the module: "0x5a3f10 [libfoo.so]".
 */
enum { ALLO_NAME_SCRATCH = 128 };
struct allo_text allo_call_name(const struct allo_profile *profile, const struct allo_frame *frame,
				uint32_t call, char scratch[ALLO_NAME_SCRATCH]);

/* The line of one of a frame's calls; all zeros when not known. */
static inline struct allo_line allo_call_line(const struct allo_profile *profile,
					      const struct allo_frame *frame, uint32_t call)
{
	return frame->line_count ? profile->lines.at[frame->first_line + call]
				 : (struct allo_line){ 0 };
}

/* The file of a line's function; empty when not known. */
struct allo_text allo_line_file(const struct allo_profile *profile, struct allo_line line);

/* The name of a metric.  What was before is called the same as what it is compared with: here it
 * has a name of its own, "samples_before", made in `scratch`. */
struct allo_text allo_metric_name(const struct allo_profile *profile, size_t metric,
				  char scratch[ALLO_NAME_SCRATCH]);

#endif
