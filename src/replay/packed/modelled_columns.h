/*
 * modelled_columns.h - replaces columns by the output of a model: see event_model.h.
 *
 * Either all chunks of a recording are modelled or none.
 */
#ifndef ALLO_REPLAY_MODELLED_COLUMNS_H
#define ALLO_REPLAY_MODELLED_COLUMNS_H

#include "replay/packed/event_columns.h"

/* Decides by the first columns of a recording whether a model pays: many blocks end in nearly
 * random order. */
bool allo_event_columns_want_model(const struct allo_event_columns *columns, size_t stacks);

/* The model of a recording, and the state after the columns so far. */
struct allo_column_modeller {
	struct allo_event_model *model;
	struct allo_column_state state;
	size_t threads;
};

bool allo_column_modeller_init(struct allo_column_modeller *modeller, size_t stacks, size_t threads,
			       struct allo_error *err);
void allo_column_modeller_done(struct allo_column_modeller *modeller);

/* Replaces columns by the bytes of the model.  Call it for all chunks in order.  False when memory
 * is short. */
bool allo_event_columns_model(struct allo_event_columns *columns,
			      struct allo_column_modeller *modeller);

#endif
