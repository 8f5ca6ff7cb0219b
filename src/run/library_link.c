#include "run/library_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool allo_library_link_is_needed(const char *library)
{
	return strpbrk(library, " :$") != NULL;
}

/* A directory for links, or NULL. */
static char *make_folder(const char *parent)
{
	char *folder;

	if (!parent || parent[0] != '/' || allo_library_link_is_needed(parent) ||
	    asprintf(&folder, "%s/allo-library-XXXXXX", parent) < 0)
		return NULL;
	if (mkdtemp(folder)) {
		if (chmod(folder, 0755) == 0)
			return folder;
		rmdir(folder);
	}
	free(folder);
	return NULL;
}

/* The link has the name of the library, by which the runtime finds it in LD_PRELOAD. */
static char *make_link(const char *folder, const char *library, enum allo_libc libc)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, allo_runtime_name(libc)) < 0)
		return NULL;
	if (symlink(library, path) == 0)
		return path;
	free(path);
	return NULL;
}

/* For the programs of another C library that the program executes. */
static char *make_other_link(const char *folder, const char *library, enum allo_libc libc)
{
	enum allo_libc other = libc == ALLO_LIBC_GLIBC ? ALLO_LIBC_MUSL : ALLO_LIBC_GLIBC;
	const char *slash = strrchr(library, '/');
	char *beside, *link = NULL;

	if (!slash || asprintf(&beside, "%.*s/%s", (int)(slash - library), library,
			       allo_runtime_name(other)) < 0)
		return NULL;
	if (access(beside, R_OK) == 0)
		link = make_link(folder, beside, other);
	free(beside);
	return link;
}

bool allo_library_link_make(struct allo_library_link *link, const char *library,
			    enum allo_libc libc, struct allo_error *err)
{
	const char *const parents[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		link->folder = make_folder(parents[i]);
		link->path = link->folder ? make_link(link->folder, library, libc) : NULL;
		if (link->path) {
			link->other = make_other_link(link->folder, library, libc);
			return true;
		}
		if (link->folder)
			rmdir(link->folder);
		allo_library_link_done(link);
	}
	allo_fail(err, ALLO_IO, ALLO_NOWHERE,
		  "cannot make a link in $TMPDIR, /tmp or /dev/shm to preload this library, whose "
		  "path has a space, ':' or '$': %s",
		  library);
	return allo_hint(err, "set TMPDIR to a directory that can be written to, without these "
			      "characters in its path");
}

void allo_library_link_remove(struct allo_library_link *link)
{
	if (link->path)
		unlink(link->path);
	if (link->other)
		unlink(link->other);
	if (link->folder)
		rmdir(link->folder);
	allo_library_link_done(link);
}

void allo_library_link_done(struct allo_library_link *link)
{
	free(link->path);
	free(link->other);
	free(link->folder);
	*link = (struct allo_library_link){ 0 };
}
