/*
 * memory_figures.h - how much memory a process has, and how near its limit that is.
 *
 * Read from /proc and from the files of control groups, both versions; what cannot be read is not
 * known.
 */
#ifndef ALLO_CLI_MEMORY_FIGURES_H
#define ALLO_CLI_MEMORY_FIGURES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Resident now, and at most so far; false when the process is gone. */
bool allo_memory_resident(pid_t pid, uint64_t *now_bytes, uint64_t *peak_bytes);

/* The least limit of its control groups, or what the machine has. */
uint64_t allo_memory_limit(pid_t pid);

/* Share of the last ten seconds in which some of its group, or of the machine, waited for memory,
 * in percent; false when the kernel does not tell. */
bool allo_memory_pressure(pid_t pid, double *percent);

#endif
