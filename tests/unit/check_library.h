/*
 * check_library.h - shared by the tests of liballotrope.  They see the public header only.
 */
#ifndef ALLO_TESTS_CHECK_LIBRARY_H
#define ALLO_TESTS_CHECK_LIBRARY_H

#include "check.h"

#include <allotrope.h>

/* A call that must succeed; prints the error if it fails. */
#define assert_works(call)                                                                         \
	do {                                                                                       \
		struct allotrope_error err = { 0 };                                                \
		char why_[512];                                                                    \
		bool worked_ = (call);                                                             \
		allotrope_error_text(&err, why_, sizeof(why_));                                    \
		assert_string_equal(why_, "");                                                     \
		assert_true(worked_);                                                              \
	} while (0)

/* A call that must fail with this code, and say something about it. */
#define assert_fails(call, wanted)                                                                 \
	do {                                                                                       \
		struct allotrope_error err = { 0 };                                                \
		assert_false(call);                                                                \
		assert_int_equal(err.code, wanted);                                                \
		assert_true(err.message[0] != '\0');                                               \
	} while (0)

#define assert_misuse(call) assert_fails(call, ALLOTROPE_USAGE)

/* Folded stacks are the shortest way to a profile. */
static inline struct allotrope_profile *profile_of(const char *folded)
{
	struct allotrope_profile *profile = NULL;

	assert_works((profile = allotrope_read_memory(folded, strlen(folded), NULL, NULL, &err)));
	return profile;
}

static inline struct allotrope_profile *new_profile(void)
{
	struct allotrope_profile *profile = NULL;

	assert_works((profile = allotrope_profile_new(&err)));
	return profile;
}

/* Every profile must be in order when it goes. */
static inline void free_valid(struct allotrope_profile *profile)
{
	assert_works(allotrope_validate(profile, &err));
	allotrope_profile_free(profile);
}

/* A stack of one call with this name. */
static inline allotrope_stack_id stack_of(struct allotrope_profile *profile, const char *name)
{
	struct allotrope_call call = { .function = name };
	allotrope_stack_id stack = 0;

	assert_works((stack = allotrope_add_stack_of_calls(profile, &call, 1, &err)));
	return stack;
}

static inline bool add_value(struct allotrope_profile *profile, allotrope_stack_id stack,
			     allotrope_labels_id labels, uint64_t value,
			     struct allotrope_error *err)
{
	struct allotrope_sample sample = {
		.values = &value, .value_count = 1, .stack = stack, .labels = labels
	};

	return allotrope_add_sample(profile, &sample, err);
}

/* "leaf caller ... root" of a sample's stack, in `out`. */
static inline const char *calls_of(const struct allotrope_profile *profile, size_t index, char *out,
				   size_t room)
{
	struct allotrope_call calls[16];
	struct allotrope_sample sample;
	size_t count;

	assert_true(allotrope_get_sample(profile, index, &sample));
	count = allotrope_get_calls(profile, sample.stack, calls, 16);
	assert_true(count <= 16);
	out[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		assert_true(strlen(out) + strlen(calls[i].function) + 2 < room);
		strcat(out, i > 0 ? " " : "");
		strcat(out, calls[i].function);
	}
	return out;
}

#define assert_calls(profile, index, wanted)                                                       \
	do {                                                                                       \
		char out_[256];                                                                    \
		assert_string_equal(calls_of(profile, index, out_, sizeof(out_)), wanted);         \
	} while (0)

static inline uint64_t value_of(const struct allotrope_profile *profile, size_t index,
				size_t metric)
{
	struct allotrope_sample sample;

	assert_true(allotrope_get_sample(profile, index, &sample));
	assert_true(metric < sample.value_count);
	return sample.values[metric];
}

#endif
