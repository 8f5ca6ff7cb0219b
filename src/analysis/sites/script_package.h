/*
 * script_package.h - takes the place of the module for functions of interpreted programs.
 *
 * It is a part of the path of their file: the folder of the program's own code, the package of
 * installed code, the folder of the standard library.
 */
#ifndef ALLO_ANALYSIS_SCRIPT_PACKAGE_H
#define ALLO_ANALYSIS_SCRIPT_PACKAGE_H

#include "profile/profile.h"

/* "/usr/lib/python3/dist-packages/numpy"; empty if the function is not one of a script.  The text
 * is a part of a string of the profile, or constant, and no NUL follows. */
struct allo_text allo_script_package(const struct allo_profile *profile, allo_function_id id);

#endif
