/*
 * jit_map.h - names of code that a process has made for itself.
 *
 * Programs that compile while they run may tell perf of it in /tmp/perf-PID.map, a line for each
 * function: where it begins and how long it is, in hex, and its name.  Of several lines for an
 * address the last one counts.
 */
#ifndef ALLO_SYMBOLS_JIT_MAP_H
#define ALLO_SYMBOLS_JIT_MAP_H

#include "profile/profile.h"

/* Names the frames that are in no module, if there is such a file, it is ours, and it was written
 * while the process ran: a number may be another process's by now. */
bool allo_jit_map_use(struct allo_profile *profile, struct allo_error *err);

#endif
