/* valgrind_text.c - see valgrind_text.h. */
#include "writers/valgrind_text.h"

#include <stdio.h>

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
