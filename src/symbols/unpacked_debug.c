/* unpacked_debug.c - see unpacked_debug.h. */
#include "symbols/unpacked_debug.h"

#include "base/huge.h"

#include <libdeflate.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* What lines, inlined calls and their names are found by. */
static const char *const wanted[] = {
	".debug_abbrev", ".debug_addr",     ".debug_aranges",     ".debug_info",
	".debug_line",   ".debug_line_str", ".debug_ranges",      ".debug_rnglists",
	".debug_str",    ".debug_types",    ".debug_str_offsets",
};

enum {
	PARTS = sizeof(wanted) / sizeof(*wanted),
	TYPE_ZLIB = 1, /* of Elf64_Chdr; older headers do not know the second */
	TYPE_ZSTD = 2,
	RATIO_MOST = 1100, /* beyond what zlib can do; a file that tells of more lies */
	ALIGN = 16,
};

static const char names_section[] = ".shstrtab";

struct part {
	const char *name; /* NULL: the file has none */
	const char *bytes;
	uint64_t packed_len, len;
	uint32_t type; /* 0: not packed */
};

void allo_unpacked_debug_done(struct allo_unpacked_debug *unpacked)
{
	elf_end(unpacked->elf);
	free(unpacked->image);
	*unpacked = (struct allo_unpacked_debug){ 0 };
}

static bool unpack(const struct part *part, char *to)
{
	struct libdeflate_decompressor *zlib;
	bool ok;

	if (part->type == 0) {
		memcpy(to, part->bytes, part->len);
		return true;
	}
	if (part->type == TYPE_ZSTD)
		return ZSTD_decompress(to, part->len, part->bytes, part->packed_len) == part->len;
	zlib = libdeflate_alloc_decompressor();
	ok = zlib && libdeflate_zlib_decompress(zlib, part->bytes, part->packed_len, to, part->len,
						NULL) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(zlib);
	return ok;
}

/* What a section is made of; false where that is not known here. */
static bool take_section(Elf_Scn *section, const GElf_Shdr *header, const char *name,
			 struct part *part)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	Elf64_Chdr packed;

	if (!data || !data->d_buf)
		return true;
	*part = (struct part){ name, data->d_buf, data->d_size, data->d_size, 0 };
	if (!(header->sh_flags & SHF_COMPRESSED))
		return true;
	if (data->d_size < sizeof(packed))
		return false;
	memcpy(&packed, data->d_buf, sizeof(packed));
	part->type = packed.ch_type;
	part->bytes += sizeof(packed);
	part->packed_len -= sizeof(packed);
	part->len = packed.ch_size;
	return (part->type == TYPE_ZLIB || part->type == TYPE_ZSTD) &&
	       part->len / RATIO_MOST <= part->packed_len;
}

/* Finds the parts; whether any is packed and all can be unpacked. */
static bool find_parts(Elf *elf, struct part parts[PARTS])
{
	Elf_Scn *section = NULL;
	bool has_packed = false;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || header.sh_type == SHT_NOBITS)
			continue;
		/* What refers to a further file is for libdw, which looks beside this one. */
		if (strcmp(name, ".gnu_debugaltlink") == 0)
			return false;
		for (size_t i = 0; i < PARTS; i++) {
			if (strcmp(name, wanted[i]) != 0 || parts[i].name)
				continue;
			if (!take_section(section, &header, wanted[i], &parts[i]))
				return false;
			has_packed |= parts[i].type != 0;
		}
	}
	return has_packed;
}

static bool is_like_ours(Elf *elf, Elf64_Ehdr *head)
{
	const unsigned char own = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
									    : ELFDATA2MSB;
	const Elf64_Ehdr *found = elf64_getehdr(elf);

	if (!found || found->e_ident[EI_CLASS] != ELFCLASS64 || found->e_ident[EI_DATA] != own)
		return false;
	*head = *found;
	return true;
}

static uint64_t align(uint64_t at)
{
	return (at + ALIGN - 1) / ALIGN * ALIGN;
}

/* Head, parts, the names of sections, their headers. */
static char *make_image(Elf64_Ehdr *head, const struct part parts[PARTS], size_t *size)
{
	Elf64_Shdr sections[PARTS + 2] = { 0 };
	char names[1024] = "", *image;
	uint64_t at = align(sizeof(*head));
	size_t count = 1, names_len = 1;

	for (size_t i = 0; i <= PARTS; i++) {
		const char *name = i < PARTS ? parts[i].name : names_section;
		Elf64_Shdr *section = &sections[count];

		if (!name)
			continue;
		*section = (Elf64_Shdr){ .sh_name = (Elf64_Word)names_len,
					 .sh_type = i < PARTS ? SHT_PROGBITS : SHT_STRTAB,
					 .sh_offset = at,
					 .sh_addralign = 1 };
		strcpy(names + names_len, name);
		names_len += strlen(name) + 1;
		section->sh_size = i < PARTS ? parts[i].len : names_len;
		if (section->sh_size > SIZE_MAX / 2 - at)
			return NULL;
		at = align(at + section->sh_size);
		count++;
	}
	*size = at + count * sizeof(*sections);
	image = allo_huge_alloc(*size);
	if (!image)
		return NULL;
	head->e_phoff = head->e_phnum = 0;
	head->e_shoff = at;
	head->e_shnum = (Elf64_Half)count;
	head->e_shstrndx = (Elf64_Half)(count - 1);
	memcpy(image, head, sizeof(*head));
	memcpy(image + sections[count - 1].sh_offset, names, names_len);
	memcpy(image + at, sections, count * sizeof(*sections));
	for (size_t i = 0, k = 1; i < PARTS; i++) {
		if (parts[i].name && !unpack(&parts[i], image + sections[k++].sh_offset)) {
			free(image);
			return NULL;
		}
	}
	return image;
}

Elf *allo_unpacked_debug_of(struct allo_unpacked_debug *unpacked, Elf *elf)
{
	struct part parts[PARTS] = { 0 };
	Elf64_Ehdr head;
	size_t size;

	if (!is_like_ours(elf, &head) || !find_parts(elf, parts))
		return elf;
	unpacked->image = make_image(&head, parts, &size);
	if (unpacked->image)
		unpacked->elf = elf_memory(unpacked->image, size);
	return unpacked->elf ? unpacked->elf : elf;
}
