/*
 * site_labels.h - the labels of a site, in terms of a profile: those that the program gave, the
 * thread, and the name of an event of the program's own.
 */
#ifndef ALLO_REPLAY_SITE_LABELS_H
#define ALLO_REPLAY_SITE_LABELS_H

#include "profile/profile.h"
#include "replay/site_ids.h"

/* Adds the labels of a site; 0 where it has none, and at failure.  `by_thread`: the thread is one
 * of them. */
allo_labels_id allo_site_labels_add(struct allo_profile *profile,
				    const struct allo_recording *recording,
				    const struct allo_site_key *key, bool by_thread,
				    struct allo_error *err);

/* Adds those of a set alone. */
allo_labels_id allo_set_labels_add(struct allo_profile *profile,
				   const struct allo_recording *recording, uint32_t set,
				   struct allo_error *err);

#endif
