/*
 * describe.h - a description of an input that is equal if all that is read from it is equal.
 *
 * The engine under node and the native core describe the same inputs; test_wasm.py compares.
 */
#ifndef ALLO_TESTS_WASM_DESCRIBE_H
#define ALLO_TESTS_WASM_DESCRIBE_H

#include "base/vec.h"

#include <stddef.h>

typedef ALLO_VEC(char) description;

/* Reads the bytes as a file of this name, and describes its profile or the failure. */
void describe(description *text, const char *name, const void *data, size_t len);

#endif
