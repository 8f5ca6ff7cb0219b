/* recorded_live.c - see recorded_live.h. */
#include "cli/recorded_live.h"

#include "base/defer.h"
#include "base/input.h"
#include "replay/summary.h"
#include "report/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether it lacks blocks stands at its beginning. */
static bool read_head(const char *path, struct allo_wire_head *head, struct allo_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? pread(fd, head, sizeof(*head), 0) : -1;

	if (fd >= 0)
		close(fd);
	return len == (ssize_t)sizeof(*head) ||
	       allo_fail(err, ALLO_IO, ALLO_NOWHERE, "cannot read %s: %s", path,
			 len < 0 ? strerror(errno) : "it is too short");
}

bool allo_recorded_live(struct allo_text path, uint64_t pid, struct allo_recorded_live *live,
			struct allo_error *err)
{
	struct allo_progress_bar bar;
	struct allo_summary summary;
	struct allo_wire_head head;
	char whole[PATH_MAX];
	bool ok;

	if ((size_t)snprintf(whole, sizeof(whole), "/proc/%" PRIu64 "/root%.*s", pid, (int)path.len,
			     path.data) >= sizeof(whole))
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "the recording's path is too long");
	if (!read_head(whole, &head, err))
		return false;
	allo_progress_bar_init(&bar, "reading the recording");
	ok = allo_recording_summary(whole, &summary, &bar.progress, err);
	allo_progress_bar_done(&bar);
	if (!ok)
		return false;
	*live = (struct allo_recorded_live){ .bytes = summary.end_bytes,
					     .blocks = summary.end_blocks,
					     .is_estimated = allo_summary_is_estimated(&summary),
					     .has_earlier = head.has_earlier };
	return true;
}
