/* metadata_stream.c - see metadata_stream.h. */
#include "capture/metadata_stream.h"
#include "capture/recorder.h"

enum { FACT_HEAD = 3 };

uint8_t *allo_metadata_begin(struct allo_wire_slot *tail)
{
	if (tail->used + FACT_HEAD + ALLO_METADATA_MAX > ALLO_SLOT_ROOM &&
	    !allo_tail_seal(tail, 0, 0))
		return NULL;
	return (uint8_t *)(tail + 1) + tail->used + FACT_HEAD;
}

void allo_metadata_end(struct allo_wire_slot *tail, enum allo_fact fact, const uint8_t *end)
{
	uint8_t *start = (uint8_t *)(tail + 1) + tail->used;
	size_t len = (size_t)(end - start) - FACT_HEAD;

	start[0] = (uint8_t)fact;
	/* A varint of two bytes even where one would do: it was written behind what it counts. */
	start[1] = (uint8_t)(len | 0x80);
	start[2] = (uint8_t)(len >> 7);
	__atomic_store_n(&tail->used, tail->used + (uint32_t)(FACT_HEAD + len), __ATOMIC_RELEASE);
}
