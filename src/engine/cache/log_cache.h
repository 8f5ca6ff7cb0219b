/*
 * log_cache.h - change logs of recordings, kept in files so that a window is not replayed.
 *
 * The files are beside the heaps of whole recordings (replay/heap_cache.h), under the same
 * conditions: a file belongs to one packed recording of at least a million events, and is used only
 * if that is unchanged.  It is checked like any input.  A recording with an index needs no file.
 */
#ifndef ALLO_ENGINE_LOG_CACHE_H
#define ALLO_ENGINE_LOG_CACHE_H

#include "base/io/cache_file.h"
#include "view/log/change_log.h"

/* A log, and the bytes that it refers to.  All zeros is empty. */
struct allo_cached_log {
	struct allo_change_log log;
	allo_cache_bytes bytes;
};

void allo_cached_log_done(struct allo_cached_log *cached);

/* Gets the log from the recording's index, from the cache or, if `may_build`, builds it and stores
 * it.  False if the recording cannot be cached, if the log would not be exact, or on failure (see
 * err). */
bool allo_cached_log_get(struct allo_cached_log *cached, struct allo_recording *recording,
			 bool keeps_first, bool may_build, struct allo_error *err);

/* Stores a log that was built elsewhere.  Failures are ignored. */
void allo_cached_log_store(const struct allo_change_log *log,
			   const struct allo_recording *recording);

/* The bytes of a log, which allo_change_log_read() takes.  `level` is zstd's.  False when memory is
 * short. */
bool allo_change_log_store(const struct allo_change_log *log, int level, allo_cache_bytes *bytes);

#endif
