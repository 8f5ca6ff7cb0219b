/*
 * allocator.h - functions that only pass an allocation on.
 */
#ifndef ALLO_ANALYSIS_ALLOCATOR_H
#define ALLO_ANALYSIS_ALLOCATOR_H

#include "profile/profile.h"

/* Whether a function of this name, in this file, is an allocator's: malloc, operator new,
 * alloc::alloc::alloc, ...  The file may be empty; inlined functions have little else to go by. */
bool allo_is_allocator(struct allo_text function, struct allo_text file);

#endif
