/* dhat_frames.c - see dhat_frames.h. */
#include "readers/dhat_frames.h"

#include "base/utf8.h"

void allo_dhat_frames_done(struct allo_dhat_frames *frames)
{
	allo_valgrind_stacks_done(&frames->stacks);
	*frames = (struct allo_dhat_frames){ 0 };
}

/* Where the string that has been read last starts, or ends if it had to be copied. */
static struct allo_pos pos_of(const struct allo_json *json, struct allo_text text)
{
	return allo_input_pos_at(json->in,
				 text.data == json->string.at ? json->in->next : text.data);
}

/* Places cost counting lines: only the first of a kind is looked up. */
static void note(struct allo_dhat_frames *frames, enum allo_note kind, struct allo_text text,
		 const struct allo_json *json, struct allo_profile *profile)
{
	bool is_first = profile->notes.of[kind].count == 0;

	if (is_first)
		frames->first_noted[kind] = (uint32_t)frames->stacks.entries.len + 1;
	allo_note(&profile->notes, kind, is_first ? pos_of(json, text) : ALLO_NOWHERE);
}

static bool add_entry(struct allo_dhat_frames *frames, struct allo_text text,
		      const struct allo_json *json, struct allo_profile *profile,
		      struct allo_error *err)
{
	struct allo_valgrind_frame parsed;

	/* Entry 0 is "[root]" and stands for no frame. */
	if (!allo_valgrind_frame_parse(text, &parsed) && frames->stacks.entries.len > 0)
		note(frames, ALLO_NOTE_ODD_FRAME, text, json, profile);
	if (!allo_utf8_is_valid(text))
		note(frames, ALLO_NOTE_BAD_UTF8, text, json, profile);
	return allo_valgrind_stacks_add(&frames->stacks, &parsed, profile, err);
}

bool allo_dhat_frames_read(struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err)
{
	struct allo_text text;

	if (!allo_json_begin(json, '[', err))
		return false;
	while (allo_json_item(json, err)) {
		if (!allo_json_string(json, &text, err) ||
		    !add_entry(frames, text, json, profile, err))
			return false;
	}
	return !allo_failed(err);
}

bool allo_dhat_frames_skip(const struct allo_dhat_frames *frames, struct allo_json *json,
			   struct allo_profile *profile, struct allo_error *err)
{
	struct allo_text text;

	if (!allo_json_begin(json, '[', err))
		return false;
	for (uint32_t number = 1; allo_json_item(json, err); number++) {
		if (!allo_json_string(json, &text, err))
			return false;
		for (int kind = 0; kind < ALLO_NOTES; kind++) {
			if (frames->first_noted[kind] == number)
				profile->notes.of[kind].first = pos_of(json, text);
		}
	}
	return !allo_failed(err);
}
