/*
 * seen_threads.h - the threads of a trace, by process id and thread id.
 *
 * Names may come before a thread's samples, after them or not at all, and may change: the last one
 * stays.  So threads are identified by their ids alone, unlike in the profile's own table.
 */
#ifndef ALLO_READERS_SEEN_THREADS_H
#define ALLO_READERS_SEEN_THREADS_H

#include "profile/profile.h"

struct allo_seen_process {
	uint64_t pid;
	allo_string_id name;
};

/* Set the profile, leave the rest zero. */
struct allo_seen_threads {
	struct allo_profile *profile;

	/* Private from here on. */
	struct allo_map map, process_map; /* the latter has indices + 1 */
	ALLO_VEC(struct allo_seen_process) processes;
	allo_thread_id last;             /* the thread of the previous call */
	ALLO_VEC(allo_labels_id) labels; /* by thread; 0: not made yet */
};

void allo_seen_threads_done(struct allo_seen_threads *seen);

/* The thread with these ids; the process id may be unknown (0).  0 when memory is short.
 */
allo_thread_id allo_seen_thread(struct allo_seen_threads *seen, uint64_t pid, uint64_t tid,
				struct allo_error *err);

/* Sets the name of a thread. */
bool allo_seen_thread_name(struct allo_seen_threads *seen, allo_thread_id thread,
			   struct allo_text name, struct allo_error *err);

/* Sets the process name of threads that are seen from now on. */
bool allo_seen_process_name(struct allo_seen_threads *seen, uint64_t pid, struct allo_text name,
			    struct allo_error *err);

/* Call at the end: also names the processes of threads that were seen before their names. */
void allo_seen_threads_end(struct allo_seen_threads *seen);

/* The labels of a thread, with its name at the time of the first call. */
allo_labels_id allo_seen_thread_labels(struct allo_seen_threads *seen, allo_thread_id thread,
				       struct allo_error *err);

#endif
