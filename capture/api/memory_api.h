/*
 * memory_api.h - memory numbers that only the process itself knows, for other processes.
 */
#ifndef ALLO_CAPTURE_MEMORY_API_H
#define ALLO_CAPTURE_MEMORY_API_H

#include "wire/control_message.h"

/* Adds the numbers of the allocator, the heap and this runtime to an answer, by their names in JSON
 * ("heap.live_bytes"), and the reasons for missing ones ("allocator.why").  Only the control thread
 * calls this. */
void allo_memory_answer(struct allo_message *answer);

#endif
