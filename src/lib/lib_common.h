/*
 * lib_common.h - what the parts of the library share.
 *
 * The functions of allotrope.h check what they are given, call other modules and hand failures on.
 */
#ifndef ALLO_LIB_COMMON_H
#define ALLO_LIB_COMMON_H

#include "allotrope.h"
#include "base/assert.h"
#include "engine/source.h"
#include "lib/lib_ranges.h"
#include "profile/stack_builder.h"

struct allotrope_profile {
	struct allo_profile data;
	struct allo_stack_builder builder;
	struct allo_ranges ranges;
	ALLO_VEC(bool) is_new_module; /* by module: added here, and no frame is in it yet */
	/* Of the stack or sample at hand. */
	ALLO_VEC(allo_frame_id) frames;
	ALLO_VEC(struct allo_line) lines;
	ALLO_VEC(uint64_t) values;
};

/* Whether a call may begin: a profile is given, and no call before has failed. */
bool allo_lib_begin(const void *profile, struct allotrope_error *err);

/* The engine's options for the caller's, which may be NULL.  Refers to them and to `host`. */
bool allo_lib_source_options(const struct allotrope_read_options *options, struct allo_host *host,
			     struct allo_source_options *source, struct allotrope_error *err);

/* Hands a failure to the caller.  Returns false. */
bool allo_lib_fail(struct allotrope_error *err, const struct allo_error *failure);

/* The caller's mistake.  Returns false. */
bool allo_lib_misuse(struct allotrope_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether the reserved part of a struct is all zeros: a newer program may mean something by it. */
#define allo_lib_is_clear(given, err)                                                              \
	allo_lib_check_clear(&(given)->reserved, sizeof((given)->reserved), err)
bool allo_lib_check_clear(const void *reserved, size_t size, struct allotrope_error *err);

static inline struct allo_text allo_lib_text(const char *string)
{
	return allo_text_of(string ? string : "");
}

/* Strings of a profile end in NUL, as the arena makes them. */
static inline const char *allo_lib_string(const struct allo_profile *profile, allo_string_id id)
{
	struct allo_text text = allo_profile_text(profile, id);

	ALLO_ASSERT(text.data[text.len] == '\0');
	return text.data;
}

/* Entries of a table whose entry 0 stands for "none". */
#define allo_lib_count(table)   ((table).len > 0 ? (table).len - 1 : 0)
#define allo_lib_has(table, id) ((id) != 0 && (id) < (table).len)

/* The module that has the address now; 0 in *module for none.  False when memory is short. */
bool allo_lib_find_module(struct allotrope_profile *profile, uint64_t address,
			  allo_module_id *module, struct allo_error *err);

/* A frame of `lines`, whose module is told what is known of it; 0 when memory is short. */
allo_frame_id allo_lib_add_frame(struct allotrope_profile *profile, const struct allo_frame *frame,
				 const struct allo_line *lines, size_t count,
				 struct allo_error *err);

/* To be called when the profile's stacks have got new ids. */
static inline void allo_lib_forget_stacks(struct allotrope_profile *profile)
{
	allo_stack_builder_forget(&profile->builder);
}

#endif
