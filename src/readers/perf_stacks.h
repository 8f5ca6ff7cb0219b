/*
 * perf_stacks.h - the stacks of perf's samples, known by their text.
 *
 * Most samples are of stacks that have been there before, and then their text is the same.  So all
 * frames of a sample are taken as one text, and only if that is new they are looked at one by one;
 * and only a frame that is new is taken apart.  Texts are not kept.
 */
#ifndef ALLO_READERS_PERF_STACKS_H
#define ALLO_READERS_PERF_STACKS_H

#include "base/text_ids.h"
#include "readers/reader.h"

/* To be initialised. */
struct allo_perf_stacks {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	struct allo_stack_builder builder;

	/* Private from here on. */
	struct allo_text_ids stack_ids, frame_ids;
	ALLO_VEC(allo_frame_id) stack;    /* at hand, the innermost first */
	ALLO_VEC(struct allo_line) lines; /* of the frame at hand, likewise */
	ALLO_VEC(char) name;              /* made up */
};

void allo_perf_stacks_init(struct allo_perf_stacks *stacks, struct allo_input *in,
			   const struct allo_read_options *options, struct allo_profile *profile);
void allo_perf_stacks_done(struct allo_perf_stacks *stacks);

/* The frame of a line, or of several where calls are inlined into it or where the source is told; 0
 * when memory is short. */
allo_frame_id allo_perf_frame(struct allo_perf_stacks *stacks, struct allo_text text,
			      struct allo_error *err);

/* The stack of whole lines, the innermost frame first; false when memory is short. */
bool allo_perf_stack(struct allo_perf_stacks *stacks, struct allo_text text, allo_stack_id *stack,
		     struct allo_error *err);

/* To be called before the profile drops its stacks. */
static inline void allo_perf_stacks_forget(struct allo_perf_stacks *stacks)
{
	allo_text_ids_clear(&stacks->stack_ids);
}

#endif
