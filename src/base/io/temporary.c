#include "base/io/temporary.h"

#include "base/defer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int allo_temporary_open(void)
{
	ALLO_DEFER(allo_free_pointer) char *name = NULL;
	const char *folder = getenv("TMPDIR");
	int fd;

	if (!folder || !folder[0])
		folder = "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (asprintf(&name, "%s/allo-XXXXXX", folder) < 0) {
		name = NULL;
		return -1;
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}
