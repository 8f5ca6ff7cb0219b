#include "engine/make_index.h"

#include "base/defer.h"
#include "engine/cache/log_cache.h"
#include "replay/packed/stored_index.h"
#include "view/log/change_log_stored.h"

enum { LEVEL = 12 }; /* of zstd: indexes are written once and sent around */

static bool check(const struct allo_recording *recording, struct allo_error *err)
{
	const struct allo_pos file = { .file = recording->name };

	if (!recording->is_packed) {
		allo_fail(err, ALLO_USAGE, file, "is raw; only packed recordings have an index");
		return allo_hint(err, "'allo symbolize --index' packs it");
	}
	if (!recording->stored_summary)
		return allo_fail(err, ALLO_FORMAT, file,
				 "is cut; only complete recordings have an index");
	return true;
}

/* Damage shows when the events are read. */
static bool make(struct allo_recording *recording, const struct allo_progress *progress,
		 allo_cache_bytes *bytes, struct allo_error *err)
{
	ALLO_DEFER(allo_change_log_done) struct allo_change_log log = { 0 };
	const struct allo_gaps *gaps = &recording->gaps;
	const struct allo_pos file = { .file = recording->name };

	if (!allo_change_log_build(&log, recording, progress, err))
		return false;
	if (gaps->damaged_pages > 0 || gaps->unread_pages > 0)
		return allo_fail(err, ALLO_FORMAT, file,
				 "is damaged; only complete recordings have an index");
	return allo_change_log_store(&log, LEVEL, bytes) ||
	       allo_fail(err, ALLO_LIMIT, file, "is too large for an index");
}

bool allo_store_index(const char *path, const struct allo_progress *progress, uint64_t *size,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 }, written = { 0 };
	const struct allo_output_options output = { .replace = true };
	allo_cache_bytes bytes = { 0 };
	bool ok = allo_recording_open_file(&recording, path, NULL, err) && check(&recording, err) &&
		  make(&recording, progress, &bytes, err) &&
		  allo_recording_store_index(&recording, path, &output, ALLO_LOG_VERSION,
					     (struct allo_text){ bytes.at, bytes.len }, err);

	allo_vec_done(&bytes);
	if (!ok || !allo_recording_open_file(&written, path, NULL, err))
		return false;
	*size = allo_stored_index_size(&written);
	return true;
}
