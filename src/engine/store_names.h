/*
 * store_names.h - stores the names of its frames in a recording.
 */
#ifndef ALLO_ENGINE_STORE_NAMES_H
#define ALLO_ENGINE_STORE_NAMES_H

#include "base/io/output.h"
#include "engine/source.h"

struct allo_stored_frames {
	size_t all, named, with_line;
};

/* Finds the names of a recording's frames: stored ones, or those of programs and libraries. */
bool allo_find_names(struct allo_source *source, struct allo_profile *profile,
		     struct allo_error *err);

/* Writes the recording `path` with names to `target`, which may be the same file. */
bool allo_store_names(const char *path, const char *target,
		      const struct allo_source_options *options,
		      const struct allo_output_options *output, struct allo_stored_frames *stored,
		      struct allo_error *err);

#endif
