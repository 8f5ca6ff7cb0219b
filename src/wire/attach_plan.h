/*
 * attach_plan.h - what the runtime and `allo attach` tell each other.
 *
 * `allo attach` loads the runtime into a process and calls allo_attach_prepare() there.  The
 * runtime makes its trampolines and fills allo_attach_plan, a variable of the library; `allo
 * attach` reads it from the memory of the process, and writes the new bytes while all threads are
 * stopped.
 */
#ifndef ALLO_WIRE_ATTACH_PLAN_H
#define ALLO_WIRE_ATTACH_PLAN_H

#include <stdint.h>

#define ALLO_ATTACH_MAGIC "alloplan"

/* Name of the file in memory that holds the library, as /proc/PID/maps shows it. */
#define ALLO_ATTACH_FILE "liballo.so"
#define ALLO_ATTACH_PATH "/memfd:" ALLO_ATTACH_FILE

enum {
	ALLO_ATTACH_VERSION = 2,
	ALLO_ATTACH_ENTRIES = 64,
	ALLO_ATTACH_BYTES = 8,
	ALLO_ATTACH_WHY = 160,
};

/* The entry of a function: `length` bytes change.  A thread must not stand within them. */
struct allo_attach_entry {
	uint64_t at;
	uint32_t length, reserved;
	uint8_t old_bytes[ALLO_ATTACH_BYTES], new_bytes[ALLO_ATTACH_BYTES];
};

struct allo_attach_plan {
	char magic[8];
	uint32_t version;
	uint32_t count; /* of entries; 0: the runtime refuses */
	char why[ALLO_ATTACH_WHY];
	struct allo_attach_entry entries[ALLO_ATTACH_ENTRIES];
};

#endif
