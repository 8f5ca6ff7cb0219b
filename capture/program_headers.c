#include "capture/program_headers.h"

#include <string.h>
#include <sys/auxv.h>

/* The kernel passes the program its headers, since its segments need not be contiguous. */
static bool find_of_program(const struct dl_find_object *module,
			    struct allo_program_headers *headers)
{
	headers->table = (const void *)getauxval(AT_PHDR);
	headers->count = getauxval(AT_PHNUM);
	headers->bias = module->dlfo_link_map->l_addr;
	return headers->table != NULL;
}

/* A library is mapped as one range that begins with the ELF header. */
static bool find_of_library(const struct dl_find_object *module,
			    struct allo_program_headers *headers)
{
	const uint8_t *start = module->dlfo_map_start;
	size_t size = (size_t)((const uint8_t *)module->dlfo_map_end - start);
	const ElfW(Ehdr) *head = (const void *)start;

	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phoff > size ||
	    head->e_phnum > (size - head->e_phoff) / sizeof(*headers->table))
		return false;
	headers->table = (const void *)(start + head->e_phoff);
	headers->count = head->e_phnum;
	headers->bias = module->dlfo_link_map->l_addr;
	return true;
}

bool allo_program_headers_find(const struct dl_find_object *module,
			       struct allo_program_headers *headers)
{
	return module->dlfo_link_map->l_name[0] == '\0' ? find_of_program(module, headers)
							: find_of_library(module, headers);
}

bool allo_segment_find(const struct allo_program_headers *headers, const void *address,
		       const uint8_t **start, const uint8_t **end)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (headers->table[i].p_type != PT_LOAD)
			continue;
		*start = allo_segment_start(headers, i);
		*end = *start + headers->table[i].p_memsz;
		if ((const uint8_t *)address >= *start && (const uint8_t *)address < *end)
			return true;
	}
	return false;
}
