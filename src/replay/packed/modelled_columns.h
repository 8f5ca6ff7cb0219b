/*
 * modelled_columns.h - columns whose events are written by a model instead: see event_model.h.
 *
 * A recording is modelled from its first event on, or not at all.
 */
#ifndef ALLO_REPLAY_MODELLED_COLUMNS_H
#define ALLO_REPLAY_MODELLED_COLUMNS_H

#include "replay/packed/event_columns.h"

/* Whether a model is worth its time, by the first columns of a recording: those of which blocks end
 * are as good as random, and many. */
bool allo_event_columns_want_model(const struct allo_event_columns *columns, size_t stacks);

/* The model of a recording, and what it knows of the columns that it has seen. */
struct allo_column_modeller {
	struct allo_event_model *model;
	struct allo_column_state state;
	size_t threads;
};

bool allo_column_modeller_init(struct allo_column_modeller *modeller, size_t stacks, size_t threads,
			       struct allo_error *err);
void allo_column_modeller_done(struct allo_column_modeller *modeller);

/* Puts the model's bytes in place of the columns that it makes unnecessary.  Columns are to come in
 * their order.  False when memory is short. */
bool allo_event_columns_model(struct allo_event_columns *columns,
			      struct allo_column_modeller *modeller);

#endif
