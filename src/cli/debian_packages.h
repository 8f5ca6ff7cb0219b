/*
 * debian_packages.h - which package of Debian, or of what is made of it, a file belongs to.
 */
#ifndef ALLO_CLI_DEBIAN_PACKAGES_H
#define ALLO_CLI_DEBIAN_PACKAGES_H

#include "base/text.h"

enum { ALLO_PACKAGE_NAME = 128 };

struct allo_packaged {
	struct allo_text path;              /* given */
	char debug_name[ALLO_PACKAGE_NAME]; /* of the package with its debug information, or "" */
};

/* Looks all files up at once, in the lists that dpkg keeps below `root`, which may be NULL.  Where
 * there are none, nothing is found. */
void allo_debian_packages_find(const char *root, struct allo_packaged *files, size_t count);

#endif
