#include "base/defer.h"

#include <stdlib.h>
#include <unistd.h>

void allo_free_pointer(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void allo_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
