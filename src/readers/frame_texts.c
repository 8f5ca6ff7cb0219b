/* frame_texts.c - see frame_texts.h. */
#include "readers/frame_texts.h"

void allo_frame_texts_done(struct allo_frame_texts *texts)
{
	allo_map_done(&texts->map);
	allo_vec_done(&texts->texts);
}

bool allo_frame_texts_put(struct allo_frame_texts *texts, struct allo_hash128 hash,
			  allo_frame_id frame)
{
	struct allo_frame_text known = { hash.low, frame };

	return allo_vec_append(&texts->texts, &known, 1) &&
	       allo_map_put(&texts->map, hash.high, (uint32_t)texts->texts.len);
}
