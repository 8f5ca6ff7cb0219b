/*
 * special.h - blocks of recordings that do not just have each of them: sampled ones, statistics;
 * and those that the program tells of itself.
 */
#ifndef ALLO_CAPTURE_SPECIAL_H
#define ALLO_CAPTURE_SPECIAL_H

#include "capture/record.h"

/* Before a block is resized, which may be NULL, and after: `moved` is NULL if that has failed, or
 * if the size is 0. */
void allo_special_resize(struct allo_thread *thread, uint32_t heap, const void *block);
void allo_special_resized(struct allo_thread *thread, uint32_t heap, const void *moved, size_t size,
			  struct allo_hook_frame frame);

#endif
