/*
 * program_headers.h - the headers of a module as it lies in memory: its program headers.
 */
#ifndef ALLO_CAPTURE_PROGRAM_HEADERS_H
#define ALLO_CAPTURE_PROGRAM_HEADERS_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

struct allo_program_headers {
	const ElfW(Phdr) * table;
	size_t count;
	uint64_t bias; /* what the headers' addresses are short of */
};

/* False where the module does not show them. */
bool allo_program_headers_find(const struct dl_find_object *module,
			       struct allo_program_headers *headers);

/* Where a part lies. */
static inline const uint8_t *allo_segment_start(const struct allo_program_headers *headers,
						size_t part)
{
	return (const uint8_t *)(headers->table[part].p_vaddr + headers->bias);
}

/* The part that is loaded and holds an address; false when there is none. */
bool allo_segment_find(const struct allo_program_headers *headers, const void *address,
		       const uint8_t **start, const uint8_t **end);

#endif
