/* loaded_symbol.c - reads the hash tables of loaded libraries. */
#include "capture/hooks/loaded_symbol.h"
#include "capture/visibility.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { VERSION_HIDDEN = 0x8000 }; /* not the default version of a symbol */

extern ALLO_HIDDEN ElfW(Dyn) _DYNAMIC[];

struct library {
	ElfW(Addr) bias;
	const char *names;
	const ElfW(Sym) * symbols;
	const ElfW(Half) * versions; /* NULL: it has none */
	const uint32_t *hash;        /* DT_GNU_HASH */
};

/* The dynamic linker has corrected the addresses, except in the kernel's read-only library. */
static const void *address_of(const struct link_map *map, ElfW(Addr) address)
{
	return (const void *)(address < map->l_addr ? address + map->l_addr : address);
}

static bool read_library(const struct link_map *map, struct library *library)
{
	*library = (struct library){ .bias = map->l_addr };
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		const void *address = address_of(map, entry->d_un.d_ptr);

		if (entry->d_tag == DT_STRTAB)
			library->names = address;
		else if (entry->d_tag == DT_SYMTAB)
			library->symbols = address;
		else if (entry->d_tag == DT_VERSYM)
			library->versions = address;
		else if (entry->d_tag == DT_GNU_HASH)
			library->hash = address;
	}
	return library->names && library->symbols && library->hash;
}

static bool is_match(const struct library *library, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &library->symbols[index];
	unsigned kind = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && (kind == STT_FUNC || kind == STT_OBJECT) &&
	       !(library->versions && library->versions[index] & VERSION_HIDDEN) &&
	       strcmp(library->names + symbol->st_name, name) == 0;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static void *find_in(const struct library *library, const char *name)
{
	uint32_t hash = hash_of(name), buckets = library->hash[0], first = library->hash[1];
	const uint32_t *bucket = library->hash + 4 + library->hash[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t index = buckets ? bucket[hash % buckets] : 0;

	if (index < first)
		return NULL;
	/* The lowest bit marks the end of the chain. */
	for (;; index++) {
		uint32_t found = chain[index - first];

		if ((found | 1) == (hash | 1) && is_match(library, index, name))
			return (void *)(library->bias + library->symbols[index].st_value);
		if (found & 1)
			return NULL;
	}
}

/* Searches the libraries up to ours, or to the end of the list. */
static void *find_from(const struct link_map *map, const char *name)
{
	struct library library;
	void *found = NULL;

	for (; map && map->l_ld != _DYNAMIC && !found; map = map->l_next) {
		if (read_library(map, &library))
			found = find_in(&library, name);
	}
	return found;
}

void *allo_loaded_symbol(const char *name)
{
	const struct link_map *own = _r_debug.r_map;
	void *found;

	while (own && own->l_ld != _DYNAMIC)
		own = own->l_next;
	found = find_from(own ? own->l_next : NULL, name);
	/* Ours may be the last: it was loaded while the program ran. */
	return found ? found : find_from(_r_debug.r_map, name);
}
