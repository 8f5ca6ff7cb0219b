/*
 * function_intern.h - numbers the functions of interpreters, and writes them to the metadata.
 *
 * Functions with the same names and first line are one function, however often the program compiles
 * it.
 */
#ifndef ALLO_CAPTURE_FUNCTION_INTERN_H
#define ALLO_CAPTURE_FUNCTION_INTERN_H

#include "wire/stacks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allo_function_text {
	enum allo_language language;
	uint32_t first_line;
	const char *name, *file;
	size_t name_len, file_len; /* together with a few numbers at most ALLO_METADATA_MAX */
};

/* The number of a function; 0 if there is no room. */
uint32_t allo_function_intern(const struct allo_function_text *function);

/* Forgets the functions of an ended recording; `is_left` as for allo_stacks_end(). */
void allo_functions_end(bool is_left);

#endif
