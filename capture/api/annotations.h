/*
 * annotations.h - labels, marks and events that the program adds to its recording (see allo.h).
 *
 * Strings and label sets are interned for the life of the process, so labels that a thread has when
 * a recording starts are in it.  Each recording defines the ones that it uses, with new ids.
 */
#ifndef ALLO_CAPTURE_ANNOTATIONS_H
#define ALLO_CAPTURE_ANNOTATIONS_H

#include "capture/thread.h"

/* Writes the current labels of a thread that starts in a recording. */
void allo_annotations_write_labels(struct allo_thread_state *thread);

/* Writes a mark into the stream of any thread.  If no thread is in the recording yet, the mark
 * waits for the first one.  False, with an error, on failure. */
bool allo_annotations_mark(const char *name);

/* Writes the waiting marks into the stream of a thread that has just started. */
void allo_annotations_write_pending_marks(struct allo_thread_state *thread);

/* Adds the label heap=NAME to the thread's next events; NULL removes it. */
void allo_annotations_set_heap(struct allo_thread_state *thread, const char *heap);

#endif
