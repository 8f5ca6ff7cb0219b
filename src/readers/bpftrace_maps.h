/*
 * bpftrace_maps.h - the profile of bpftrace's maps whose keys have stacks in them.
 *
 * Each such map is a metric, which goes by its name.  The other keys of an entry are labels.
 */
#ifndef ALLO_READERS_BPFTRACE_MAPS_H
#define ALLO_READERS_BPFTRACE_MAPS_H

#include "base/text_ids.h"
#include "readers/reader.h"

/* A map. */
struct allo_bpftrace_map {
	allo_string_id name;
	bool has_stacks;
	size_t metric;      /* then */
	uint64_t unstacked; /* what entries had that may be of an empty stack, until it is known */
};

/* All zeros but for input, options and profile, to be initialised. */
struct allo_bpftrace_maps {
	struct allo_input *in;
	const struct allo_read_options *options;
	struct allo_profile *profile;
	const char *at; /* what is read, in the window of the input, for messages */

	/* Private from here on. */
	struct allo_stack_builder builder;
	struct allo_text_ids frame_ids; /* by their texts */
	ALLO_VEC(struct allo_bpftrace_map) maps;
	/* The entry at hand. */
	size_t map;
	bool has_stack, has_empty_key;
	ALLO_VEC(allo_frame_id) frames;     /* the innermost first */
	ALLO_VEC(struct allo_line) inlined; /* into the next frame, likewise */
	ALLO_VEC(struct allo_label) labels;
	size_t key_count; /* of those that are no stacks */
};

void allo_bpftrace_maps_init(struct allo_bpftrace_maps *maps);
void allo_bpftrace_maps_done(struct allo_bpftrace_maps *maps);

/* An entry of a map, "@name"; then its keys, in their order: scalars, and stacks frame by frame. */
bool allo_bpftrace_begin(struct allo_bpftrace_maps *maps, struct allo_text map,
			 struct allo_error *err);
bool allo_bpftrace_add_key(struct allo_bpftrace_maps *maps, struct allo_text key,
			   struct allo_error *err);
bool allo_bpftrace_add_frame(struct allo_bpftrace_maps *maps, struct allo_text line,
			     struct allo_error *err);

/* And its value. */
bool allo_bpftrace_end(struct allo_bpftrace_maps *maps, uint64_t value, struct allo_error *err);

#endif
