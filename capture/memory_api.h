/*
 * memory_api.h - what only the process itself knows of its memory.
 */
#ifndef ALLO_CAPTURE_MEMORY_API_H
#define ALLO_CAPTURE_MEMORY_API_H

#include "wire/control_message.h"

/* Adds it to an answer: the figures of the allocator, of the heap and of this runtime, by their
 * names in JSON ("heap.live_bytes"), and why some are missing ("allocator.why").  For a thread that
 * libc does not know. */
void allo_memory_answer(struct allo_message *answer);

#endif
