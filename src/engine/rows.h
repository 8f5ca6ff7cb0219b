/*
 * rows.h - the individual allocations of a source, each with its whole life.
 */
#ifndef ALLO_ENGINE_ROWS_H
#define ALLO_ENGINE_ROWS_H

#include "engine/source.h"
#include "profile/allocation.h"

/* Whether the source holds individual allocations and can give those of its view. */
bool allo_source_has_rows(const struct allo_source *source);

/* Reads the profile, hands it to the sink, then hands on all rows of the view.  Memory grows with
 * the blocks that are live at once.  `profile` is empty and stays as long as the sink needs it.  A
 * recording has no stacks afterwards. */
bool allo_source_rows(struct allo_source *source, const struct allo_allocation_sink *sink,
		      struct allo_profile *profile, struct allo_error *err);

/* Adds the rows of a recording to its profile, as changes over time.  `stacks` has the profile's
 * stack for each node of the recording. */
bool allo_source_add_changes(struct allo_source *source, const allo_stack_id *stacks,
			     struct allo_profile *profile, struct allo_error *err);

#endif
