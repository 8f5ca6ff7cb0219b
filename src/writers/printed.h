/*
 * printed.h - the stacks of a profile as a form prints them.
 *
 * A form that knows a frame by its text cannot tell apart frames that print the same.  So stacks
 * are made anew, of texts, and samples whose stacks have become equal can be added up.  An inlined
 * call is a frame like any other there.
 */
#ifndef ALLO_WRITERS_PRINTED_H
#define ALLO_WRITERS_PRINTED_H

#include "profile/naming.h"

/* A text that grows. */
struct allo_chars {
	char *at;
	size_t len, cap;
};

static inline bool allo_chars_add(struct allo_chars *chars, struct allo_text text)
{
	return allo_vec_append(chars, text.data, text.len);
}

static inline struct allo_text allo_chars_text(const struct allo_chars *chars)
{
	return (struct allo_text){ chars->at, chars->len };
}

static inline void allo_chars_done(struct allo_chars *chars)
{
	allo_vec_done(chars);
}

/* Puts spaces for control characters, so that it stays within a line. */
void allo_chars_make_line(struct allo_chars *chars);

/* Appends a name as it can stand between semicolons and in front of a count; false when memory is
 * short. */
bool allo_chars_add_folded(struct allo_chars *chars, struct allo_text name);

/* All zeros is empty. */
struct allo_printed {
	struct allo_profile
		profile;       /* a frame for each text; metrics and samples are the caller's */
	allo_stack_id *stacks; /* of that profile, by stack of the original */
};

void allo_printed_done(struct allo_printed *printed);

/* Appends the text of one of a frame's calls; false when memory is short. */
typedef bool (*allo_print_call)(const void *context, const struct allo_profile *profile,
				const struct allo_frame *frame, uint32_t call,
				struct allo_chars *out);

/* Prints all stacks that samples refer to.  What is not UTF-8 in the texts is replaced. */
bool allo_print_stacks(struct allo_printed *printed, const struct allo_profile *profile,
		       allo_print_call print, const void *context, struct allo_error *err);

/* The text of a frame of `printed->profile`. */
static inline struct allo_text allo_printed_text(const struct allo_printed *printed,
						 allo_frame_id frame)
{
	const struct allo_profile *profile = &printed->profile;
	struct allo_line line = profile->lines.at[profile->frames.at[frame].first_line];

	return allo_profile_text(profile, profile->functions.at[line.function].name);
}

#endif
