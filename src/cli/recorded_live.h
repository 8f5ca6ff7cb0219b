/*
 * recorded_live.h - what the recording of a process that still runs says is live.
 */
#ifndef ALLO_CLI_RECORDED_LIVE_H
#define ALLO_CLI_RECORDED_LIVE_H

#include "base/error.h"
#include "base/text.h"

struct allo_recorded_live {
	uint64_t bytes, blocks;
	bool is_estimated;
	bool has_earlier; /* blocks from before are not in it */
};

/* Replays the recording, whose path is as process `pid` sees it. */
bool allo_recorded_live(struct allo_text path, uint64_t pid, struct allo_recorded_live *live,
			struct allo_error *err);

#endif
