/* followed_profile.c - see followed_profile.h. */
#include "engine/live/followed_profile.h"

#include "base/assert.h"
#include "telemetry/monotonic_clock.h"

#include <stdio.h>

void allo_followed_profile_stop(struct allo_followed_profile *followed)
{
	allo_follow_close(&followed->follow);
	followed->is_open = false;
}

static bool is_followed(const struct allo_followed_profile *followed, const char *file,
			uint64_t start_ns)
{
	return followed->is_open && start_ns == followed->start_ns &&
	       strcmp(file, followed->file) == 0;
}

/* Replays the new events, or all events of another recording. */
static bool catch_up(struct allo_followed_profile *followed, const char *file, uint64_t start_ns,
		     struct allo_error *err)
{
	if (is_followed(followed, file, start_ns))
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

/* The profile of the heap as it is now, or since the window began. */
static bool make_profile(struct allo_followed_profile *followed, const struct allo_replay *replay,
			 const struct allo_source_options *options, struct allo_profile *profile,
			 struct allo_error *err)
{
	profile->meta.format = allo_read_allo.name;
	profile->meta.has_addresses = allo_read_allo.has_addresses;
	if (!allo_profile_from_recording(profile, &followed->follow.recording, replay, NULL, err))
		return false;
	allo_set_moment(profile);
	return allo_add_names_once(&followed->names, options, profile, err);
}

bool allo_followed_profile_begin(struct allo_followed_profile *followed, const char *file,
				 uint64_t start_ns, struct allo_error *err)
{
	followed->begin_ns = allo_clock_ns();
	return catch_up(followed, file, start_ns, err) &&
	       allo_heap_keep_before(&followed->follow.heap, err);
}

bool allo_followed_profile_read_change(struct allo_followed_profile *followed,
				       const struct allo_source_options *options,
				       struct allo_profile *profile, struct allo_error *err)
{
	uint64_t start_ns = followed->start_ns, begin_ns = followed->begin_ns;
	const struct allo_replay replay = { .window.from_ns = begin_ns > start_ns
								      ? begin_ns - start_ns
								      : 1,
					    .at = ALLO_AT_CHANGE,
					    .heap = &followed->follow.heap };

	ALLO_ASSERT(followed->is_open && begin_ns > 0);
	if (!allo_follow_step(&followed->follow, err) ||
	    !make_profile(followed, &replay, options, profile, err))
		return false;
	/* The last event of an idle program may be older than the window. */
	profile->meta.duration = allo_clock_ns() - begin_ns;
	return true;
}

bool allo_followed_profile_read(struct allo_followed_profile *followed, const char *file,
				uint64_t start_ns, const struct allo_source_options *options,
				struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_replay replay = { .at = ALLO_AT_NOW, .heap = &followed->follow.heap };

	return catch_up(followed, file, start_ns, err) &&
	       make_profile(followed, &replay, options, profile, err);
}

bool allo_followed_profile_read_since(struct allo_followed_profile *followed, const char *file,
				      uint64_t start_ns, const struct allo_source_options *options,
				      struct allo_profile *profile, struct allo_error *err)
{
	const struct allo_replay replay = { .at = ALLO_AT_SINCE, .heap = &followed->follow.heap };
	bool has_start = is_followed(followed, file, start_ns);

	return catch_up(followed, file, start_ns, err) &&
	       (has_start || allo_heap_keep_before(&followed->follow.heap, err)) &&
	       make_profile(followed, &replay, options, profile, err) &&
	       allo_heap_keep_before(&followed->follow.heap, err);
}
