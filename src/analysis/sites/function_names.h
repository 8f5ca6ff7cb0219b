/*
 * function_names.h - parts of demangled function names.
 */
#ifndef ALLO_ANALYSIS_FUNCTION_NAMES_H
#define ALLO_ANALYSIS_FUNCTION_NAMES_H

#include "base/text.h"

/* The qualified name of a C++ function, without its return type and parameters:
 * "std::vector<int>::push_back" of "void std::vector<int>::push_back(int&&)". */
struct allo_text allo_qualified_name(struct allo_text function);

#endif
