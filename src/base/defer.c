/* defer.c - see defer.h. */
#include "base/defer.h"

#include <stdlib.h>

void allo_free_pointer(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}
