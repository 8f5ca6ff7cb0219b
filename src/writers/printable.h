/*
 * printable.h - the stacks of a profile as texts, for formats that know a frame by its text.
 *
 * Such a format cannot tell apart frames that print the same.  So stacks are built again, of
 * texts, and samples whose stacks become equal can be added up.  An inlined call is a frame like
 * any other.
 */
#ifndef ALLO_WRITERS_PRINTABLE_H
#define ALLO_WRITERS_PRINTABLE_H

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

/* Replaces control characters by spaces, so that the text stays on one line. */
void allo_chars_make_line(struct allo_chars *chars);

/* Appends a name for folded stacks, where it stands between semicolons and before a count; false
 * when memory is short. */
bool allo_chars_add_folded(struct allo_chars *chars, struct allo_text name);

/* All zeros is empty. */
struct allo_printable {
	/* Has a frame for each text.  The caller adds metrics and samples. */
	struct allo_profile profile;
	allo_stack_id *stacks; /* of `profile`, by stack of the original */
};

void allo_printable_done(struct allo_printable *printable);

/* Appends the text of one of a frame's calls; false when memory is short. */
typedef bool (*allo_print_call)(const void *context, const struct allo_profile *profile,
				const struct allo_frame *frame, uint32_t call,
				struct allo_chars *out);

/* Prints all stacks that samples refer to.  Replaces bytes of the texts that are not UTF-8. */
bool allo_print_stacks(struct allo_printable *printable, const struct allo_profile *profile,
		       allo_print_call print, const void *context, struct allo_error *err);

/* The text of a frame of `printable->profile`. */
static inline struct allo_text allo_printable_text(const struct allo_printable *printable,
						   allo_frame_id frame)
{
	const struct allo_profile *profile = &printable->profile;
	struct allo_line line = profile->lines.at[profile->frames.at[frame].first_line];

	return allo_profile_text(profile, profile->functions.at[line.function].name);
}

/*
 * Frames as Valgrind's tools and the dhat crate print them:
 *
 *     0x109C54: std::vector<int>::push_back(int&&) (vector.h:1203)
 *     0x4E5D2A: CRYPTO_malloc (in /usr/lib/x86_64-linux-gnu/libcrypto.so.3)
 *     0x10c3a1: alloc::alloc::alloc (alloc/src/alloc.rs:98:9)
 */
enum allo_frame_style {
	ALLO_FRAME_DHAT,
	ALLO_FRAME_MASSIF, /* no columns: massif-visualizer would read one as the line */
	ALLO_FRAME_CRATE,
};

/* Appends one of a frame's calls; false when memory is short. */
bool allo_chars_add_valgrind_frame(struct allo_chars *out, const struct allo_profile *profile,
				   const struct allo_frame *frame, uint32_t call,
				   enum allo_frame_style style);

#endif
