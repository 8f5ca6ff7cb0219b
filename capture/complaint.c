/* complaint.c - see complaint.h. */
#include "capture/complaint.h"

#include <allo.h>
#include <string.h>

static __thread char last[512];

/* What is too long is cut. */
bool allo_complain_of(const char *const *texts)
{
	size_t used = 0;

	for (; *texts; texts++) {
		size_t len = strnlen(*texts, sizeof(last) - 1 - used);

		memcpy(last + used, *texts, len);
		used += len;
	}
	last[used] = '\0';
	return false;
}

const char *allo_error(void)
{
	return last;
}
