/* open_dataset.c - the log comes from the index, the cache, or a replay, which fills the cache. */
#include "engine/open_dataset.h"

#include "base/defer.h"
#include "engine/cache/facts_cache.h"

#include <stdlib.h>

static const struct allo_facts_store facts_store = { allo_facts_cache_load,
						     allo_facts_cache_store };

static bool build_log(struct allo_opened_file *file, struct allo_profile *profile,
		      allo_stack_id *stacks, struct allo_error *err)
{
	ALLO_DEFER(allo_host_end) struct allo_host_progress shown = { 0 };
	struct allo_source *source = &file->source;

	if (!allo_dataset_from_recording(
		    &file->dataset, profile, &source->recording, stacks,
		    allo_host_begin(&shown, source->options.host, "changes", "events"), err))
		return false;
	if (source->replay.use_cache)
		allo_cached_log_store(&file->dataset.log, &source->recording);
	return true;
}

/* Takes over the stacks. */
static bool open_recording(struct allo_opened_file *file, struct allo_profile *profile,
			   allo_stack_id *stacks, struct allo_error *err)
{
	struct allo_recording *recording = &file->source.recording;
	bool use_cache = file->source.replay.use_cache;

	file->dataset.facts_store = use_cache ? &facts_store : NULL;
	if (use_cache && allo_cached_log_get(&file->cached, recording, false, false, err))
		return allo_dataset_from_log(&file->dataset, profile, recording, stacks,
					     &file->cached.log, err);
	if (allo_failed(err)) {
		free(stacks);
		return false;
	}
	return build_log(file, profile, stacks, err);
}

bool allo_opened_file_open(struct allo_opened_file *file, const char *path,
			   const struct allo_source_options *options, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	allo_stack_id *stacks = NULL;
	struct allo_profile_request request = { .keep_accesses = true,
						.summary = &file->dataset.summary };

	file->dataset.name = path;
	if (!allo_source_open(&file->source, path, options, err))
		return false;
	if (file->source.is_recording)
		request.stacks = &stacks;
	if (!allo_source_profile(&file->source, &request, &profile, err)) {
		free(stacks);
		return false;
	}
	return file->source.is_recording ? open_recording(file, &profile, stacks, err)
					 : allo_dataset_from_profile(&file->dataset, &profile, err);
}

void allo_opened_file_close(struct allo_opened_file *file)
{
	allo_dataset_done(&file->dataset);
	allo_cached_log_done(&file->cached);
	allo_source_close(&file->source);
}
