/* last_error.c - see last_error.h. */
#include "capture/last_error.h"
#include "capture/debug_log.h"

#include <allo.h>
#include <string.h>

static __thread char last[512];

/* What is too long is cut. */
bool allo_set_error_texts(const char *const *texts)
{
	size_t used = 0;

	for (; *texts; texts++) {
		size_t len = strnlen(*texts, sizeof(last) - 1 - used);

		memcpy(last + used, *texts, len);
		used += len;
	}
	last[used] = '\0';
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "error: %s", last);
	return false;
}

const char *allo_error(void)
{
	return last;
}
