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
#include "wire/runtime_name.h"

/* All zeros: no link. */
struct allo_library_link {
	char *folder;       /* of the links */
	char *path, *other; /* the link, and one for programs of another C library, or NULL */
};

/* Whether a path needs a link. */
bool allo_library_link_is_needed(const char *library);

/* Makes a link to the library for `libc`, and one to another library beside it, if it is there.
 * Every user can follow them: programs change their users. */
bool allo_library_link_make(struct allo_library_link *link, const char *library,
			    enum allo_libc libc, struct allo_error *err);

/* Removes it.  A process that still runs would fail to preload the library into the programs that
 * it executes, and these would print a warning: for such a process, only free the memory. */
void allo_library_link_remove(struct allo_library_link *link);
void allo_library_link_done(struct allo_library_link *link);

#endif
