#include "base/io/stale_socket.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

void allo_stale_socket_remove(int folder, const char *name, const struct stat *seen)
{
	struct stat status;
	char aside[PATH_MAX];

	if (!S_ISSOCK(seen->st_mode) ||
	    snprintf(aside, sizeof(aside), "%s.%d.stale", name, (int)getpid()) >=
		    (int)sizeof(aside) ||
	    renameat(folder, name, folder, aside) != 0)
		return;
	/* No process binds the name that the file has now, so the check is reliable. */
	if (fstatat(folder, aside, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    status.st_ino != seen->st_ino &&
	    renameat2(folder, aside, folder, name, RENAME_NOREPLACE) == 0)
		return;
	unlinkat(folder, aside, 0);
}
