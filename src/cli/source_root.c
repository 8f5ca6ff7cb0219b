#include "cli/source_root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool allo_source_root(const char *given, char root[PATH_MAX], struct allo_error *err)
{
	const char *path = given ? given : ".";
	size_t len;

	if (realpath(path, root))
		return true;
	if (errno != ENOENT || path[0] != '/')
		return allo_fail_errno(err, path, "find the directory");
	/* A folder of the machine that compiled the program. */
	len = (size_t)snprintf(root, PATH_MAX, "%s", path);
	while (len > 1 && len < PATH_MAX && root[len - 1] == '/')
		root[--len] = '\0';
	return true;
}
