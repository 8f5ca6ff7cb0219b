/*
 * naming.h - display names of frames and metrics.
 */
#ifndef ALLO_PROFILE_NAMING_H
#define ALLO_PROFILE_NAMING_H

#include "profile/profile.h"

/* The file name without its folders. */
struct allo_text allo_basename(struct allo_text path);

/* Number of calls that a frame shows: one per line, or one when it has no lines. */
static inline uint32_t allo_frame_call_count(const struct allo_frame *frame)
{
	return frame->line_count ? frame->line_count : 1;
}

/* The frame's address in its module's file, as addr2line takes it and the same in every run; the
 * process address when the bias is unknown. */
uint64_t allo_frame_file_address(const struct allo_profile *profile,
				 const struct allo_frame *frame);

/*
 * The name of one of a frame's calls, counted from the innermost.  Without a function it is made of
 * the address and the module, in `scratch`: "0x5a3f10 [libfoo.so]".
 */
enum { ALLO_NAME_SCRATCH = 128 };
struct allo_text allo_call_name(const struct allo_profile *profile, const struct allo_frame *frame,
				uint32_t call, char scratch[ALLO_NAME_SCRATCH]);

/* The line of one of a frame's calls; all zeros when unknown. */
static inline struct allo_line allo_call_line(const struct allo_profile *profile,
					      const struct allo_frame *frame, uint32_t call)
{
	return frame->line_count ? profile->lines.at[frame->first_line + call]
				 : (struct allo_line){ 0 };
}

/* The source file of a line's function; empty when unknown. */
struct allo_text allo_line_file(const struct allo_profile *profile, struct allo_line line);

/* The display name of a metric.  In a comparison both metrics of a pair have the same name; the
 * base one gets a suffix, "samples_before", made in `scratch`. */
struct allo_text allo_metric_name(const struct allo_profile *profile, size_t metric,
				  char scratch[ALLO_NAME_SCRATCH]);

#endif
