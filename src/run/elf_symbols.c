/*
 * elf_symbols.c - reads sections, the hash table, symbols and notes by pread(): nothing is mapped.
 */
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
	NAME_ROOM = 64,          /* longer names are none that anybody looks for */
	MAX_HEADERS = 64 * 1024, /* bytes of program headers that the kernel reads */
	MAX_NOTES = 64 * 1024,
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

/*
 * Symbols by the hash table.
 *
 * Large programs export tens of thousands of symbols.  The section .gnu.hash, which the dynamic
 * linker uses, finds one of them with three short reads.  Each look-up reads at most the section.
 */

struct gnu_hash {
	int fd;
	uint64_t buckets_at, chains_at, end; /* offsets in the file */
	uint32_t bucket_count;
	uint32_t first; /* number of the first symbol in the table; imports come before */
};

/* The symbols that may have a name, one after the other. */
struct hash_chain {
	const struct gnu_hash *hash;
	uint32_t code;   /* hash of the name */
	uint64_t symbol; /* number of the next one; 0: there is none */
};

/* The section begins with these; filter words, buckets and chains follow. */
struct hash_head {
	uint32_t bucket_count, first, filter_count, filter_shift;
};

/* Reads a 32-bit word inside of the section. */
static bool read_word(const struct gnu_hash *hash, uint64_t at, uint32_t *word)
{
	return at <= hash->end - sizeof(*word) &&
	       allo_elf_read(hash->fd, at, word, sizeof(*word)) == sizeof(*word);
}

/* False if the section is damaged. */
static bool open_hash(struct gnu_hash *hash, int fd, const Elf64_Shdr *section)
{
	struct hash_head head;
	uint64_t filter_bytes, bucket_bytes;

	if (section->sh_size < sizeof(head) || section->sh_offset > INT64_MAX ||
	    section->sh_size > INT64_MAX - section->sh_offset ||
	    allo_elf_read(fd, section->sh_offset, &head, sizeof(head)) != sizeof(head))
		return false;
	filter_bytes = head.filter_count * sizeof(uint64_t);
	bucket_bytes = head.bucket_count * sizeof(uint32_t);
	*hash = (struct gnu_hash){
		.fd = fd,
		.buckets_at = section->sh_offset + sizeof(head) + filter_bytes,
		.chains_at = section->sh_offset + sizeof(head) + filter_bytes + bucket_bytes,
		.end = section->sh_offset + section->sh_size,
		.bucket_count = head.bucket_count,
		.first = head.first,
	};
	return head.bucket_count > 0 && head.first > 0 &&
	       filter_bytes + bucket_bytes <= section->sh_size - sizeof(head);
}

/* The hash function of the format. */
static uint32_t code_of(const char *name)
{
	uint32_t code = 5381;

	for (; *name; name++)
		code = code * 33 + (unsigned char)*name;
	return code;
}

static struct hash_chain look_up_hash(const struct gnu_hash *hash, const char *name)
{
	struct hash_chain chain = { .hash = hash, .code = code_of(name) };
	uint32_t bucket = chain.code % hash->bucket_count, symbol;

	if (read_word(hash, hash->buckets_at + bucket * sizeof(symbol), &symbol) &&
	    symbol >= hash->first)
		chain.symbol = symbol;
	return chain;
}

/* A word of a chain is the symbol's hash; its lowest bit marks the end of the chain instead. */
/* False at the end. */
static bool next_in_chain(struct hash_chain *chain, uint64_t *symbol)
{
	const struct gnu_hash *hash = chain->hash;
	uint32_t word;

	while (chain->symbol != 0) {
		*symbol = chain->symbol;
		if (!read_word(hash, hash->chains_at + (*symbol - hash->first) * sizeof(word),
			       &word)) {
			chain->symbol = 0;
			return false;
		}
		chain->symbol = word & 1 ? 0 : *symbol + 1;
		if ((word | 1) == (chain->code | 1))
			return true;
	}
	return false;
}

/* Tables. */

/* A section of symbols, and the section of their names. */
struct table {
	int fd;
	uint64_t at, count; /* the symbols */
	uint64_t names_at, names_len;
	char *names; /* of all symbols, if they were read; a NUL follows */
	bool has_hash;
	struct gnu_hash hash;
};

static void find_hash(struct table *table, const Elf64_Shdr *sections, size_t count)
{
	for (size_t i = 0; i < count && !table->has_hash; i++)
		table->has_hash = sections[i].sh_type == SHT_GNU_HASH &&
				  open_hash(&table->hash, table->fd, &sections[i]);
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
		struct hash_chain chain = look_up_hash(&table->hash, wanted[i].name);
		uint64_t number;
		Elf64_Sym symbol;

		while (next_in_chain(&chain, &number)) {
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

/* A note; `owner` and `data` point into the notes. */
struct note {
	uint32_t type;
	const char *owner, *data;
	size_t owner_len, data_len;
};

/* Takes the note at *at; false at the end, and for a damaged one. */
static bool next_note(const char *notes, size_t len, size_t *at, struct note *note)
{
	Elf64_Nhdr head;
	size_t owner_size, data_size;

	if (len - *at < sizeof(head))
		return false;
	memcpy(&head, notes + *at, sizeof(head));
	*at += sizeof(head);
	owner_size = padded(head.n_namesz);
	data_size = padded(head.n_descsz);
	if (owner_size + data_size > len - *at)
		return false;
	*note = (struct note){ head.n_type, notes + *at, notes + *at + owner_size, head.n_namesz,
			       head.n_descsz };
	*at += owner_size + data_size;
	return true;
}

/* Finds a note by its owner, whose length includes a NUL, and its type (0: any). */
static bool find_note(const char *notes, size_t len, const char *owner, uint32_t type,
		      struct note *note)
{
	size_t at = 0, owner_len = strlen(owner) + 1;

	while (next_note(notes, len, &at, note)) {
		if (note->owner_len >= owner_len && memcmp(note->owner, owner, owner_len) == 0 &&
		    (type == 0 || note->type == type))
			return true;
	}
	return false;
}

/* Copies the data of a note, up to `room` bytes. */
static bool read_note(int fd, const Elf64_Phdr *header, const char *owner, uint32_t type,
		      unsigned char *data, size_t *room)
{
	ALLO_DEFER(allo_free_pointer)
	char *notes = header->p_filesz <= MAX_NOTES ? malloc(header->p_filesz + 1) : NULL;
	struct note note;

	if (!notes ||
	    !find_note(notes, allo_elf_read(fd, header->p_offset, notes, header->p_filesz), owner,
		       type, &note))
		return false;
	if (note.data_len < *room)
		*room = note.data_len;
	if (*room > 0)
		memcpy(data, note.data, *room);
	return true;
}

static bool find_in_file(int fd, const char *owner, uint32_t type, unsigned char *data,
			 size_t *room)
{
	ALLO_DEFER(allo_free_pointer) Elf64_Phdr *headers = NULL;
	bool is_there = false;
	size_t count;

	if (!allo_elf_read_headers(fd, &headers, &count))
		return false;
	for (size_t i = 0; i < count && !is_there; i++)
		is_there = headers[i].p_type == PT_NOTE &&
			   read_note(fd, &headers[i], owner, type, data, room);
	return is_there;
}

bool allo_elf_has_note(int fd, const char *owner)
{
	return find_in_file(fd, owner, 0, NULL, &(size_t){ 0 });
}

size_t allo_elf_build_id(int fd, unsigned char *id, size_t room)
{
	return find_in_file(fd, ELF_NOTE_GNU, NT_GNU_BUILD_ID, id, &room) ? room : 0;
}
