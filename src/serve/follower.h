/*
 * follower.h - a long-lived child of the server that follows the recording of one process.
 *
 * The first request for a heap replays the whole recording.  Later requests replay only the events
 * since the previous one, also those with a window, and reuse the names of frames.  A follower ends
 * with its process, after five idle minutes, or when the server needs its memory.  A crash costs a
 * new replay.
 *
 * A follower for requests of the page (page_view.h) stays: a page is left open, and shows its
 * process also after the end.
 */
#ifndef ALLO_SERVE_FOLLOWER_H
#define ALLO_SERVE_FOLLOWER_H

#include "serve/heap_profile.h"

enum { ALLO_FOLLOWERS_MAX = 8 };

struct allo_follower {
	pid_t pid;            /* of the child; 0: the entry is unused */
	int socket;           /* readable with a reply, and once the child has ended */
	uint64_t process;     /* struct allo_served_process.number */
	uint64_t used_ns;     /* time of the last request, monotonic clock */
	uint64_t deadline_ns; /* of the request in progress; 0: the follower is idle */
	uint64_t bytes;       /* memory, as of the last reply */
	bool has_replied;
};

/* All zeros: none. */
struct allo_followers {
	bool are_for_pages; /* set it before the first request */
	struct allo_follower all[ALLO_FOLLOWERS_MAX];
};

/* Sends a request to the follower of its process, which has `limit_ns` from the end of the window
 * on, if there is one.  Starts a follower if necessary; then the one that was unused for longest
 * may have to end.  NULL on failure. */
struct allo_follower *allo_followers_ask(struct allo_followers *followers,
					 const struct allo_heap_request *request, uint64_t limit_ns,
					 struct allo_error *err);

/* Receives the reply, or kills the follower if its deadline has passed.  `out` receives the file
 * with the body, which the caller closes, or -1.  Returns 0 if the follower had ended before the
 * request arrived: ask again. */
unsigned allo_followers_take(struct allo_followers *followers, struct allo_follower *follower,
			     int *out, struct allo_error *err);

/* Ends a follower. */
void allo_follower_drop(struct allo_follower *follower);

void allo_followers_done(struct allo_followers *followers);

#endif
