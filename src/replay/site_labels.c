#include "replay/site_labels.h"

typedef ALLO_VEC(struct allo_label) label_list;

static bool add_label(struct allo_profile *profile, label_list *list, struct allo_text key,
		      struct allo_label label, struct allo_error *err)
{
	label.key = allo_profile_add_string(profile, key, err);
	return !allo_failed(err) && (allo_vec_append(list, &label, 1) || allo_fail_memory(err));
}

static bool add_text(struct allo_profile *profile, label_list *list, struct allo_text key,
		     struct allo_text value, struct allo_error *err)
{
	struct allo_label label = { .text = allo_profile_add_string(profile, value, err) };

	return add_label(profile, list, key, label, err);
}

/* The number of a thread, and its name if it has one. */
static bool add_thread(struct allo_profile *profile, label_list *list,
		       const struct allo_stream *stream, struct allo_error *err)
{
	struct allo_label number = { .number = stream->thread, .is_number = true };

	return add_label(profile, list, ALLO_TEXT("thread"), number, err) &&
	       (stream->name.len == 0 ||
		add_text(profile, list, ALLO_TEXT("thread name"), stream->name, err));
}

/* The labels that the program set.  The name of an event overrides a label with the key "event". */
static bool add_set(struct allo_profile *profile, label_list *list,
		    const struct allo_recording *recording, uint32_t number, bool has_event,
		    struct allo_error *err)
{
	const struct allo_noted_set *set;

	if (number == 0)
		return true;
	set = &recording->label_sets.at[number];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct allo_noted_label *label = &recording->labels.at[set->first + i];
		struct allo_text key = allo_recording_text(recording, label->key);

		if (has_event && allo_text_equal(key, ALLO_TEXT("event")))
			continue;
		if (!add_text(profile, list, key, allo_recording_text(recording, label->value),
			      err))
			return false;
	}
	return true;
}

allo_labels_id allo_site_labels_add(struct allo_profile *profile,
				    const struct allo_recording *recording,
				    const struct allo_site_key *key, bool by_thread,
				    struct allo_error *err)
{
	label_list list = { 0 };
	allo_labels_id id = 0;

	if ((!by_thread || key->stream == ALLO_UNKNOWN_STREAM ||
	     add_thread(profile, &list, &recording->streams.at[key->stream], err)) &&
	    add_set(profile, &list, recording, key->labels, key->name != 0, err) &&
	    (key->name == 0 || add_text(profile, &list, ALLO_TEXT("event"),
					allo_recording_text(recording, key->name), err)) &&
	    list.len > 0)
		id = allo_profile_add_labels(profile, list.at, list.len, err);
	allo_vec_done(&list);
	return id;
}

allo_labels_id allo_set_labels_add(struct allo_profile *profile,
				   const struct allo_recording *recording, uint32_t set,
				   struct allo_error *err)
{
	return allo_site_labels_add(profile, recording, &(struct allo_site_key){ .labels = set },
				    false, err);
}
