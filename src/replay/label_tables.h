/*
 * label_tables.h - a part of opening a recording: the texts and the sets of labels that a program's
 * notes refer to.
 *
 * Facts may lack, come twice, or come in any order: of two with the same number the first counts,
 * and what is not there is no label.
 */
#ifndef ALLO_REPLAY_LABEL_TABLES_H
#define ALLO_REPLAY_LABEL_TABLES_H

#include "replay/recording.h"

/* What the facts TEXT and LABELS hold; false where they are damaged, and at failure. */
bool allo_label_tables_add_text(struct allo_recording *recording, const uint8_t *at,
				const uint8_t *end, struct allo_error *err);
bool allo_label_tables_add_set(struct allo_recording *recording, const uint8_t *at,
			       const uint8_t *end, struct allo_error *err);

/* To be called behind the last fact: finds out which labels each set has, and which are equal. */
bool allo_label_tables_end(struct allo_recording *recording, struct allo_error *err);

#endif
