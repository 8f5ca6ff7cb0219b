/*
 * heap_listing.h - a heap as lines of text, as gperftools and Go have them.
 *
 *     heap profile: 42: 53888 [2506: 5121536] @ heapprofile
 *     19: 26752 [162: 228096] @ 0x4b3f96 0x4b4253       live, ever allocated, and the stack
 *     #	0x4b3f95	churn	main.c:33
 *
 * Addresses of the second line are those that calls return to.
 */
#ifndef ALLO_SERVE_HEAP_LISTING_H
#define ALLO_SERVE_HEAP_LISTING_H

#include "base/output.h"
#include "profile/profile.h"

#include <sys/types.h>

/* The largest come first.  With names, each stack has a line for each of its frames. */
void allo_heap_listing_put(struct allo_output *out, const struct allo_profile *profile,
			   bool has_names);

/* What is mapped where in the process, if that can be seen. */
void allo_heap_listing_put_maps(struct allo_output *out, pid_t pid);

#endif
