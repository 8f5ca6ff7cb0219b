/*
 * built_in.h - records allocators that the program or its libraries contain: their functions jump
 * to our hooks (capture/patch/patch.h).
 *
 * Such a function is called inside its module, so no preloaded function comes before it.  One that
 * cannot be recorded is noted in the recording, and `allo run` is told.
 */
#ifndef ALLO_CAPTURE_BUILT_IN_H
#define ALLO_CAPTURE_BUILT_IN_H

#include "capture/hooks/built_in_functions.h"
#include "capture/stacks/modules.h"
#include "wire/layout.h"

/* A function that jumps to a hook. */
struct allo_built_in_entry {
	uint64_t (*original)(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
	const struct allo_built_in_function *function;
};

/* Looks for allocators in the program and the libraries that it starts with, and patches their
 * functions.  Call it in the constructor.  Weak: a build without hooks defines neither this
 * nor the next two. */
void allo_built_in_begin(void) __attribute__((weak, visibility("hidden")));

/* The same for a module that is first seen in a stack; notes the outcome in a stream of facts.  The
 * first one is the program: then the notes from before are written. One thread at a time. */
void allo_built_in_see_module(const struct allo_code_module *module, struct allo_wire_slot *tail)
	__attribute__((weak, visibility("hidden")));

/* From here on, a filter forbids the system calls that patching needs. */
void allo_built_in_forbid(void) __attribute__((weak, visibility("hidden")));

/* Notes that C++'s operators of the allocator with this malloc are not recorded. */
void allo_built_in_without_operators(uint64_t malloc_address);

/* The way to a function past its patch, if it leads to one; else the function. */
void *allo_built_in_past(void *function);

/* The hook for functions of a kind; its sixth argument is the entry. */
void *allo_built_in_hook(enum allo_built_in_kind kind);

#endif
