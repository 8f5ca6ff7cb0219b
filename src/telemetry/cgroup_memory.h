/*
 * cgroup_memory.h - what a control group says of the memory of all that is in it.
 *
 * Names are those of version 2; what version 1 calls otherwise and means the same has them, too.
 */
#ifndef ALLO_TELEMETRY_CGROUP_MEMORY_H
#define ALLO_TELEMETRY_CGROUP_MEMORY_H

#include "telemetry/cgroup_place.h"

#include <allo.h>

/* Usage, peak, limits and swap.  Returns 0, or why not even the usage can be read. */
int allo_cgroup_read_usage(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			   const char *root, struct allo_cgroup_memory *memory);

/* memory.stat, and what follows from it and the usage; of version 1 also the limit. */
int allo_cgroup_read_stat(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			  const char *root, struct allo_cgroup_memory *memory);

int allo_cgroup_read_events(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			    const char *root, struct allo_cgroup_memory *memory);

int allo_cgroup_read_pressure(const struct allo_cgroup_place *place,
			      struct allo_proc_reader *reader, const char *root,
			      struct allo_cgroup_memory *memory);

/* The lines of a file of memory.stat's form. */
void allo_cgroup_take_stats(struct allo_proc_reader *reader, int version,
			    struct allo_cgroup_memory *memory);

/* The lines of a file of pressure: for how long some, and all that could run, have waited. */
void allo_take_pressure(struct allo_proc_reader *reader, uint64_t *some_ns, uint64_t *full_ns);

/* The value of a name in the list; ALLO_UNKNOWN if it is not there. */
uint64_t allo_cgroup_stat(const struct allo_cgroup_memory *memory, const char *name);

#endif
