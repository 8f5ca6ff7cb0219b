/*
 * frame_names.h - names of frames, kept from one profile of a process to the next.
 *
 * Symbolizing reads ELF and DWARF.  A process that is asked for its heap again and again has the
 * same frames each time.
 */
#ifndef ALLO_ENGINE_FRAME_NAMES_H
#define ALLO_ENGINE_FRAME_NAMES_H

#include "profile/profile.h"

/* All zeros is empty, and ready for use. */
struct allo_frame_names {
	/* Private. */
	struct allo_profile known; /* frames with a module and an address, named or not */
	struct allo_map map;       /* of both */
};

void allo_frame_names_done(struct allo_frame_names *names);

/* Names the unnamed frames of `profile` that are known.  `is_complete` tells whether no frame is
 * left to look up. */
bool allo_frame_names_use(struct allo_frame_names *names, struct allo_profile *profile,
			  bool *is_complete, struct allo_error *err);

/* Keeps the frames of `profile`: those without a name too, since looking them up again finds
 * nothing. */
bool allo_frame_names_keep(struct allo_frame_names *names, const struct allo_profile *profile,
			   struct allo_error *err);

#endif
