/*
 * auto_snapshots.h - snapshots that nobody waits for, of which a few are kept.
 *
 * Each is made by a process of its own, which is the first to go where memory is short, and is
 * there when it is complete.
 */
#ifndef ALLO_CLI_AUTO_SNAPSHOTS_H
#define ALLO_CLI_AUTO_SNAPSHOTS_H

#include "base/error.h"
#include "base/vec.h"

#include <sys/types.h>

enum allo_keep { ALLO_KEEP_NEWEST, ALLO_KEEP_LARGEST };

struct allo_auto_snapshot {
	char *path;
	uint64_t bytes; /* what the process had when it was asked for */
	pid_t of;       /* the process that it is of */
	pid_t maker;    /* who makes it; 0: it is there */
};

/* All zeros, but for what is to be kept: nothing to give back. */
struct allo_auto_snapshots {
	enum allo_keep keep;
	uint64_t keep_count;
	uint64_t begun;                          /* so far */
	ALLO_VEC(struct allo_auto_snapshot) all; /* in the order of time */
};

/* Has one made of what a process has recorded, beside its recording, with a word for its name.
 * False while another one of the same process is being made. */
bool allo_auto_snapshot(struct allo_auto_snapshots *snapshots, pid_t pid, const char *recording,
			const char *word, uint64_t bytes);

/* Notices which are there by now, and removes those that are too many; waits for all that are being
 * made if `is_last`. */
void allo_auto_snapshots_collect(struct allo_auto_snapshots *snapshots, bool is_last);

void allo_auto_snapshots_done(struct allo_auto_snapshots *snapshots);

#endif
