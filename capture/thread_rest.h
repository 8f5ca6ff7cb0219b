/*
 * thread_rest.h - what only some threads need: their error message and their labels.
 *
 * It is not among the thread-local variables.  Libraries that are loaded into a running process
 * share some 1,600 bytes of these, and fail to load when they are used up.
 */
#ifndef ALLO_CAPTURE_THREAD_REST_H
#define ALLO_CAPTURE_THREAD_REST_H

#include <stdint.h>

enum {
	ALLO_ERROR_MAX = 512,
	ALLO_LABELS_DEEP = 32, /* nested labels of a thread; deeper ones are ignored */
};

struct allo_thread_rest {
	char error[ALLO_ERROR_MAX];
	/* Slots of label sets, outermost first (annotations.c); the depth counts ignored ones, too.
	 */
	uint32_t label_depth;
	uint32_t label_sets[ALLO_LABELS_DEEP];
};

/* That of the calling thread; NULL if it has none yet. */
struct allo_thread_rest *allo_thread_rest_find(void);

/* The same; makes it if needed.  NULL if memory is short. */
struct allo_thread_rest *allo_thread_rest_get(void);

/* Gives the calling thread this one, for a thread that libc does not know. */
void allo_thread_rest_use(struct allo_thread_rest *rest);

/* Once: from then on, it is freed when its thread ends. */
void allo_thread_rest_init(void);

#endif
