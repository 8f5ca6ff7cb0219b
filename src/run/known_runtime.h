/*
 * known_runtime.h - recognises programs whose memory is mostly not malloc's: language runtimes.
 *
 * The table has one row per runtime: how to recognise it, and advice.
 */
#ifndef ALLO_RUN_KNOWN_RUNTIME_H
#define ALLO_RUN_KNOWN_RUNTIME_H

#define ALLO_GO "Go" /* name of the runtime, and owner of a note in its programs */

enum { ALLO_KNOWN_RUNTIMES = 4 };

struct allo_known_runtime {
	const char *name;
	/* A dynamic symbol that its programs define or import, or the owner of an ELF note. */
	const char *symbol, *note;
	/* Users who set this variable do not need the advice; NULL: none. */
	const char *variable;
	const char *is;     /* "is Node.js, which ..." */
	const char *advice; /* the next step */
};

extern const struct allo_known_runtime allo_known_runtimes[ALLO_KNOWN_RUNTIMES];

/* The runtime of a program; NULL if none is known. */
const struct allo_known_runtime *allo_known_runtime_find(int fd);

#endif
