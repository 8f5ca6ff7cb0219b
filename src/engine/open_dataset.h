/*
 * open_dataset.h - opens a file for the requests of a page (view/ask.h), with names and cached
 * replays.
 */
#ifndef ALLO_ENGINE_OPEN_DATASET_H
#define ALLO_ENGINE_OPEN_DATASET_H

#include "engine/cache/log_cache.h"
#include "engine/source.h"
#include "view/dataset.h"

/* All zeros: nothing to close.  It must not move while it is open. */
struct allo_opened_file {
	struct allo_source source; /* of a recording */
	struct allo_dataset dataset;
	struct allo_cached_log cached; /* the bytes that the log refers to */
};

bool allo_opened_file_open(struct allo_opened_file *file, const char *path,
			   const struct allo_source_options *options, struct allo_error *err);

void allo_opened_file_close(struct allo_opened_file *file);

#endif
