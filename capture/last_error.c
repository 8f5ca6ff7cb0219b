/* last_error.c - one message buffer per thread, so an error needs no memory. */
#include "capture/last_error.h"
#include "base/assert.h"
#include "capture/debug_log.h"

#include <allo.h>
#include <string.h>

static __thread char last[512];

/* Truncates messages that are too long. */
bool allo_set_error_texts(const char *const *texts)
{
	size_t used = 0;

	for (; *texts; texts++) {
		size_t len = strnlen(*texts, sizeof(last) - 1 - used);

		memcpy(last + used, *texts, len);
		used += len;
	}
	ALLO_ASSERT(used < sizeof(last));
	last[used] = '\0';
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "error: %s", last);
	return false;
}

const char *allo_error(void)
{
	return last;
}
