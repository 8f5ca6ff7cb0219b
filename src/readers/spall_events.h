/*
 * spall_events.h - the events of a Spall file, whichever of its versions.
 *
 *     head, 32 bytes    magic, version, how long a tick is, 0
 *     versions 0, 1     events that name process, thread and time each
 *     version 3         buffers of a thread each, with its events in them
 *     native version 3  the same, packed more tightly, with addresses instead of names
 *
 * Numbers are little-endian and nothing is aligned.
 */
#ifndef ALLO_READERS_SPALL_EVENTS_H
#define ALLO_READERS_SPALL_EVENTS_H

#include "base/input.h"

enum allo_spall_kind {
	ALLO_SPALL_BEGIN,
	ALLO_SPALL_END,
	ALLO_SPALL_PROCESS_NAME,
	ALLO_SPALL_THREAD_NAME,
};

struct allo_spall_event {
	enum allo_spall_kind kind;
	uint32_t pid, tid;
	uint64_t time_ns;
	struct allo_text name; /* in the window of the input, */
	bool has_address;      /* unless there is an address for it: */
	uint64_t address;      /* where the function begins */
};

struct allo_spall {
	struct allo_input *in;
	bool is_native;           /* functions have addresses */
	struct allo_text program; /* then, its path, until the first event is asked for, */
	uint64_t program_start;   /* and the address of its first byte */
	bool is_cut;              /* the file ends within an event */

	/* Private from here on. */
	bool (*next)(struct allo_spall *spall, struct allo_spall_event *event,
		     struct allo_error *err);
	bool has_args;     /* version 0 has none */
	double tick_ns;    /* how long a tick is */
	size_t size;       /* of the event at the front of the input */
	uint64_t left;     /* in the buffer at hand, with that event */
	uint32_t pid, tid; /* of the buffer */
	/* Native files have differences to these. */
	uint64_t now; /* in ticks */
	uint64_t address;
};

/* Whether a file is Spall's, by its first bytes. */
bool allo_is_spall(struct allo_text head);

/* Reads the head; all of `spall` but the input is set here. */
bool allo_spall_open(struct allo_spall *spall, struct allo_input *in, struct allo_error *err);

/* The next event, which stays at the front of the input until the one after it is asked for; false
 * at the end and at failure. */
bool allo_spall_next(struct allo_spall *spall, struct allo_spall_event *event,
		     struct allo_error *err);

#endif
