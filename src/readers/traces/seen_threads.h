/*
 * seen_threads.h - the threads of a trace, by their numbers.
 *
 * Names may come before a thread's samples, after them or not at all, and may change: the last one
 * stays.  So it is the numbers that tell threads apart, unlike in the profile's own table.
 */
#ifndef ALLO_READERS_SEEN_THREADS_H
#define ALLO_READERS_SEEN_THREADS_H

#include "profile/profile.h"

struct allo_seen_process {
	uint64_t pid;
	allo_string_id name;
};

/* All zeros but for the profile. */
struct allo_seen_threads {
	struct allo_profile *profile;

	/* Private from here on. */
	struct allo_map map, process_map; /* the latter has indices + 1 */
	ALLO_VEC(struct allo_seen_process) processes;
	allo_thread_id last;             /* the one that was asked for before */
	ALLO_VEC(allo_labels_id) labels; /* by thread; 0 where nobody has asked for them */
};

void allo_seen_threads_done(struct allo_seen_threads *seen);

/* The thread with these numbers, of which the process' may be unknown (0); 0 when memory is short.
 */
allo_thread_id allo_seen_thread(struct allo_seen_threads *seen, uint64_t pid, uint64_t tid,
				struct allo_error *err);

/* What a thread is called from now on. */
bool allo_seen_thread_name(struct allo_seen_threads *seen, allo_thread_id thread,
			   struct allo_text name, struct allo_error *err);

/* What the process of threads is called that are seen from now on. */
bool allo_seen_process_name(struct allo_seen_threads *seen, uint64_t pid, struct allo_text name,
			    struct allo_error *err);

/* And of those that had been seen before. */
void allo_seen_threads_end(struct allo_seen_threads *seen);

/* Labels that say which thread it is, as it is called when they are first asked for. */
allo_labels_id allo_seen_thread_labels(struct allo_seen_threads *seen, allo_thread_id thread,
				       struct allo_error *err);

#endif
