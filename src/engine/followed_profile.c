/* followed_profile.c - see followed_profile.h. */
#include "engine/followed_profile.h"

#include <stdio.h>

void allo_followed_profile_stop(struct allo_followed_profile *followed)
{
	allo_follow_close(&followed->follow);
	followed->is_open = false;
}

/* Replays the new events, or all events of another recording. */
static bool catch_up(struct allo_followed_profile *followed, const char *file, uint64_t start_ns,
		     struct allo_error *err)
{
	if (followed->is_open && start_ns == followed->start_ns &&
	    strcmp(file, followed->file) == 0)
		return allo_follow_step(&followed->follow, err);
	allo_followed_profile_stop(followed);
	followed->start_ns = start_ns;
	snprintf(followed->file, sizeof(followed->file), "%s", file);
	followed->follow.by_labels = true;
	followed->is_open = allo_follow_open(&followed->follow, file, NULL, err);
	return followed->is_open;
}

bool allo_add_names_once(struct allo_frame_names *names, const struct allo_source_options *options,
			 struct allo_profile *profile, struct allo_error *err)
{
	bool is_complete;

	return options->no_symbols ||
	       (allo_frame_names_use(names, profile, &is_complete, err) &&
		(is_complete || (allo_add_names(options, profile, NULL, err) &&
				 allo_frame_names_keep(names, profile, err))));
}

bool allo_followed_profile_read(struct allo_followed_profile *followed, const char *file,
				uint64_t start_ns, const struct allo_source_options *options,
				struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_replay replay = { .at = ALLO_AT_NOW, .heap = &followed->follow.heap };

	profile->meta.format = allo_read_allo.name;
	profile->meta.has_addresses = allo_read_allo.has_addresses;
	return catch_up(followed, file, start_ns, err) &&
	       allo_profile_from_recording(profile, &followed->follow.recording, &replay, NULL,
					   err) &&
	       allo_add_names_once(&followed->names, options, profile, err);
}
