/*
 * jit_map.h - names of code that a process compiled while it ran.
 *
 * Such programs may list it for perf in /tmp/perf-PID.map, one function per line: its start and
 * length, in hex, and its name.  The last line for an address counts.
 */
#ifndef ALLO_SYMBOLS_JIT_MAP_H
#define ALLO_SYMBOLS_JIT_MAP_H

#include "base/io/input.h"
#include "profile/profile.h"

/* Names frames outside of all modules, if the process of the profile has left a map. */
bool allo_jit_map_use(struct allo_profile *profile, struct allo_error *err);

/* The same with the lines of an input. */
bool allo_jit_map_read(struct allo_profile *profile, struct allo_input *in, struct allo_error *err);

#endif
