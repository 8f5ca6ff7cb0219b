/*
 * python_lines.h - the line of an instruction, from a code object's table of lines.
 *
 * The runtime reads tables in the memory of CPython, and memray copies them into its files.
 */
#ifndef ALLO_WIRE_PYTHON_LINES_H
#define ALLO_WIRE_PYTHON_LINES_H

#include <stdint.h>

struct allo_python_lines {
	const uint8_t *at, *end;
};

static inline uint8_t allo_python_lines_byte(struct allo_python_lines *table)
{
	return table->at < table->end ? *table->at++ : 0;
}

/* Six bits per byte, the lowest first; 64 is "more". */
static inline uint32_t allo_python_lines_number(struct allo_python_lines *table)
{
	uint32_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = allo_python_lines_byte(table);
		value |= shift < 32 ? (byte & 63) << shift : 0;
		shift += 6;
	} while (byte & 64);
	return value;
}

static inline int32_t allo_python_lines_signed(struct allo_python_lines *table)
{
	uint32_t value = allo_python_lines_number(table);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* The forms of an entry, which differ in how they change the line. */
enum {
	ALLO_PYTHON_LINE_SAME_END = 10,
	ALLO_PYTHON_LINE_STEP = 10,
	ALLO_PYTHON_LINE_NO_COLUMNS = 13,
	ALLO_PYTHON_LINE_LONG = 14,
	ALLO_PYTHON_LINE_NONE = 15
};

static inline int32_t allo_python_lines_step(struct allo_python_lines *table, unsigned form)
{
	int32_t step = 0;

	if (form == ALLO_PYTHON_LINE_LONG || form == ALLO_PYTHON_LINE_NO_COLUMNS) {
		step = allo_python_lines_signed(table);
		for (unsigned i = 0; form == ALLO_PYTHON_LINE_LONG && i < 3; i++)
			allo_python_lines_number(table);
	} else if (form < ALLO_PYTHON_LINE_SAME_END) {
		allo_python_lines_byte(table);
	} else if (form != ALLO_PYTHON_LINE_NONE) {
		step = (int32_t)form - ALLO_PYTHON_LINE_STEP;
		allo_python_lines_byte(table);
		allo_python_lines_byte(table);
	}
	return step;
}

/* 3.11 and later: entries for units of two bytes of code. */
static inline uint32_t allo_python_line_in_table(struct allo_python_lines table, uint32_t line,
						 int64_t unit)
{
	int64_t end = 0;

	if (unit < 0)
		return line;
	while (table.at < table.end) {
		uint8_t first = allo_python_lines_byte(&table);
		unsigned form = first >> 3 & 15;

		line += (uint32_t)allo_python_lines_step(&table, form);
		end += (first & 7) + 1;
		if (unit < end)
			return form == ALLO_PYTHON_LINE_NONE ? 0 : line;
	}
	return 0;
}

/* 3.10: pairs of a length in bytes of code and a step of the line. */
static inline uint32_t allo_python_line_in_pairs(struct allo_python_lines table, uint32_t line,
						 int64_t offset)
{
	const int8_t no_line = -128;
	int64_t end = 0;

	while (table.end - table.at > 1) {
		int8_t step;

		end += allo_python_lines_byte(&table);
		step = (int8_t)allo_python_lines_byte(&table);
		if (step != no_line)
			line += (uint32_t)step;
		if (offset < end)
			return step == no_line ? 0 : line;
	}
	return line;
}

#endif
