/*
 * announce.h - tells whoever has started the process what becomes of it: a line in the list that
 * ALLO_LIST names.
 */
#ifndef ALLO_CAPTURE_ANNOUNCE_H
#define ALLO_CAPTURE_ANNOUNCE_H

/* "PID PATH": a recording has begun.  "PID counting": there is none, only statistics are kept. */
void allo_announce_begin(void);

/* "PID counted BLOCKS BYTES LIVE-BLOCKS LIVE-BYTES PEAK-BLOCKS PEAK-BYTES", where that is all there
 * is of the process: it exits. */
void allo_announce_counts(void);

#endif
