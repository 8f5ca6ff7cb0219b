/*
 * ask.h - answers requests about opened files (doc/reply.md).
 *
 * Bytes in, bytes out: no files, no sockets, no clock.  The same code runs in `allo` and, compiled
 * to WebAssembly, in a page.
 */
#ifndef ALLO_VIEW_ASK_H
#define ALLO_VIEW_ASK_H

#include "view/answers/answers.h"

/* The files that requests are about.  The caller owns the datasets. */
struct allo_asked_files {
	struct allo_dataset **at;
	size_t count;
	/* Finds answers that need more than the files' contents, or NULL; may be NULL itself. */
	allo_answer *(*find_more)(const char *ask);
};

/* Answers a request.  The bytes belong to the reply, which is all zeros at first. */
struct allo_text allo_ask(const struct allo_asked_files *files, struct allo_text request,
			  struct allo_reply *reply);

#endif
