/*
 * stored_index.h - an index in a packed recording, which answers windows without a replay.
 *
 * Its content is a change log (view/log/change_log_stored.h); this file knows its bytes only.  It
 * belongs to the events, stacks and facts that it was made from: names may be stored before or
 * after.
 */
#ifndef ALLO_REPLAY_STORED_INDEX_H
#define ALLO_REPLAY_STORED_INDEX_H

#include "base/io/output.h"
#include "replay/recording/recording.h"

typedef ALLO_VEC(char) allo_index_bytes;

static inline bool allo_recording_has_index(const struct allo_recording *recording)
{
	return recording->index_chunks.len > 0;
}

/* Bytes that the index takes in the file. */
uint64_t allo_stored_index_size(const struct allo_recording *recording);

/* Loads the content.  False if there is none, if it is damaged, of another version or of another
 * recording, or if memory is short (see err). */
bool allo_stored_index_load(struct allo_recording *recording, uint32_t version,
			    allo_index_bytes *content, struct allo_error *err);

/* Writes a packed recording with an index in place of the one it may have; both paths may be the
 * same file. */
bool allo_recording_store_index(struct allo_recording *recording, const char *out_path,
				const struct allo_output_options *output, uint32_t version,
				struct allo_text content, struct allo_error *err);

#endif
