/* dhat_frames.c - see dhat_frames.h. */
#include "readers/dhat_frames.h"

#include "base/utf8.h"

/* Places cost counting lines: only the first of a kind is looked up. */
static void note(struct allo_profile *profile, enum allo_note kind, const struct allo_json *json)
{
	allo_note(&profile->notes, kind,
		  profile->notes.of[kind].count == 0 ? allo_input_pos(json->in) : ALLO_NOWHERE);
}

static bool add_entry(struct allo_valgrind_stacks *stacks, struct allo_text text,
		      const struct allo_json *json, struct allo_profile *profile,
		      struct allo_error *err)
{
	struct allo_valgrind_frame parsed;

	/* Entry 0 is "[root]" and stands for no frame. */
	if (!allo_valgrind_frame_parse(text, &parsed) && stacks->entries.len > 0)
		note(profile, ALLO_NOTE_ODD_FRAME, json);
	if (!allo_utf8_is_valid(text))
		note(profile, ALLO_NOTE_BAD_UTF8, json);
	return allo_valgrind_stacks_add(stacks, &parsed, profile, err);
}

bool allo_dhat_frames_read(struct allo_valgrind_stacks *stacks, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err)
{
	struct allo_text text;

	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		if (!allo_json_string(json, &text, err) ||
		    !add_entry(stacks, text, json, profile, err))
			return false;
	}
	return !allo_failed(err);
}
