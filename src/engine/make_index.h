/*
 * make_index.h - stores an index in a packed recording: any window is then answered without a
 * replay, on any machine.
 */
#ifndef ALLO_ENGINE_MAKE_INDEX_H
#define ALLO_ENGINE_MAKE_INDEX_H

#include "base/io/input.h"

/* Replaces the recording `path` by one with an index.  `size` are the bytes that it takes in the
 * file.  Fails for recordings that are raw, damaged or cut.  `progress` may be NULL. */
bool allo_store_index(const char *path, const struct allo_progress *progress, uint64_t *size,
		      struct allo_error *err);

#endif
