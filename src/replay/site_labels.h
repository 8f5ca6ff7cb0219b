/*
 * site_labels.h - converts the labels of a site to labels of a profile.
 *
 * They are the labels that the program set, the thread, and the name of an event of the program.
 */
#ifndef ALLO_REPLAY_SITE_LABELS_H
#define ALLO_REPLAY_SITE_LABELS_H

#include "profile/profile.h"
#include "replay/sites.h"

/* Adds the labels of a site; 0 if it has none, and on failure.  With `by_thread` the thread is one
 * of them. */
allo_labels_id allo_site_labels_add(struct allo_profile *profile,
				    const struct allo_recording *recording,
				    const struct allo_site_key *key, bool by_thread,
				    struct allo_error *err);

/* Adds the labels of a set. */
allo_labels_id allo_set_labels_add(struct allo_profile *profile,
				   const struct allo_recording *recording, uint32_t set,
				   struct allo_error *err);

#endif
