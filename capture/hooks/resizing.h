/*
 * resizing.h - records a realloc in all modes: before and after the real call.
 */
#ifndef ALLO_CAPTURE_RESIZING_H
#define ALLO_CAPTURE_RESIZING_H

#include "capture/modes.h"

/* `pointer` may be NULL. */
static inline void allo_resize_begin(struct allo_thread_state *thread, void *pointer)
{
	if (allo_settings.is_filtered)
		allo_filtered_resize(thread, 0, pointer);
	else if (pointer)
		allo_record_resize(thread, pointer);
}

/* `moved` is NULL if the resize failed or the size is 0. */
static inline void allo_resize_end(struct allo_thread_state *thread, const void *pointer,
				   void *moved, size_t size, struct allo_hook_frame frame)
{
	if (allo_settings.is_filtered)
		allo_filtered_resized(thread, 0, moved, size, frame);
	else if (moved && size >= allo_settings.malloc_size)
		allo_record_alloc(thread, moved, size, frame);
	else if (pointer) /* freed by a size of 0, or below the least size to record */
		allo_record_outcome(thread,
				    moved || size == 0 ? ALLO_ESCAPE_GONE : ALLO_ESCAPE_FAILED);
}

#endif
