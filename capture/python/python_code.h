/*
 * python_code.h - reads names and lines from CPython's code objects.
 */
#ifndef ALLO_CAPTURE_PYTHON_CODE_H
#define ALLO_CAPTURE_PYTHON_CODE_H

#include "capture/python/python_layout.h"

#include <stddef.h>

enum {
	ALLO_PYTHON_NAME_MAX = 1000, /* bytes; longer ones are cut */
	ALLO_PYTHON_FILE_MAX = 4096,
};

/* A function, its names in UTF-8. */
struct allo_python_function {
	uint32_t first_line;
	size_t name_len, file_len;
	char name[ALLO_PYTHON_NAME_MAX], file[ALLO_PYTHON_FILE_MAX];
};

static inline uint64_t allo_python_word(uint64_t address)
{
	return *(const uint64_t *)address;
}

static inline uint32_t allo_python_half(uint64_t address)
{
	return *(const uint32_t *)address;
}

/* Whether the code is the interpreter's own.  From 3.12 on, frames of such a code lie between a
 * class's __init__() and its caller, once the call is specialized. */
bool allo_python_is_shim(const struct allo_python_layout *layout, uint64_t code);

/* The function of a code object. */
void allo_python_function_read(const struct allo_python_layout *layout, uint64_t code,
			       struct allo_python_function *function);

/* The line of a frame's instruction; 0 if it has none. */
uint32_t allo_python_line_read(const struct allo_python_layout *layout, uint64_t code,
			       uint64_t instruction);

#endif
