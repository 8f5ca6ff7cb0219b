/*
 * announce.h - reports recordings to the process that started them (`allo run`), as lines in the
 * file that ALLO_LIST names.
 */
#ifndef ALLO_CAPTURE_ANNOUNCE_H
#define ALLO_CAPTURE_ANNOUNCE_H

/* Appends "PID PATH" when a recording begins, or "PID counting" in the mode without a file. */
void allo_announce_begin(void);

/* Appends "PID counted BLOCKS BYTES LIVE-BLOCKS LIVE-BYTES PEAK-BLOCKS PEAK-BYTES" when a process
 * without a file exits. */
void allo_announce_counts(void);

#endif
