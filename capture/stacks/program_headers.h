/*
 * program_headers.h - the ELF program headers of a loaded module, and its segments in memory.
 */
#ifndef ALLO_CAPTURE_PROGRAM_HEADERS_H
#define ALLO_CAPTURE_PROGRAM_HEADERS_H

#include "capture/stacks/modules.h"

#include <link.h>

struct allo_program_headers {
	const ElfW(Phdr) * table;
	size_t count;
	uint64_t bias; /* load address minus the addresses in the headers */
};

/* Those of a file that is loaded at `start`; `size` bytes of it can be read. */
bool allo_program_headers_at(const uint8_t *start, size_t size,
			     struct allo_program_headers *headers);

/* False if the module's headers are not mapped. */
bool allo_program_headers_find(const struct allo_code_module *module,
			       struct allo_program_headers *headers);

static inline const uint8_t *allo_segment_start(const struct allo_program_headers *headers,
						size_t part)
{
	return (const uint8_t *)(headers->table[part].p_vaddr + headers->bias);
}

/* The loaded segment that contains an address; false if no segment does. */
bool allo_segment_find(const struct allo_program_headers *headers, const void *address,
		       const uint8_t **start, const uint8_t **end);

enum { ALLO_BUILD_ID_MAX = 64 };

/* The build id of a module, of at most ALLO_BUILD_ID_MAX bytes; NULL if it has none. */
const uint8_t *allo_build_id_find(const struct allo_code_module *module, size_t *len);

#endif
