/*
 * source_name.h - short names of source files.
 */
#ifndef ALLO_PROFILE_SOURCE_NAME_H
#define ALLO_PROFILE_SOURCE_NAME_H

#include "base/text.h"

/* "app.py" of "/home/me/app.py".  Each package of Python has an __init__.py, so such a name has its
 * folder: "json/__init__.py".  The text is the end of `path`. */
struct allo_text allo_source_name(struct allo_text path);

#endif
