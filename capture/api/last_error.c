/* last_error.c - one message buffer per thread that has met an error. */
#include "capture/api/last_error.h"
#include "base/assert.h"
#include "capture/debug_log.h"
#include "capture/thread_rest.h"

#include <allo.h>
#include <string.h>

/* Truncates messages that are too long. */
bool allo_set_error_texts(const char *const *texts)
{
	struct allo_thread_rest *rest = allo_thread_rest_get();
	char *last = rest ? rest->error : NULL;
	size_t used = 0;

	if (!last)
		return false;
	for (; *texts; texts++) {
		size_t len = strnlen(*texts, ALLO_ERROR_MAX - 1 - used);

		memcpy(last + used, *texts, len);
		used += len;
	}
	ALLO_ASSERT(used < ALLO_ERROR_MAX);
	last[used] = '\0';
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "error: %s", last);
	return false;
}

const char *allo_error(void)
{
	const struct allo_thread_rest *rest = allo_thread_rest_find();

	return rest ? rest->error : "";
}
