/*
 * helper_process.h - runs a function in a process that shares our memory but not our descriptors.
 *
 * A program at its limit of descriptors has none left for us.  The helper has a copy of the
 * program's descriptors, closes some of them, and maps a file into the memory that it shares.  It
 * lives for some ten microseconds, during which the calling thread waits.
 */
#ifndef ALLO_CAPTURE_HELPER_PROCESS_H
#define ALLO_CAPTURE_HELPER_PROCESS_H

typedef long allo_helper_work(void *context);

/* Returns the result of `work`, or -errno if there is no helper.  `work` makes system calls through
 * capture/system.h only. */
long allo_helper_run(allo_helper_work *work, void *context);

#endif
