/*
 * annotations.h - what the program says of itself: labels, marks, events of its own (see allo.h).
 *
 * Texts and sets of labels have numbers, which they keep as long as the process lives: labels that
 * a thread has when a recording starts are in it.  Each recording is told of those that it needs.
 */
#ifndef ALLO_CAPTURE_ANNOTATIONS_H
#define ALLO_CAPTURE_ANNOTATIONS_H

#include "capture/thread.h"

/* A thread that has labels begins in a recording. */
void allo_annotations_write_labels(struct allo_thread_state *thread);

/* A name for this moment, whatever thread says so; false, with a complaint, when it cannot be told.
 * Where no thread is in the recording yet it is the moment at which the first one is. */
bool allo_annotations_mark(const char *name);

/* A thread has begun: says the marks that had to wait for one. */
void allo_annotations_write_pending_marks(struct allo_thread_state *thread);

/* From here on what the thread does has the label `heap` as well; NULL: no more. */
void allo_annotations_set_heap(struct allo_thread_state *thread, const char *heap);

#endif
