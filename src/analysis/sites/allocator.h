/*
 * allocator.h - recognises allocation functions and their wrappers.
 */
#ifndef ALLO_ANALYSIS_ALLOCATOR_H
#define ALLO_ANALYSIS_ALLOCATOR_H

#include "profile/profile.h"

/* Whether a function belongs to an allocator: malloc, operator new, alloc::alloc::alloc, ...  The
 * file may be empty; some inlined functions are recognised by it. */
bool allo_is_allocator(struct allo_text function, struct allo_text file);

#endif
