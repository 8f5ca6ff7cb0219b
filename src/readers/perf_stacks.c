/* perf_stacks.c - see perf_stacks.h. */
#include "readers/perf_stacks.h"

#include "base/utf8.h"
#include "profile/naming.h"
#include "readers/perf_lines.h"
#include "readers/symbol_function.h"

enum { TEXTS_MOST = 1 << 20 }; /* of stacks or frames that are remembered */

void allo_perf_stacks_init(struct allo_perf_stacks *stacks, struct allo_input *in,
			   const struct allo_read_options *options, struct allo_profile *profile)
{
	*stacks = (struct allo_perf_stacks){ .in = in, .options = options, .profile = profile };
	allo_text_ids_init(&stacks->stack_ids);
	allo_text_ids_init(&stacks->frame_ids);
}

void allo_perf_stacks_done(struct allo_perf_stacks *stacks)
{
	allo_stack_builder_done(&stacks->builder);
	allo_text_ids_done(&stacks->stack_ids);
	allo_text_ids_done(&stacks->frame_ids);
	allo_vec_done(&stacks->stack);
	allo_vec_done(&stacks->lines);
	allo_vec_done(&stacks->name);
}

/* A place costs counting the lines before it: only the first is looked up. */
static void note_bad_utf8(struct allo_perf_stacks *stacks, struct allo_text name)
{
	struct allo_notes *notes = &stacks->profile->notes;
	bool is_first = notes->of[ALLO_NOTE_BAD_UTF8].count == 0;

	allo_note(notes, ALLO_NOTE_BAD_UTF8,
		  is_first ? allo_input_pos_at(stacks->in, name.data) : ALLO_NOWHERE);
}

/* Frames. */

/* A call, as far as it has been read. */
struct call {
	struct allo_perf_frame frame;
	struct allo_text file;
	uint32_t line;
};

/* What stands for a symbol that is not known: "[libc.so.6]". */
static allo_function_id unknown_function(struct allo_perf_stacks *stacks, struct allo_text object,
					 struct allo_error *err)
{
	struct allo_text file = allo_basename(object);

	if (file.len == 0)
		file = ALLO_TEXT("[unknown]");
	stacks->name.len = 0;
	if (!allo_vec_append(&stacks->name, "[", 1) ||
	    !allo_vec_append(&stacks->name, file.data, file.len) ||
	    !allo_vec_append(&stacks->name, "]", 1)) {
		allo_fail_memory(err);
		return 0;
	}
	if (file.data[0] != '[')
		file = (struct allo_text){ stacks->name.at, stacks->name.len };
	return allo_symbol_function(stacks->profile, NULL, file, (struct allo_text){ 0 }, err);
}

static bool add_call(struct allo_perf_stacks *stacks, const struct call *call,
		     struct allo_error *err)
{
	struct allo_text symbol = call->frame.symbol;
	struct allo_line line = { .line = call->line };

	if (!allo_utf8_is_valid(symbol))
		note_bad_utf8(stacks, symbol);
	line.function = symbol.len > 0 ? allo_symbol_function(stacks->profile,
							      stacks->options->trace.namer, symbol,
							      call->file, err)
				       : unknown_function(stacks, call->frame.object, err);
	return line.function != 0 &&
	       (allo_vec_append(&stacks->lines, &line, 1) || allo_fail_memory(err));
}

/* A frame with the calls that are inlined into it, which come before it, and with places in the
 * source. */
static allo_frame_id make_frame(struct allo_perf_stacks *stacks, struct allo_text text,
				struct allo_error *err)
{
	struct allo_frame frame = { 0 };
	struct allo_module module = { 0 };
	struct allo_text line;
	struct call call = { 0 };
	bool has_call = false;

	stacks->lines.len = 0;
	while (allo_text_next(&text, '\n', &line)) {
		/* One on the same line as its sample has no space in front. */
		if (!has_call || allo_perf_is_frame(line)) {
			if (has_call && !add_call(stacks, &call, err))
				return 0;
			has_call = true;
			call = (struct call){ .frame = allo_perf_parse_frame(line) };
		} else {
			allo_perf_parse_place(line, &call.file, &call.line);
		}
	}
	if (!add_call(stacks, &call, err))
		return 0;
	if (call.frame.object.len > 0) {
		module.path = allo_profile_add_string(stacks->profile, call.frame.object, err);
		frame.module = allo_profile_add_module(stacks->profile, &module, err);
		if (frame.module == 0)
			return 0;
	}
	return allo_profile_add_frame(stacks->profile, &frame, stacks->lines.at, stacks->lines.len,
				      err);
}

/* Remembers what a text is, if there is room. */
static bool remember(struct allo_text_ids *ids, struct allo_hash128 hash, uint32_t id,
		     struct allo_error *err)
{
	if (ids->entries.len == TEXTS_MOST)
		allo_text_ids_clear(ids);
	return allo_text_ids_put(ids, hash, id) || allo_fail_memory(err);
}

allo_frame_id allo_perf_frame(struct allo_perf_stacks *stacks, struct allo_text text,
			      struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&stacks->frame_ids, text);
	allo_frame_id frame = allo_text_ids_find(&stacks->frame_ids, hash);

	if (frame != 0)
		return frame;
	frame = make_frame(stacks, text, err);
	return frame != 0 && remember(&stacks->frame_ids, hash, frame, err) ? frame : 0;
}

/* Stacks. */

/* Takes the lines of one frame off a text of whole lines. */
static struct allo_text take_frame(struct allo_text *text)
{
	static const struct allo_text inlined = ALLO_TEXT_INIT("(inlined)");
	struct allo_text frame = { text->data, 0 };
	bool goes_on = true; /* the frame that others are inlined into is still to come */

	while (text->len > 0) {
		const char *newline = memchr(text->data, '\n', text->len);
		size_t size = newline ? (size_t)(newline - text->data) + 1 : text->len;
		struct allo_text line = { text->data, size };

		/* Places in the source have no tab. */
		if (line.data[0] == '\t' || allo_perf_is_frame(line)) {
			if (!goes_on)
				break;
			goes_on = allo_text_ends(allo_text_trim(line), inlined);
		}
		frame.len += size;
		*text = allo_text_from(*text, size);
	}
	return frame;
}

static bool make_stack(struct allo_perf_stacks *stacks, struct allo_text text, allo_stack_id *stack,
		       struct allo_error *err)
{
	stacks->stack.len = 0;
	while (text.len > 0) {
		allo_frame_id frame = allo_perf_frame(stacks, take_frame(&text), err);

		if (frame == 0)
			return false;
		if (!allo_vec_append(&stacks->stack, &frame, 1))
			return allo_fail_memory(err);
	}
	*stack = allo_stack_build(&stacks->builder, stacks->profile, stacks->stack.at,
				  stacks->stack.len, err);
	return *stack != 0;
}

bool allo_perf_stack(struct allo_perf_stacks *stacks, struct allo_text text, allo_stack_id *stack,
		     struct allo_error *err)
{
	struct allo_hash128 hash = allo_text_ids_hash(&stacks->stack_ids, text);

	*stack = allo_text_ids_find(&stacks->stack_ids, hash);
	return *stack != 0 || (make_stack(stacks, text, stack, err) &&
			       remember(&stacks->stack_ids, hash, *stack, err));
}
