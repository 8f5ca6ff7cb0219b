/*
 * parts.h - the parts of a module as it lies in memory: its program headers.
 */
#ifndef ALLO_CAPTURE_PARTS_H
#define ALLO_CAPTURE_PARTS_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

struct allo_parts {
	const ElfW(Phdr) * headers;
	size_t count;
	uint64_t bias; /* what the headers' addresses are short of */
};

/* False where the module does not show them. */
bool allo_parts_find(const struct dl_find_object *module, struct allo_parts *parts);

/* Where a part lies. */
static inline const uint8_t *allo_part_start(const struct allo_parts *parts, size_t part)
{
	return (const uint8_t *)(parts->headers[part].p_vaddr + parts->bias);
}

/* The part that is loaded and holds an address; false when there is none. */
bool allo_parts_loaded(const struct allo_parts *parts, const void *address, const uint8_t **start,
		       const uint8_t **end);

#endif
