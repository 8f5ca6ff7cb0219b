/* printable.c - turns frames into text and builds stacks of texts. */
#include "writers/printable.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

/* Whether a name ends in a space and a number, which flamegraph.pl would read as the count. */
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

void allo_printable_done(struct allo_printable *printable)
{
	allo_profile_done(&printable->profile);
	free(printable->stacks);
}

struct printer {
	struct allo_printable *printable;
	const struct allo_profile *profile;
	allo_print_call print;
	const void *context;
	ALLO_VEC(uint32_t)
	firsts; /* by frame: index of its first call in `calls` + 1; 0: not printed yet */
	ALLO_VEC(allo_frame_id)
	calls; /* frames of the result, the outermost call of each frame first */
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

/* Replaces bytes that are not UTF-8 by U+FFFD; false when memory is short. */
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
	allo_frame_id printable;

	printer->text.len = 0;
	if (!printer->print(printer->context, printer->profile, frame, call, &printer->text))
		return allo_fail_memory(err);
	text = allo_chars_text(&printer->text);
	if (!mend(printer, &text))
		return allo_fail_memory(err);
	printable = allo_profile_add_named_frame(&printer->printable->profile, text, err);
	if (printable == 0)
		return false;
	return allo_vec_append(&printer->calls, &printable, 1) || allo_fail_memory(err);
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

/* Whether inlined calls multiply beyond anything in a real program, which has a few per frame: a
 * short file can repeat a long list of them many times. */
static bool is_too_much(const struct printer *printer)
{
	return printer->printable->profile.stacks.len / 64 >
	       printer->profile->stacks.len + (1 << 14);
}

static bool print_stack(struct printer *printer, allo_stack_id id, struct allo_error *err)
{
	struct allo_stack stack = printer->profile->stacks.at[id];
	uint32_t count = allo_frame_call_count(&printer->profile->frames.at[stack.frame]);
	allo_stack_id *stacks = printer->printable->stacks;

	if (!print_frame(printer, stack.frame, err))
		return false;
	if (is_too_much(printer))
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
				 "the stacks hold too many inlined calls: more than 64 per frame");
	if (!allo_vec_cover(&printer->made, count))
		return allo_fail_memory(err);
	if (!allo_profile_add_stacks(&printer->printable->profile, stacks[stack.parent],
				     printer->calls.at + printer->firsts.at[stack.frame] - 1, count,
				     printer->made.at, err))
		return false;
	ALLO_ASSERT(count > 0 && stack.parent < id);
	stacks[id] = printer->made.at[count - 1];
	return true;
}

/* Marks the stacks that samples refer to, and their callers. */
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

bool allo_print_stacks(struct allo_printable *printable, const struct allo_profile *profile,
		       allo_print_call print, const void *context, struct allo_error *err)
{
	ALLO_DEFER(printer_done)
	struct printer printer = {
		.printable = printable, .profile = profile, .print = print, .context = context
	};

	printable->stacks = calloc(profile->stacks.len + 1, sizeof(*printable->stacks));
	if (!printable->stacks || !allo_vec_cover(&printer.firsts, profile->frames.len + 1))
		return allo_fail_memory(err);
	mark_needed(profile, printable->stacks);
	for (size_t i = 1; i < profile->stacks.len; i++) {
		if (printable->stacks[i] && !print_stack(&printer, (allo_stack_id)i, err))
			return false;
	}
	return true;
}

/* Valgrind's frames. */

static struct allo_text or_unknown(struct allo_text text)
{
	return text.len > 0 ? text : ALLO_TEXT("???");
}

static bool add_place(const struct allo_profile *profile, const struct allo_frame *frame,
		      struct allo_line line, bool has_name, enum allo_frame_style style,
		      struct allo_chars *out)
{
	struct allo_text file = allo_line_file(profile, line), object = { 0 };
	bool is_crate = style == ALLO_FRAME_CRATE;
	char numbers[32];
	int len;

	if (is_crate || (line.column && style != ALLO_FRAME_MASSIF))
		len = snprintf(numbers, sizeof(numbers), ":%lu:%lu)", (unsigned long)line.line,
			       (unsigned long)line.column);
	else
		len = snprintf(numbers, sizeof(numbers), ":%lu)", (unsigned long)line.line);
	if (is_crate || file.len > 0 || line.line)
		return allo_chars_add(out, ALLO_TEXT(" (")) &&
		       allo_chars_add(out, or_unknown(file)) &&
		       allo_chars_add(out, (struct allo_text){ numbers, (size_t)len });
	if (frame->module)
		object = allo_profile_text(profile, profile->modules.at[frame->module].path);
	if (object.len == 0 && !has_name)
		return true;
	return allo_chars_add(out, ALLO_TEXT(" (in ")) && allo_chars_add(out, or_unknown(object)) &&
	       allo_chars_add(out, ALLO_TEXT(")"));
}

bool allo_chars_add_valgrind_frame(struct allo_chars *out, const struct allo_profile *profile,
				   const struct allo_frame *frame, uint32_t call,
				   enum allo_frame_style style)
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text name = { 0 };
	char address[24];
	int len;

	if (line.function)
		name = allo_profile_text(profile, profile->functions.at[line.function].name);
	len = snprintf(address, sizeof(address),
		       style == ALLO_FRAME_CRATE ? "0x%llx: " : "0x%llX: ",
		       (unsigned long long)frame->address);
	return allo_chars_add(out, (struct allo_text){ address, (size_t)len }) &&
	       allo_chars_add(out, or_unknown(name)) &&
	       add_place(profile, frame, line, name.len > 0, style, out);
}
