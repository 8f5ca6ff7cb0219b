/*
 * source_root.h - the folder of the sources, for services that need relative paths.
 */
#ifndef ALLO_CLI_SOURCE_ROOT_H
#define ALLO_CLI_SOURCE_ROOT_H

#include "cli/command.h"

#include <limits.h>

#define OPT_SOURCE_ROOT(field)                                                                     \
	OPT_FILE(0, "source-root", "DIR", field,                                                   \
		 "paths for code-scanning services are relative to this directory; it may be one " \
		 "of another machine, where the program was compiled (default: the current one)")

/* The path without links and without a slash at its end; `given` may be NULL. */
bool allo_source_root(const char *given, char root[PATH_MAX], struct allo_error *err);

#endif
