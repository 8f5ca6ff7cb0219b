/* python_code.c - strings and line tables of CPython. */
#include "capture/python/python_code.h"

#include "wire/python_lines.h"

/* Strings. */

static uint32_t character_at(uint64_t data, unsigned size, int64_t i)
{
	return size == 1   ? *(const uint8_t *)(data + (uint64_t)i)
	       : size == 2 ? *(const uint16_t *)(data + 2 * (uint64_t)i)
			   : allo_python_half(data + 4 * (uint64_t)i);
}

/* Control characters would break lines of output. */
static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)(c < ' ' || c == 0x7f ? ' ' : c);
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* The state has bits of interning, 3 of the size of a character, then one that is set if the text
 * follows the object, and one that is set if it is ASCII. */
static size_t read_text(const struct allo_python_layout *layout, uint64_t object, char *out,
			size_t room)
{
	uint32_t state = allo_python_half(object + layout->text_state) >> layout->text_shift;
	int64_t length = (int64_t)allo_python_word(object + layout->text_length);
	unsigned size = state & 7;
	uint64_t data = object + (state & 16 ? layout->text_ascii : layout->text_other);
	size_t len = 0;

	if (!(state & 8) || (size != 1 && size != 2 && size != 4))
		return 0;
	for (int64_t i = 0; i < length && len + 4 <= room; i++)
		len += put_utf8(out + len, character_at(data, size, i));
	return len;
}

/* It has no line, and one object as its name and its file. */
bool allo_python_is_shim(const struct allo_python_layout *layout, uint64_t code)
{
	return allo_python_half(code + layout->first_line) == 0 &&
	       allo_python_word(code + layout->name) == allo_python_word(code + layout->filename);
}

void allo_python_function_read(const struct allo_python_layout *layout, uint64_t code,
			       struct allo_python_function *function)
{
	function->first_line = allo_python_half(code + layout->first_line);
	function->name_len = read_text(layout, allo_python_word(code + layout->name),
				       function->name, sizeof(function->name));
	function->file_len = read_text(layout, allo_python_word(code + layout->filename),
				       function->file, sizeof(function->file));
}

/* Lines. */

/* The start of the bytecode that an instruction belongs to.  From 3.14 on without a GIL, each
 * thread executes its own copy.  The array of copies starts with its length.  CPython replaces the
 * array when it grows, and frees the old one when all threads have passed a safe point. */
static uint64_t find_bytecode(const struct allo_python_layout *layout, uint64_t code,
			      uint64_t instruction)
{
	uint64_t copies = layout->copies ? allo_python_word(code + layout->copies) : 0,
		 count = copies ? allo_python_word(copies) : 0,
		 size = 2 * allo_python_word(code + layout->bytes_length);

	for (uint64_t i = 1; i <= count; i++) {
		uint64_t start = allo_python_word(copies + 8 * i);

		if (start && instruction - start < size)
			return start;
	}
	return code + layout->bytecode;
}

uint32_t allo_python_line_read(const struct allo_python_layout *layout, uint64_t code,
			       uint64_t instruction)
{
	uint64_t bytes = allo_python_word(code + layout->line_table);
	const uint8_t *start = (const uint8_t *)(bytes + layout->bytes);
	struct allo_python_lines table = { start,
					   start + allo_python_word(bytes + layout->bytes_length) };
	uint32_t first = allo_python_half(code + layout->first_line);

	if (layout->shape == ALLO_PYTHON_FRAME_OBJECTS)
		return allo_python_line_in_pairs(table, first, 2 * (int64_t)(int32_t)instruction);
	return allo_python_line_in_table(
		table, first,
		(int64_t)(instruction - find_bytecode(layout, code, instruction)) / 2);
}
