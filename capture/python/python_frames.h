/*
 * python_frames.h - the Python frames of a thread, and the functions and lines that they execute.
 *
 * CPython links its frames from the innermost one out.  The last walk is kept, and reused as
 * stack_cache.h reuses frames: never without reading again the words that it depended on.  These
 * are three per frame: its code object, its instruction and its caller.  The instruction is usually
 * an address inside of the code object, which it then tells.
 *
 * A thread may read its own frames with or without the GIL, because no other thread changes them.
 */
#ifndef ALLO_CAPTURE_PYTHON_FRAMES_H
#define ALLO_CAPTURE_PYTHON_FRAMES_H

#include "capture/python/python_code.h"
#include "capture/stacks/stack_intern.h"

enum {
	ALLO_PYTHON_SITES = 1 << 13,
	ALLO_PYTHON_PLACES = 256,
	ALLO_PYTHON_CODE_BUCKETS = 1 << 12,
};

struct allo_python_frame {
	uint64_t address, code, instruction, previous;
};

/* The function and the line that a frame executes. */
struct allo_python_site {
	uint32_t function; /* 0: unknown, or not of the program */
	uint32_t line;     /* ALLO_PYTHON_ENTRY without a function: see below */
};

/* The interpreter's own frame: it marks where C code called Python code. */
enum { ALLO_PYTHON_ENTRY = 1 };

static inline bool allo_python_is_entry(struct allo_python_site site)
{
	return site.function == 0 && site.line == ALLO_PYTHON_ENTRY;
}

/* The site of an instruction. */
struct allo_python_known_site {
	uint64_t code, instruction;
	struct allo_python_site site;
	uint32_t generation; /* of the code objects in the bucket of `code` */
};

/* The frames that were left to merge before one frame of the merged stack: see python_stacks.c. */
struct allo_python_mark {
	uint64_t hash; /* of all frames that were left */
	uint32_t natives, left;
	bool is_inside;
};

/* Lies in memory that a child made by fork finds zeroed. */
struct allo_python_thread {
	uint32_t generation; /* of all code objects, when the frames were read */
	uint32_t count;      /* frames; the outermost is 0 */
	size_t capacity;     /* of each array */
	struct allo_python_frame *frames, *fresh;
	struct allo_python_site *sites;
	uint64_t *hashes; /* of the stack up to each frame */
	uint32_t *groups; /* the outermost frame that the same call of the interpreter executes, if
			     it adds frames of its own */
	uint32_t where[ALLO_PYTHON_PLACES]; /* index of a frame, by a hash of its address */
	uint64_t valid_at;    /* ticks; set only in stacks deeper than ALLO_STACK_SHORT */
	uint32_t valid_count; /* number of outermost frames that were valid at `valid_at` */
	uint64_t spent;       /* the native stack's `spent`, at the same time */
	struct allo_stack_cache *native;
	struct allo_mixed_frame *mixed; /* the last merged stack, the outermost frame first */
	struct allo_python_mark *marks; /* of its frames */
	uint32_t mixed_count;
	size_t mixed_capacity;                /* of both arrays */
	struct allo_python_function function; /* the one that is being read */
	struct allo_python_known_site known_sites[ALLO_PYTHON_SITES];
	struct allo_intern_cache ids; /* of merged stacks */
};

/* Counts the code objects that were freed.  The frames depend on all, a site on its bucket. */
ALLO_HIDDEN extern uint32_t allo_python_generation;
ALLO_HIDDEN extern uint32_t allo_python_bucket_generations[ALLO_PYTHON_CODE_BUCKETS];

static inline unsigned allo_python_bucket(uint64_t code)
{
	return (unsigned)(code >> 6 ^ code >> 18) % ALLO_PYTHON_CODE_BUCKETS;
}

struct allo_thread_state;
struct allo_registers;

/* The id of the stack whose Python frames were just read, if the thread's cache does not have it.
 * `key` identifies it; `state` is that of CPython's thread. */
uint32_t allo_python_merge(struct allo_thread_state *thread, uint32_t native, uint64_t state,
			   uint64_t key, const struct allo_registers *caller);

/* Notes the time again if the stack is deep: see allo_stack_cache_note(). */
void allo_python_note(struct allo_python_thread *thread);

/* Enlarges an array, `array` points to its address. */
bool allo_python_array_grow(void *array, size_t item, size_t from, size_t to);

/* Forgets frames and sites, for another thread or another recording. */
void allo_python_thread_clear(struct allo_python_thread *thread);

#endif
