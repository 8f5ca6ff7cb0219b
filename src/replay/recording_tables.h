/*
 * recording_tables.h - parts of opening a recording that recording.c is made of.
 */
#ifndef ALLO_REPLAY_RECORDING_TABLES_H
#define ALLO_REPLAY_RECORDING_TABLES_H

#include "replay/recording.h"

/* Takes what slot 0 holds, which may be cut. */
bool allo_recording_take_head(struct allo_recording *recording, struct allo_text bytes,
			      struct allo_error *err);

/* Reads the streams of stacks and of facts. */
bool allo_recording_read_tables(struct allo_recording *recording, struct allo_error *err);

/* Before they are read again. */
void allo_recording_drop_tables(struct allo_recording *recording);

#endif
