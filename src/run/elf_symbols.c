#include "run/elf_symbols.h"

#include "base/defer.h"
#include "run/elf_gnu_hash.h"

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
	NAME_ROOM = 64,          /* longer names are none that anybody looks for */
	MAX_HEADERS = 64 * 1024, /* bytes of program headers that the kernel reads */
	MAX_NOTES = 64 * 1024,
};

/* A section of symbols, and the section of their names. */
struct table {
	int fd;
	uint64_t at, count; /* the symbols */
	uint64_t names_at, names_len;
	char *names; /* of all symbols, if they were read; a NUL follows */
	bool has_hash;
	struct allo_elf_hash hash;
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

static void find_hash(struct table *table, const Elf64_Shdr *sections, size_t count)
{
	for (size_t i = 0; i < count && !table->has_hash; i++)
		table->has_hash = sections[i].sh_type == SHT_GNU_HASH &&
				  allo_elf_hash_open(&table->hash, table->fd, &sections[i]);
}

static bool take_section(struct table *table, const Elf64_Shdr *sections, size_t count, size_t own)
{
	const Elf64_Shdr *names;

	if (sections[own].sh_link >= count)
		return false;
	names = &sections[sections[own].sh_link];
	if (names->sh_type != SHT_STRTAB || names->sh_size > MAX_NAMES ||
	    names->sh_offset > INT64_MAX)
		return false;
	table->at = sections[own].sh_offset;
	table->count = sections[own].sh_size / sizeof(Elf64_Sym);
	table->names_at = names->sh_offset;
	table->names_len = names->sh_size;
	if (sections[own].sh_type == SHT_DYNSYM)
		find_hash(table, sections, count);
	return true;
}

static bool find_table(int fd, uint32_t type, struct table *table)
{
	ALLO_DEFER(allo_free_pointer) Elf64_Shdr *sections = NULL;
	Elf64_Ehdr head;
	size_t size;

	*table = (struct table){ .fd = fd };
	if (allo_elf_read(fd, 0, &head, sizeof(head)) != sizeof(head) ||
	    head.e_shentsize != sizeof(*sections) || head.e_shnum == 0)
		return false;
	size = head.e_shnum * sizeof(*sections);
	sections = malloc(size);
	if (!sections || allo_elf_read(fd, head.e_shoff, sections, size) != size)
		return false;
	for (size_t i = 0; i < head.e_shnum; i++) {
		if (sections[i].sh_type == type)
			return take_section(table, sections, head.e_shnum, i);
	}
	return false;
}

/* Names. */

static bool read_names(struct table *table)
{
	table->names = malloc(table->names_len + 1);
	if (!table->names || allo_elf_read(table->fd, table->names_at, table->names,
					   table->names_len) != table->names_len)
		return false;
	table->names[table->names_len] = '\0';
	return true;
}

/* A name that was read before, or the first bytes of one, in `room`. */
static const char *name_of(const struct table *table, const Elf64_Sym *symbol, char room[NAME_ROOM])
{
	size_t len;

	if (symbol->st_name >= table->names_len)
		return "";
	if (table->names)
		return table->names + symbol->st_name;
	len = allo_elf_read(table->fd, table->names_at + symbol->st_name, room, NAME_ROOM - 1);
	room[len] = '\0';
	return room;
}

/* Symbols. */

static void look_at(const struct table *table, const Elf64_Sym *symbol,
		    struct allo_elf_symbol *wanted, size_t count)
{
	char room[NAME_ROOM];
	const char *name = name_of(table, symbol, room);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, wanted[i].name) != 0)
			continue;
		wanted[i].is_there = true;
		wanted[i].is_defined |= symbol->st_shndx != SHN_UNDEF;
		wanted[i].is_needed |= symbol->st_shndx == SHN_UNDEF &&
				       ELF64_ST_BIND(symbol->st_info) != STB_WEAK;
	}
}

/* Looks at the symbols before number `end`. */
static void scan(const struct table *table, uint64_t end, struct allo_elf_symbol *wanted,
		 size_t count)
{
	Elf64_Sym block[BLOCK];

	for (uint64_t done = 0; done < end;) {
		uint64_t left = end - done;
		size_t most = left < BLOCK ? (size_t)left : BLOCK;
		size_t have = allo_elf_read(table->fd, table->at + done * sizeof(*block), block,
					    most * sizeof(*block)) /
			      sizeof(*block);

		for (size_t i = 0; i < have; i++)
			look_at(table, &block[i], wanted, count);
		if (have < most)
			break;
		done += have;
	}
}

/* Looks at the exported symbols that may have one of the names. */
static void look_up(const struct table *table, struct allo_elf_symbol *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct allo_elf_chain chain = allo_elf_hash_look_up(&table->hash, wanted[i].name);
		uint64_t number;
		Elf64_Sym symbol;

		while (allo_elf_chain_next(&chain, &number)) {
			if (number < table->count &&
			    allo_elf_read(table->fd, table->at + number * sizeof(symbol), &symbol,
					  sizeof(symbol)) == sizeof(symbol))
				look_at(table, &symbol, &wanted[i], 1);
		}
	}
}

void allo_elf_find_symbols(int fd, struct allo_elf_symbol *symbols, size_t count)
{
	struct table table;

	if (!find_table(fd, SHT_DYNSYM, &table))
		return;
	if (table.has_hash) {
		scan(&table, table.hash.first < table.count ? table.hash.first : table.count,
		     symbols, count);
		look_up(&table, symbols, count);
	} else if (read_names(&table)) {
		scan(&table, table.count, symbols, count);
	}
	free(table.names);
}

bool allo_elf_find_static_symbols(int fd, struct allo_elf_symbol *symbols, size_t count)
{
	struct table table;
	bool is_there = find_table(fd, SHT_SYMTAB, &table) && read_names(&table);

	if (is_there)
		scan(&table, table.count, symbols, count);
	free(table.names);
	return is_there;
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
