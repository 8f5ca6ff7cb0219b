#include "analysis/sites/runtime_memory.h"

#include "analysis/sites/allocator.h"
#include "analysis/sites/known_code.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

/* Frames of a stack at the start of a program, at most. */
enum { DEPTH = 64 };

static struct allo_text name_of(const struct allo_profile *profile, const struct allo_frame *frame,
				uint32_t call)
{
	struct allo_line line = allo_call_line(profile, frame, call);

	return allo_profile_text(profile, profile->functions.at[line.function].name);
}

/* Functions whose memory stays until the process ends: those of the buffers of stdin, stdout and
 * other streams of C, and the constructor of libstdc++'s pool for exceptions, in a program that
 * contains the library (-static-libstdc++).  That one is named after its file, or after the first
 * function of the file. */
static bool keeps_memory(const struct allo_profile *profile, const struct allo_frame *frame)
{
	static const struct allo_text names[] = {
		ALLO_TEXT_INIT("_IO_file_doallocate"),
		ALLO_TEXT_INIT("_GLOBAL__sub_I_eh_alloc.cc"),
		ALLO_TEXT_INIT("_GLOBAL__sub_I__ZN9__gnu_cxx9__freeresEv"),
		ALLO_TEXT_INIT("_GLOBAL__sub_I___gnu_cxx::__freeres()"),
	};

	for (uint32_t call = 0; call < frame->line_count; call++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (allo_text_equal(name_of(profile, frame, call), names[i]))
				return true;
		}
	}
	return false;
}

static struct allo_text module_of(const struct allo_profile *profile,
				  const struct allo_frame *frame)
{
	return allo_profile_text(profile, profile->modules.at[frame->module].path);
}

static bool is_of_library(const struct allo_profile *profile, const struct allo_frame *frame)
{
	return frame->module &&
	       allo_known_module(module_of(profile, frame)).role == ALLO_ROLE_LIBRARY;
}

/* Other tools put functions of their own in front: vgpreload_dhat-amd64-linux.so has a malloc(). */
static bool is_of_allocator(const struct allo_profile *profile, const struct allo_frame *frame)
{
	struct allo_line line = allo_call_line(profile, frame, 0);

	return frame->line_count == 1 &&
	       allo_is_allocator(name_of(profile, frame, 0), allo_line_file(profile, line));
}

static bool is_of_loader(const struct allo_profile *profile, const struct allo_frame *frame)
{
	struct allo_text name = allo_basename(module_of(profile, frame));

	return allo_text_starts(name, ALLO_TEXT("ld-linux")) ||
	       allo_text_starts(name, ALLO_TEXT("ld-musl-"));
}

/* The loader must be the outermost caller: a stack that is cut ends in libc, too. */
static bool is_of_c_library(const struct allo_profile *profile, allo_stack_id stack)
{
	const struct allo_frame *frame = NULL;

	for (unsigned depth = 0; stack != 0; stack = profile->stacks.at[stack].parent) {
		if (depth++ == DEPTH)
			return false;
		frame = &profile->frames.at[profile->stacks.at[stack].frame];
		if (keeps_memory(profile, frame))
			return true;
		if (!is_of_library(profile, frame) && !is_of_allocator(profile, frame))
			return false;
	}
	return frame && frame->module && is_of_loader(profile, frame);
}

static bool is_short(const struct allo_profile *profile, allo_stack_id stack)
{
	for (unsigned depth = 0; depth < DEPTH; depth++) {
		if (stack == 0)
			return true;
		stack = profile->stacks.at[stack].parent;
	}
	return false;
}

static bool is_of_rust_library(const struct allo_profile *profile, const struct allo_frame *frame,
			       uint32_t call)
{
	struct allo_line line = allo_call_line(profile, frame, call);

	return allo_known_function(name_of(profile, frame, call), allo_line_file(profile, line),
				   true)
		       .role > ALLO_ROLE_SCRIPT_LIBRARY;
}

/* Whether Rust's main thread began with this, before it called main(). */
static bool is_of_rust_start(const struct allo_profile *profile, allo_stack_id stack)
{
	if (!is_short(profile, stack))
		return false;
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame =
			&profile->frames.at[profile->stacks.at[stack].frame];

		for (uint32_t call = 0; call < frame->line_count; call++) {
			if (allo_text_starts(name_of(profile, frame, call),
					     ALLO_TEXT("std::rt::lang_start_internal")))
				return true;
			if (!is_of_rust_library(profile, frame, call))
				return false;
		}
	}
	return false;
}

bool allo_is_runtime_memory(const struct allo_profile *profile, allo_stack_id stack)
{
	return is_of_c_library(profile, stack) || is_of_rust_start(profile, stack);
}

struct allo_values allo_runtime_memory_sum(const struct allo_profile *profile,
					   const struct allo_metric_columns *columns)
{
	struct allo_values sum = { 0 };

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, columns, i);

		if ((values.value != 0 || values.blocks != 0) &&
		    allo_is_runtime_memory(profile, profile->sample_stacks.at[i]))
			allo_values_add(&sum, &values);
	}
	return sum;
}

bool allo_runtime_memory_drop(struct allo_profile *profile,
			      const struct allo_metric_columns *columns, struct allo_error *err)
{
	size_t count = allo_profile_sample_count(profile), dropped = 0;
	ALLO_DEFER(allo_free_pointer) bool *kept = calloc(count + 1, sizeof(*kept));

	if (!kept)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct allo_values values = allo_values_of(profile, columns, i);

		kept[i] = (values.value == 0 && values.blocks == 0) ||
			  !allo_is_runtime_memory(profile, profile->sample_stacks.at[i]);
		dropped += !kept[i];
	}
	if (dropped > 0)
		allo_profile_keep_samples(profile, kept);
	return true;
}
