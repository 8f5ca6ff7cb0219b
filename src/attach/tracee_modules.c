/* tracee_modules.c - ELF headers, dynamic sections and hash tables in the memory of a process. */
#include "attach/tracee_modules.h"

#include "base/defer.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADERS_MAX = 64,  /* program headers of a module */
	DYNAMIC_MAX = 256, /* entries of a dynamic section */
	CHAIN_MAX = 4096,  /* symbols of one bucket */
};

/* Pointers in dynamic sections, as the dynamic linker leaves them: absolute, or not yet. */
static uint64_t absolute(const struct allo_tracee_module *module, uint64_t pointer)
{
	return pointer < module->bias ? pointer + module->bias : pointer;
}

static void read_dynamic(const struct allo_tracee_memory *memory, struct allo_tracee_module *module,
			 uint64_t at)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	size_t count = allo_tracee_read_some(memory, at, entries, sizeof(entries)) /
		       sizeof(*entries);
	uint64_t name = 0;

	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_ptr;

		if (entries[i].d_tag == DT_SYMTAB)
			module->symbols = absolute(module, value);
		else if (entries[i].d_tag == DT_STRTAB)
			module->names = absolute(module, value);
		else if (entries[i].d_tag == DT_GNU_HASH)
			module->hash = absolute(module, value);
		else if (entries[i].d_tag == DT_SONAME)
			name = value;
	}
	module->is_dynamic = module->symbols && module->names && module->hash;
	if (module->is_dynamic && name)
		allo_tracee_read_text(memory, module->names + name, module->name,
				      sizeof(module->name));
}

/* Finds where the module lies, and its dynamic section. */
static void read_headers(const struct allo_tracee_memory *memory, struct allo_tracee_module *module,
			 const Elf64_Ehdr *elf)
{
	Elf64_Phdr headers[HEADERS_MAX];
	uint64_t dynamic = 0;
	bool has_load = false;

	if (elf->e_phentsize != sizeof(*headers) || elf->e_phnum > HEADERS_MAX ||
	    !allo_tracee_read(memory, module->base + elf->e_phoff, headers,
			      elf->e_phnum * sizeof(*headers)))
		return;
	for (size_t i = 0; i < elf->e_phnum; i++) {
		if (headers[i].p_type == PT_LOAD && !has_load) {
			module->bias = module->base - headers[i].p_vaddr + headers[i].p_offset;
			has_load = true;
		}
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = headers[i].p_vaddr;
	}
	if (has_load && dynamic)
		read_dynamic(memory, module, module->bias + dynamic);
}

bool allo_tracee_modules_list(struct allo_tracee_modules *modules,
			      const struct allo_tracee_memory *memory, struct allo_error *err)
{
	modules->all.len = 0;
	for (size_t i = 0; i < memory->mappings.len; i++) {
		const struct allo_tracee_mapping *mapping = &memory->mappings.at[i];
		struct allo_tracee_module module = { .path = mapping->path,
						     .base = mapping->start };
		Elf64_Ehdr elf;

		if (mapping->offset != 0 || mapping->path[0] == '\0' ||
		    !allo_tracee_read(memory, mapping->start, &elf, sizeof(elf)) ||
		    memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
		    elf.e_ident[EI_CLASS] != ELFCLASS64)
			continue;
		module.machine = elf.e_machine;
		read_headers(memory, &module, &elf);
		if (!allo_vec_add(&modules->all, module, err))
			return false;
	}
	return true;
}

void allo_tracee_modules_done(struct allo_tracee_modules *modules)
{
	allo_vec_done(&modules->all);
}

const struct allo_tracee_module *allo_tracee_module_named(const struct allo_tracee_modules *modules,
							  const char *name)
{
	for (size_t i = 0; i < modules->all.len; i++) {
		if (strcmp(modules->all.at[i].name, name) == 0)
			return &modules->all.at[i];
	}
	return NULL;
}

const struct allo_tracee_module *allo_tracee_module_at(const struct allo_tracee_modules *modules,
						       const char *path)
{
	for (size_t i = 0; i < modules->all.len; i++) {
		if (strncmp(modules->all.at[i].path, path, strlen(path)) == 0)
			return &modules->all.at[i];
	}
	return NULL;
}

/* The hash function of the format. */
static uint32_t code_of(const char *name)
{
	uint32_t code = 5381;

	for (; *name; name++)
		code = code * 33 + (unsigned char)*name;
	return code;
}

/* The beginning of a table DT_GNU_HASH; filter words, buckets and chains follow. */
struct table {
	uint32_t bucket_count, first, filter_count, filter_shift;
};

/* Whether symbol `number` is a definition of this name. */
static bool is_it(const struct allo_tracee_memory *memory, const struct allo_tracee_module *module,
		  uint32_t number, const char *name, Elf64_Sym *symbol)
{
	char found[128];

	if (!allo_tracee_read(memory, module->symbols + (uint64_t)number * sizeof(*symbol), symbol,
			      sizeof(*symbol)) ||
	    symbol->st_shndx == SHN_UNDEF)
		return false;
	allo_tracee_read_text(memory, module->names + symbol->st_name, found, sizeof(found));
	return strcmp(found, name) == 0;
}

static bool find(const struct allo_tracee_memory *memory, const struct allo_tracee_module *module,
		 const char *name, Elf64_Sym *symbol)
{
	uint32_t code = code_of(name), number, word = 0;
	uint64_t buckets, chains;
	struct table table;

	if (!module->is_dynamic || !allo_tracee_read(memory, module->hash, &table, sizeof(table)) ||
	    table.bucket_count == 0)
		return false;
	buckets = module->hash + sizeof(table) + (uint64_t)table.filter_count * sizeof(uint64_t);
	chains = buckets + (uint64_t)table.bucket_count * sizeof(uint32_t);
	if (!allo_tracee_read(memory, buckets + code % table.bucket_count * sizeof(uint32_t),
			      &number, sizeof(number)) ||
	    number < table.first)
		return false;
	/* A word of a chain is the symbol's hash; its lowest bit marks the end of the chain. */
	for (unsigned i = 0; i < CHAIN_MAX && !(word & 1); i++, number++) {
		if (!allo_tracee_read(memory,
				      chains + (uint64_t)(number - table.first) * sizeof(word),
				      &word, sizeof(word)))
			return false;
		if ((word | 1) == (code | 1) && is_it(memory, module, number, name, symbol))
			return true;
	}
	return false;
}

uint64_t allo_tracee_symbol(const struct allo_tracee_memory *memory,
			    const struct allo_tracee_module *module, const char *name,
			    uint64_t *size)
{
	Elf64_Sym symbol;

	if (!find(memory, module, name, &symbol))
		return 0;
	if (size)
		*size = symbol.st_size;
	return module->bias + symbol.st_value;
}
