/*
 * fuzz_line_program.c - any bytes as the line program of a unit, within a file of debug information
 * that is otherwise sound.
 *
 * The first byte says of which version the unit is, the next two how many of the bytes that follow
 * are .debug_line_str and .debug_str; the rest is .debug_line.
 */
#include "symbols/line_program.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECTIONS = 7, ADDRESSES = 64, FIRST_ADDRESS = 0x401000, APART = 16 };

static const char names[] =
	"\0.debug_abbrev\0.debug_info\0.debug_line_str\0.debug_str\0.debug_line\0.shstrtab";

/* A unit without children: where its lines are, and its folder. */
static const uint8_t abbreviation[] = { 1, 0x11, 0, 0x10, 0x17, 0x1b, 0x08, 0, 0, 0 };
static const uint8_t unit_4[] = { 15, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0, '/', 'd', 0 };
static const uint8_t unit_5[] = { 16, 0, 0, 0, 5, 0, 1, 8, 0, 0, 0, 0, 1, 0, 0, 0, 0, '/', 'd', 0 };

struct section {
	const void *data;
	size_t len;
};

static uint32_t offset_of_name(unsigned number)
{
	const char *at = names;

	for (; number > 0; number--)
		at += strlen(at) + 1;
	return (uint32_t)(at - names);
}

/* A file of sections, to be freed. */
static char *make_file(const struct section *sections, size_t *size)
{
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shnum = SECTIONS,
			    .e_shstrndx = SECTIONS - 1 };
	Elf64_Shdr table[SECTIONS] = { { 0 } };
	size_t at = sizeof(head);
	char *file;

	for (unsigned i = 1; i < SECTIONS; i++) {
		table[i] = (Elf64_Shdr){ .sh_name = offset_of_name(i),
					 .sh_type = i == SECTIONS - 1 ? SHT_STRTAB : SHT_PROGBITS,
					 .sh_offset = at,
					 .sh_size = sections[i].len,
					 .sh_addralign = 1 };
		at += sections[i].len;
	}
	at = (at + 7) / 8 * 8;
	head.e_shoff = at;
	*size = at + sizeof(table);
	file = calloc(1, *size);
	if (!file)
		return NULL;
	memcpy(file, &head, sizeof(head));
	for (unsigned i = 1; i < SECTIONS; i++) {
		if (sections[i].len > 0)
			memcpy(file + table[i].sh_offset, sections[i].data, sections[i].len);
	}
	memcpy(file + at, table, sizeof(table));
	return file;
}

static void run(char *file, size_t size)
{
	struct allo_line_at addresses[ADDRESSES] = { { 0 } };
	struct allo_line_files files = { 0 };
	Elf *elf = elf_memory(file, size);
	Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	Dwarf_Off next;
	size_t head_size, len = 0;
	uint64_t bytes_left = size;
	Dwarf_Die unit;

	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i].address = FIRST_ADDRESS + APART * i;
	if (dwarf && dwarf_nextcu(dwarf, 0, &next, &head_size, NULL, NULL, NULL) == 0 &&
	    dwarf_offdie(dwarf, head_size, &unit) &&
	    allo_line_program_run(elf, &unit, addresses, ADDRESSES, &files, &bytes_left)) {
		for (size_t i = 0; i < ADDRESSES; i++)
			len += addresses[i].file ? strlen(addresses[i].file) : 0;
		if (len == SIZE_MAX)
			abort();
	}
	allo_line_files_done(&files);
	dwarf_end(dwarf);
	elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct section sections[SECTIONS] = { [1] = { abbreviation, sizeof(abbreviation) },
					      [SECTIONS - 1] = { names, sizeof(names) } };
	size_t strings, file_size;
	char *file;

	if (size < 3)
		return 0;
	strings = data[1] | (size_t)data[2] << 8;
	if (strings > size - 3)
		strings = size - 3;
	sections[2] = data[0] & 1 ? (struct section){ unit_5, sizeof(unit_5) }
				  : (struct section){ unit_4, sizeof(unit_4) };
	sections[3] = sections[4] = (struct section){ data + 3, strings };
	sections[5] = (struct section){ data + 3 + strings, size - 3 - strings };
	elf_version(EV_CURRENT);
	file = make_file(sections, &file_size);
	if (file)
		run(file, file_size);
	free(file);
	return 0;
}
