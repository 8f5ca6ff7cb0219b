/*
 * library_link.h - a link to the runtime library whose path LD_PRELOAD can contain.
 *
 * The dynamic linker separates paths by spaces and colons, and replaces variables after '$'.  If
 * the path of the library has one of these, programs load it through a symbolic link in a new
 * directory.
 */
#ifndef ALLO_RUN_LIBRARY_LINK_H
#define ALLO_RUN_LIBRARY_LINK_H

#include "base/error.h"

/* All zeros: no link. */
struct allo_library_link {
	char *folder; /* of the link */
	char *path;
};

/* Whether a path needs a link. */
bool allo_library_link_is_needed(const char *library);

/* Makes a link that every user can follow: programs change their users. */
bool allo_library_link_make(struct allo_library_link *link, const char *library,
			    struct allo_error *err);

/* Removes it.  A process that still runs would fail to preload the library into the programs that
 * it executes, and these would print a warning: for such a process, only free the memory. */
void allo_library_link_remove(struct allo_library_link *link);
void allo_library_link_done(struct allo_library_link *link);

#endif
