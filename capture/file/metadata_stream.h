/*
 * metadata_stream.h - the stream of metadata: loaded modules, labels and marks of the program.
 *
 * A module is written before the first stack with a frame in it, and again when it was unloaded.
 * All functions need the lock of the stacks: see stack_intern.h.
 */
#ifndef ALLO_CAPTURE_METADATA_STREAM_H
#define ALLO_CAPTURE_METADATA_STREAM_H

#include "wire/layout.h"
#include "wire/stacks.h"

#include <stdbool.h>

enum {
	ALLO_METADATA_MAX = 8 << 10, /* bytes of a record's body: its length is a 2-byte varint */
	ALLO_MODULES_MAX = 1024,
};

struct allo_mapped_module {
	uint64_t start, end;
	uint64_t identity; /* of struct allo_code_module */
};

/* All zeros is a closed stream. */
struct allo_metadata {
	struct allo_wire_slot *tail;
	uint32_t module_count, last_module; /* last_module: index of the last hit */
	struct allo_mapped_module modules[ALLO_MODULES_MAX];
};

bool allo_metadata_open(struct allo_metadata *metadata);

/* Where to write the body of a record; NULL if the disk is full. */
uint8_t *allo_metadata_begin(struct allo_wire_slot *tail);

/* Completes the record whose body ends at `end`. */
void allo_metadata_end(struct allo_wire_slot *tail, enum allo_fact fact, const uint8_t *end);

/* Writes the module of a new frame, if it has one that is not written yet. */
void allo_metadata_note_module(struct allo_metadata *metadata, uint64_t pc);

/* Writes which modules were unloaded, and forgets them. */
void allo_metadata_check_modules(struct allo_metadata *metadata);

#endif
