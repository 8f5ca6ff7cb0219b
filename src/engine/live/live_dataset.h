/*
 * live_dataset.h - the recording of a running process, opened for the requests of a page.
 *
 * A step adds the new events to the change log; its cost depends on them, and on the number of
 * stacks if there are new ones.  Between two steps nothing changes, so all replies are about the
 * same moment.  Calls keep their numbers, unless the generation of the dataset changes.
 */
#ifndef ALLO_ENGINE_LIVE_DATASET_H
#define ALLO_ENGINE_LIVE_DATASET_H

#include "engine/live/frame_names.h"
#include "engine/source.h"
#include "replay/follow.h"
#include "view/dataset.h"

#include <limits.h>

/* All zeros: nothing is open.  Must not move. */
struct allo_live_dataset {
	struct allo_dataset dataset;
	bool is_open;

	/* Private. */
	char file[PATH_MAX]; /* the recording, */
	uint64_t start_ns;   /* and its start: a process may record to the same file again */
	/* A descriptor of it, plus 1, and a path that leads there: 'allo run' replaces the file
	 * when the process ends. */
	int fd;
	char path[32];
	struct allo_recording recording;
	struct allo_events events;
	struct allo_log_builder *builder;
	struct allo_frame_names names;
	/* The state of the recording that the profile shows. */
	struct allo_live_shape {
		size_t nodes, modules, sites, site_numbers, outside_marks;
		bool has_labels, has_own_events, is_growing;
	} shape;
	size_t frames; /* of the profile, without those that filters add */
};

/* Adds the events of the recording `file`, which began at `start_ns`, up to now.  If it is another
 * one than before, it takes the place of that. */
bool allo_live_dataset_step(struct allo_live_dataset *live, const char *file, uint64_t start_ns,
			    const struct allo_source_options *options, struct allo_error *err);

/* Reads the recording of a process that has ended for the last time, from its start. */
bool allo_live_dataset_end(struct allo_live_dataset *live,
			   const struct allo_source_options *options, struct allo_error *err);

#endif
