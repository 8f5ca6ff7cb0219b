/* parts.c - see parts.h. */
#include "capture/parts.h"

#include <string.h>
#include <sys/auxv.h>

/* The kernel hands the program's headers to it; its parts need not be mapped side by side. */
static bool find_of_program(const struct dl_find_object *module, struct allo_parts *parts)
{
	parts->headers = (const void *)getauxval(AT_PHDR);
	parts->count = getauxval(AT_PHNUM);
	parts->bias = module->dlfo_link_map->l_addr;
	return parts->headers != NULL;
}

/* Libraries are one piece, which begins with the file's header. */
static bool find_of_library(const struct dl_find_object *module, struct allo_parts *parts)
{
	const uint8_t *start = module->dlfo_map_start;
	size_t size = (size_t)((const uint8_t *)module->dlfo_map_end - start);
	const ElfW(Ehdr) *head = (const void *)start;

	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(*parts->headers))
		return false;
	parts->headers = (const void *)(start + head->e_phoff);
	parts->count = head->e_phnum;
	parts->bias = module->dlfo_link_map->l_addr;
	return true;
}

bool allo_parts_find(const struct dl_find_object *module, struct allo_parts *parts)
{
	return module->dlfo_link_map->l_name[0] == '\0' ? find_of_program(module, parts)
							: find_of_library(module, parts);
}

bool allo_parts_loaded(const struct allo_parts *parts, const void *address, const uint8_t **start,
		       const uint8_t **end)
{
	for (size_t i = 0; i < parts->count; i++) {
		if (parts->headers[i].p_type != PT_LOAD)
			continue;
		*start = allo_part_start(parts, i);
		*end = *start + parts->headers[i].p_memsz;
		if ((const uint8_t *)address >= *start && (const uint8_t *)address < *end)
			return true;
	}
	return false;
}
