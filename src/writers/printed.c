/* printed.c - see printed.h. */
#include "writers/printed.h"

#include "base/defer.h"
#include "base/utf8.h"

#include <stdlib.h>

/* Whether a name ends in a space and a number: flamegraph.pl would take that for a count. */
static bool ends_in_count(struct allo_text name)
{
	size_t at = name.len;

	while (at > 0 && (allo_is_digit(name.data[at - 1]) || name.data[at - 1] == '.'))
		at--;
	return at < name.len && at > 0 && name.data[at - 1] == ' ';
}

void allo_chars_make_line(struct allo_chars *chars)
{
	for (size_t i = 0; i < chars->len; i++) {
		if ((unsigned char)chars->at[i] < ' ')
			chars->at[i] = ' ';
	}
}

bool allo_chars_add_folded(struct allo_chars *chars, struct allo_text name)
{
	struct allo_text trimmed = allo_text_trim(name);
	size_t start = chars->len;

	if (trimmed.len == 0)
		trimmed = ALLO_TEXT("???");
	if (!allo_chars_add(chars, trimmed))
		return false;
	for (size_t i = start; i < chars->len; i++) {
		/* ';' separates frames, so one inside a name (Rust's [u8; 32]) is written ':'. */
		if (chars->at[i] == ';')
			chars->at[i] = ':';
		else if ((unsigned char)chars->at[i] < ' ')
			chars->at[i] = ' ';
	}
	return !ends_in_count((struct allo_text){ chars->at + start, chars->len - start }) ||
	       allo_chars_add(chars, ALLO_TEXT("_"));
}

void allo_printed_done(struct allo_printed *printed)
{
	allo_profile_done(&printed->profile);
	free(printed->stacks);
}

struct printer {
	struct allo_printed *printed;
	const struct allo_profile *profile;
	allo_print_call print;
	const void *context;
	ALLO_VEC(uint32_t) firsts;     /* by frame: index of its first call in `calls`, + 1 */
	ALLO_VEC(allo_frame_id) calls; /* printed ones, the outermost of each frame first */
	ALLO_VEC(allo_stack_id) made;
	struct allo_chars text, mended;
};

static void printer_done(struct printer *printer)
{
	allo_vec_done(&printer->firsts);
	allo_vec_done(&printer->calls);
	allo_vec_done(&printer->made);
	allo_vec_done(&printer->text);
	allo_vec_done(&printer->mended);
}

/* The text with U+FFFD for what is not UTF-8; false when memory is short. */
static bool mend(struct printer *printer, struct allo_text *text)
{
	struct allo_text rest = *text;

	printer->mended.len = 0;
	while (!allo_utf8_is_valid(rest)) {
		struct allo_text valid = { rest.data, allo_utf8_valid_prefix(rest) };

		if (!allo_chars_add(&printer->mended, valid) ||
		    !allo_chars_add(&printer->mended, ALLO_TEXT(ALLO_UTF8_REPLACEMENT)))
			return false;
		rest = allo_text_from(rest, valid.len + 1);
	}
	if (printer->mended.len == 0)
		return true;
	if (!allo_chars_add(&printer->mended, rest))
		return false;
	*text = allo_chars_text(&printer->mended);
	return true;
}

static bool print_call(struct printer *printer, const struct allo_frame *frame, uint32_t call,
		       struct allo_error *err)
{
	struct allo_text text;
	allo_frame_id printed;

	printer->text.len = 0;
	if (!printer->print(printer->context, printer->profile, frame, call, &printer->text))
		return allo_fail_memory(err);
	text = allo_chars_text(&printer->text);
	if (!mend(printer, &text))
		return allo_fail_memory(err);
	printed = allo_profile_add_named_frame(&printer->printed->profile, text, err);
	if (printed == 0)
		return false;
	return allo_vec_append(&printer->calls, &printed, 1) || allo_fail_memory(err);
}

static bool print_frame(struct printer *printer, allo_frame_id id, struct allo_error *err)
{
	const struct allo_frame *frame = &printer->profile->frames.at[id];

	if (printer->firsts.at[id] != 0)
		return true;
	printer->firsts.at[id] = (uint32_t)printer->calls.len + 1;
	for (uint32_t call = allo_frame_call_count(frame); call-- > 0;) {
		if (!print_call(printer, frame, call, err))
			return false;
	}
	return true;
}

/* A short file can say that a long list of inlined calls occurs many times: real programs have a
 * few a frame. */
static bool is_too_much(const struct printer *printer)
{
	return printer->printed->profile.stacks.len / 64 > printer->profile->stacks.len + (1 << 14);
}

static bool print_stack(struct printer *printer, allo_stack_id id, struct allo_error *err)
{
	struct allo_stack stack = printer->profile->stacks.at[id];
	uint32_t count = allo_frame_call_count(&printer->profile->frames.at[stack.frame]);
	allo_stack_id *stacks = printer->printed->stacks;

	if (!print_frame(printer, stack.frame, err))
		return false;
	if (is_too_much(printer))
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
				 "the stacks hold more inlined calls than we are willing to print");
	if (!allo_vec_cover(&printer->made, count))
		return allo_fail_memory(err);
	if (!allo_profile_add_stacks(&printer->printed->profile, stacks[stack.parent],
				     printer->calls.at + printer->firsts.at[stack.frame] - 1, count,
				     printer->made.at, err))
		return false;
	stacks[id] = printer->made.at[count - 1];
	return true;
}

/* Marks the stacks that samples refer to, and those that lead there. */
static void mark_needed(const struct allo_profile *profile, allo_stack_id *stacks)
{
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		stacks[profile->sample_stacks.at[i]] = 1;
	for (size_t i = profile->stacks.len; i-- > 1;) {
		if (stacks[i])
			stacks[profile->stacks.at[i].parent] = 1;
	}
	stacks[0] = 0;
}

bool allo_print_stacks(struct allo_printed *printed, const struct allo_profile *profile,
		       allo_print_call print, const void *context, struct allo_error *err)
{
	ALLO_DEFER(printer_done)
	struct printer printer = {
		.printed = printed, .profile = profile, .print = print, .context = context
	};

	printed->stacks = calloc(profile->stacks.len + 1, sizeof(*printed->stacks));
	if (!printed->stacks || !allo_vec_cover(&printer.firsts, profile->frames.len + 1))
		return allo_fail_memory(err);
	mark_needed(profile, printed->stacks);
	for (size_t i = 1; i < profile->stacks.len; i++) {
		if (printed->stacks[i] && !print_stack(&printer, (allo_stack_id)i, err))
			return false;
	}
	return true;
}
