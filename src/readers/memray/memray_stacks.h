/*
 * memray_stacks.h - the Python stacks of threads in a memray recording.
 *
 * A file pushes and pops frames, each an instruction of a code object.  Most of them never
 * allocate, so stacks are added to the profile only when an allocation asks for them.
 */
#ifndef ALLO_READERS_MEMRAY_STACKS_H
#define ALLO_READERS_MEMRAY_STACKS_H

#include "profile/profile.h"

/* CPython's version, as in PY_VERSION_HEX: the encoding of lines depends on it. */
enum { ALLO_MEMRAY_PYTHON_3_10 = 0x030a0000, ALLO_MEMRAY_PYTHON_3_11 = 0x030b0000 };

struct allo_memray_code {
	uint64_t id; /* in the file */
	allo_function_id function;
	uint32_t first_line;
	struct allo_text lines; /* CPython's table, in the arena */
};

/* An instruction that was seen. */
struct allo_memray_place {
	uint32_t code;
	int64_t offset;
	allo_frame_id frame;
};

struct allo_memray_level {
	allo_frame_id frame;
	allo_stack_id stack; /* 0: not yet in the profile */
};

struct allo_memray_thread {
	uint64_t id;
	uint64_t skipped; /* outermost frames that are not the program's */
	uint64_t depth;   /* with the skipped ones */
	ALLO_VEC(struct allo_memray_level) levels;
};

/* All zeros is empty, but for the profile. */
struct allo_memray_stacks {
	struct allo_profile *profile;
	uint64_t python; /* version */

	/* Private from here on. */
	struct allo_arena arena;
	ALLO_VEC(struct allo_memray_code) codes; /* these two have no entry 0 */
	ALLO_VEC(struct allo_memray_place) places;
	ALLO_VEC(struct allo_memray_thread) threads;
	uint64_t line_bytes; /* of tables that were searched for lines */
	struct allo_map code_map, place_map, thread_map; /* by id; ids count from 1 */
};

/* Adds a function; false when memory is short. */
bool allo_memray_add_code(struct allo_memray_stacks *stacks, uint64_t id, struct allo_text name,
			  struct allo_text file, uint32_t first_line, struct allo_text lines,
			  struct allo_error *err);

/* The frame of an instruction; 0 on failure, and, without one, for an unknown function. */
allo_frame_id allo_memray_frame(struct allo_memray_stacks *stacks, uint64_t code, int64_t offset,
				struct allo_error *err);

/* The index of a thread, which is added if it is new; UINT32_MAX on failure. */
uint32_t allo_memray_thread(struct allo_memray_stacks *stacks, uint64_t id, struct allo_error *err);

bool allo_memray_push(struct allo_memray_stacks *stacks, uint32_t thread, allo_frame_id frame,
		      struct allo_error *err);

/* False if the thread has fewer frames. */
bool allo_memray_pop(struct allo_memray_stacks *stacks, uint32_t thread, uint64_t count);

/* The current stack of a thread in the profile; 0 if it is empty, and on failure. */
allo_stack_id allo_memray_stack(struct allo_memray_stacks *stacks, uint32_t thread,
				struct allo_error *err);

void allo_memray_stacks_done(struct allo_memray_stacks *stacks);

#endif
