/* module_symbols.c - reads .gnu.hash in memory and .symtab from files, which are not trusted. */
#include "capture/stacks/module_symbols.h"
#include "capture/stacks/program_headers.h"
#include "capture/system.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

/* Exported symbols. */

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash;
};

struct allo_exports allo_exports_of(const struct allo_code_module *module)
{
	struct allo_exports exports = { NULL, module->bias };
	struct allo_program_headers headers;

	if (!allo_program_headers_find(module, &headers))
		return exports;
	for (size_t i = 0; i < headers.count; i++) {
		if (headers.table[i].p_type == PT_DYNAMIC)
			exports.dynamic = (const void *)allo_segment_start(&headers, i);
	}
	return exports;
}

static bool find_tables(struct allo_exports exports, struct tables *tables)
{
	const ElfW(Dyn) *entry = exports.dynamic;

	*tables = (struct tables){ 0 };
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		/* glibc has made these absolute, musl has not. */
		uint64_t value = entry->d_un.d_ptr;
		const void *at = (const void *)(value < exports.bias ? value + exports.bias
								     : value);

		if (entry->d_tag == DT_SYMTAB)
			tables->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			tables->names = at;
		else if (entry->d_tag == DT_GNU_HASH)
			tables->hash = at;
	}
	return tables->symbols && tables->names && tables->hash && tables->hash[0] > 0;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_function(const ElfW(Sym) * symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

static bool is_defined(const ElfW(Sym) * symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0;
}

bool allo_export_find(struct allo_exports exports, const char *name,
		      struct allo_module_symbol *symbol)
{
	uint32_t hash = hash_of(name), bucket_count, first, words, index;
	const uint32_t *buckets, *chain;
	struct tables tables;

	if (!find_tables(exports, &tables))
		return false;
	bucket_count = tables.hash[0];
	first = tables.hash[1];
	words = tables.hash[2];
	buckets = tables.hash + 4 + 2 * words;
	index = buckets[hash % bucket_count];
	if (index < first)
		return false;
	/* The lowest bit of a hash marks the end of the chain. */
	for (chain = buckets + bucket_count - first;; index++) {
		const ElfW(Sym) *found = &tables.symbols[index];

		if ((chain[index] | 1) == (hash | 1) && is_defined(found) &&
		    strcmp(tables.names + found->st_name, name) == 0) {
			*symbol = (struct allo_module_symbol){ exports.bias + found->st_value,
							       found->st_size, is_function(found) };
			return true;
		}
		if (chain[index] & 1)
			return false;
	}
}

void *allo_export_address(struct allo_exports exports, const char *name)
{
	struct allo_module_symbol symbol;

	return allo_export_find(exports, name, &symbol) ? (void *)symbol.address : NULL;
}

/* Files. */

enum { MAX_TABLE = 1 << 30 };

/* A part of a file, in memory; all zeros: none. */
struct part {
	uint8_t *bytes;
	size_t size;
};

static bool read_all(int fd, uint64_t at, void *to, size_t size)
{
	for (size_t have = 0; have < size;) {
		long got = at + have > INT64_MAX ? -1
						 : ALLO_SYSCALL4(SYS_pread64, fd, (char *)to + have,
								 size - have, at + have);

		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

/* A NUL follows the part. */
static struct part read_part(int fd, uint64_t at, uint64_t size)
{
	struct part part = { 0 };

	if (size == 0 || size > MAX_TABLE)
		return part;
	part.size = (size_t)size;
	part.bytes = allo_map(part.size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	if (part.bytes && !read_all(fd, at, part.bytes, part.size)) {
		allo_unmap(part.bytes, part.size + 1);
		part.bytes = NULL;
	}
	return part;
}

static void drop_part(struct part *part)
{
	if (part->bytes)
		allo_unmap(part->bytes, part->size + 1);
}

/* The symbol table and its names, as sections. */
static bool find_sections(int fd, Elf64_Shdr *symbols, Elf64_Shdr *names)
{
	struct part sections;
	const Elf64_Shdr *all;
	bool is_found = false;
	Elf64_Ehdr head;

	if (!read_all(fd, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_shentsize != sizeof(*all))
		return false;
	sections = read_part(fd, head.e_shoff, (uint64_t)head.e_shnum * sizeof(*all));
	all = (const void *)sections.bytes;
	for (size_t i = 0; sections.bytes && i < head.e_shnum && !is_found; i++) {
		is_found = all[i].sh_type == SHT_SYMTAB && all[i].sh_link < head.e_shnum;
		if (is_found) {
			*symbols = all[i];
			*names = all[all[i].sh_link];
		}
	}
	drop_part(&sections);
	return is_found;
}

struct visit {
	const struct allo_code_module *module;
	const char *const *endings;
	allo_module_symbol_visitor *visitor;
	void *context;
};

static void visit_all(const struct visit *visit, const struct part *symbols,
		      const struct part *names)
{
	const Elf64_Sym *all = (const void *)symbols->bytes;

	for (size_t i = 0; i < symbols->size / sizeof(*all); i++) {
		if (is_function(&all[i]) && is_defined(&all[i]) && all[i].st_name < names->size)
			visit->visitor(
				visit->context, (const char *)names->bytes + all[i].st_name,
				(struct allo_module_symbol){ visit->module->bias + all[i].st_value,
							     all[i].st_size, true });
	}
}

static bool has_ending(const struct part *names, const char *const *endings)
{
	bool is_there = false;

	for (; *endings && !is_there; endings++)
		is_there = memmem(names->bytes, names->size, *endings, strlen(*endings) + 1);
	return is_there;
}

/* Most programs have no such name: then the symbols are not read. */
static bool visit_file(const struct visit *visit, int fd)
{
	struct part symbols, names;
	Elf64_Shdr of_symbols = { 0 }, of_names = { 0 };

	if (!find_sections(fd, &of_symbols, &of_names))
		return false;
	names = read_part(fd, of_names.sh_offset, of_names.sh_size);
	if (names.bytes && has_ending(&names, visit->endings)) {
		symbols = read_part(fd, of_symbols.sh_offset, of_symbols.sh_size);
		if (symbols.bytes)
			visit_all(visit, &symbols, &names);
		drop_part(&symbols);
	}
	drop_part(&names);
	return true;
}

bool allo_module_symbols_visit(const struct allo_code_module *module, const char *path,
			       const char *const *endings, allo_module_symbol_visitor *visitor,
			       void *context)
{
	struct visit visit = { module, endings, visitor, context };
	long fd = ALLO_SYSCALL3(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	bool has_table = fd >= 0 && visit_file(&visit, (int)fd);

	if (fd >= 0)
		ALLO_SYSCALL1(SYS_close, fd);
	return has_table;
}
