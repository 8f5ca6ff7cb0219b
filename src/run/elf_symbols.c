#include "run/elf_symbols.h"

#include "base/defer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Programs of hundreds of megabytes have a few megabytes of names. */
enum {
	MAX_NAMES = 256 << 20,
	BLOCK = 512,
	MAX_HEADERS = 64 * 1024, /* bytes of program headers that the kernel reads */
	MAX_NOTES = 64 * 1024,
};

/* The names, which end with a NUL, and the symbols. */
struct table {
	char *names;
	uint64_t names_len;
	uint64_t at, count;
};

size_t allo_elf_read(int fd, unsigned long long at, void *out, size_t len)
{
	size_t have = 0;

	while (have < len && at + have <= INT64_MAX) {
		ssize_t got = pread(fd, (char *)out + have, len - have, (off_t)(at + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

static bool read_names(int fd, const Elf64_Shdr *section, struct table *table)
{
	if (section->sh_type != SHT_STRTAB || section->sh_size > MAX_NAMES)
		return false;
	table->names_len = section->sh_size;
	table->names = malloc(table->names_len + 1);
	if (!table->names || allo_elf_read(fd, section->sh_offset, table->names,
					   table->names_len) != table->names_len)
		return false;
	table->names[table->names_len] = '\0';
	return true;
}

static bool find_table(int fd, uint32_t type, struct table *table)
{
	ALLO_DEFER(allo_free_pointer) Elf64_Shdr *sections = NULL;
	Elf64_Ehdr head;
	size_t size;

	if (allo_elf_read(fd, 0, &head, sizeof(head)) != sizeof(head) ||
	    head.e_shentsize != sizeof(*sections) || head.e_shnum == 0)
		return false;
	size = head.e_shnum * sizeof(*sections);
	sections = malloc(size);
	if (!sections || allo_elf_read(fd, head.e_shoff, sections, size) != size)
		return false;
	for (size_t i = 0; i < head.e_shnum; i++) {
		if (sections[i].sh_type != type)
			continue;
		table->at = sections[i].sh_offset;
		table->count = sections[i].sh_size / sizeof(Elf64_Sym);
		return sections[i].sh_link < head.e_shnum &&
		       read_names(fd, &sections[sections[i].sh_link], table);
	}
	return false;
}

static void look_at(const struct table *table, const Elf64_Sym *symbol,
		    struct allo_elf_symbol *wanted, size_t count)
{
	const char *name = table->names + symbol->st_name;

	if (symbol->st_name >= table->names_len)
		return;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, wanted[i].name) != 0)
			continue;
		wanted[i].is_there = true;
		wanted[i].is_defined |= symbol->st_shndx != SHN_UNDEF;
		wanted[i].is_needed |= symbol->st_shndx == SHN_UNDEF &&
				       ELF64_ST_BIND(symbol->st_info) != STB_WEAK;
	}
}

static bool find_in_table(int fd, uint32_t type, struct allo_elf_symbol *symbols, size_t count)
{
	struct table table = { 0 };
	Elf64_Sym block[BLOCK];
	bool is_there = find_table(fd, type, &table);

	if (is_there) {
		for (uint64_t done = 0; done < table.count;) {
			size_t have = allo_elf_read(fd, table.at + done * sizeof(*block), block,
						    sizeof(block)) /
				      sizeof(*block);

			for (size_t i = 0; i < have && done + i < table.count; i++)
				look_at(&table, &block[i], symbols, count);
			if (have < BLOCK)
				break;
			done += have;
		}
	}
	free(table.names);
	return is_there;
}

void allo_elf_find_symbols(int fd, struct allo_elf_symbol *symbols, size_t count)
{
	find_in_table(fd, SHT_DYNSYM, symbols, count);
}

bool allo_elf_find_static_symbols(int fd, struct allo_elf_symbol *symbols, size_t count)
{
	return find_in_table(fd, SHT_SYMTAB, symbols, count);
}

/* Notes. */

bool allo_elf_read_headers(int fd, Elf64_Phdr **headers, size_t *count)
{
	Elf64_Ehdr head;
	size_t size;

	if (allo_elf_read(fd, 0, &head, sizeof(head)) != sizeof(head) ||
	    head.e_phentsize != sizeof(**headers))
		return false;
	*count = head.e_phnum;
	size = *count * sizeof(**headers);
	*headers = size > 0 && size <= MAX_HEADERS ? malloc(size) : NULL;
	return *headers && allo_elf_read(fd, head.e_phoff, *headers, size) == size;
}

static size_t padded(size_t size)
{
	return (size + 3) / 4 * 4;
}

/* Names include a NUL. */
static bool has_owner(const char *notes, size_t len, const char *owner)
{
	size_t name_len = strlen(owner) + 1, at = 0;
	Elf64_Nhdr note;

	while (len - at >= sizeof(note)) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz >= name_len && len - at >= name_len &&
		    memcmp(notes + at, owner, name_len) == 0)
			return true;
		if (padded(note.n_namesz) + padded(note.n_descsz) > len - at)
			return false;
		at += padded(note.n_namesz) + padded(note.n_descsz);
	}
	return false;
}

static bool segment_has_owner(int fd, const Elf64_Phdr *header, const char *owner)
{
	ALLO_DEFER(allo_free_pointer)
	char *notes = header->p_filesz <= MAX_NOTES ? malloc(header->p_filesz + 1) : NULL;

	return notes &&
	       has_owner(notes, allo_elf_read(fd, header->p_offset, notes, header->p_filesz),
			 owner);
}

bool allo_elf_has_note(int fd, const char *owner)
{
	ALLO_DEFER(allo_free_pointer) Elf64_Phdr *headers = NULL;
	bool is_there = false;
	size_t count;

	if (!allo_elf_read_headers(fd, &headers, &count))
		return false;
	for (size_t i = 0; i < count && !is_there; i++)
		is_there = headers[i].p_type == PT_NOTE &&
			   segment_has_owner(fd, &headers[i], owner);
	return is_there;
}
