/*
 * frame_texts.h - frames by the text that they have in a file.
 *
 * Files repeat the same few thousand texts millions of times: each is taken apart once.  Texts are
 * known by their hashes and not kept.
 */
#ifndef ALLO_READERS_FRAME_TEXTS_H
#define ALLO_READERS_FRAME_TEXTS_H

#include "profile/profile.h"

/* A text, known by its hash, of which the map has one half. */
struct allo_frame_text {
	uint64_t hash;
	allo_frame_id frame;
};

/* To be initialised. */
struct allo_frame_texts {
	struct allo_hasher hasher;
	struct allo_map map; /* indices of `texts` + 1 */
	ALLO_VEC(struct allo_frame_text) texts;
};

static inline void allo_frame_texts_init(struct allo_frame_texts *texts)
{
	*texts = (struct allo_frame_texts){ 0 };
	allo_hasher_init(&texts->hasher);
}

void allo_frame_texts_done(struct allo_frame_texts *texts);

static inline struct allo_hash128 allo_frame_texts_hash(const struct allo_frame_texts *texts,
							struct allo_text text)
{
	return allo_hasher_hash(&texts->hasher, text.data, text.len);
}

/* The frame of a text with this hash; 0 when it is new. */
static inline allo_frame_id allo_frame_texts_find(const struct allo_frame_texts *texts,
						  struct allo_hash128 hash)
{
	struct allo_probe probe = allo_map_probe(&texts->map, hash.high);
	uint32_t number;

	while ((number = allo_map_next(&texts->map, &probe)) != 0) {
		if (texts->texts.at[number - 1].hash == hash.low)
			return texts->texts.at[number - 1].frame;
	}
	return 0;
}

/* Remembers the frame of a new text; false when memory is short. */
bool allo_frame_texts_put(struct allo_frame_texts *texts, struct allo_hash128 hash,
			  allo_frame_id frame);

#endif
