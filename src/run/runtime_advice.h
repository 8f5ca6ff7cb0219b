/*
 * runtime_advice.h - tells users about language runtimes that malloc does not explain
 * (known_runtime.h), while the program starts.
 */
#ifndef ALLO_RUN_RUNTIME_ADVICE_H
#define ALLO_RUN_RUNTIME_ADVICE_H

#include "run/recordings.h"

/* All zeros: nothing was told. */
struct allo_runtime_advice {
	bool is_quiet;
	bool tracks_mappings; /* mmap is recorded: no advice to do so */

	/* Private from here on. */
	unsigned told; /* bits of the runtimes: each is told once */
	size_t recordings_seen;
	ALLO_VEC(struct allo_seen_program {
		dev_t device;
		ino_t inode;
	})
	seen;
};

/* Tells about a program, which the user calls `name`.  False if it has no known runtime. */
bool allo_runtime_advice_tell(struct allo_runtime_advice *advice, const char *path,
			      const char *name);

/* The same for programs that have begun a recording since: a shell may have executed them. */
void allo_runtime_advice_look(struct allo_runtime_advice *advice,
			      const struct allo_recordings *recordings);

void allo_runtime_advice_done(struct allo_runtime_advice *advice);

#endif
