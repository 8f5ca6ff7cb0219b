#include "engine/open_dataset.h"

#include "base/defer.h"

#include <stdlib.h>

static bool open_recording(struct allo_opened_file *file, struct allo_profile *profile,
			   allo_stack_id *stacks, struct allo_error *err)
{
	ALLO_DEFER(allo_host_end) struct allo_host_progress shown = { 0 };

	return allo_dataset_from_recording(
		&file->dataset, profile, &file->source.recording, stacks,
		allo_host_begin(&shown, file->source.options.host, "changes", "events"), err);
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
	allo_source_close(&file->source);
}
