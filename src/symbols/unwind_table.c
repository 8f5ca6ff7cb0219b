/* unwind_table.c - one pass over the entries of .eh_frame. */
#include "symbols/unwind_table.h"

#include "base/assert.h"
#include "base/encoding/protobuf.h"
#include "symbols/dwarf_bytes.h"
#include "symbols/elf_file.h"

#include <dwarf.h>

enum {
	COMMON_MOST = 64,    /* bytes of a common entry up to its instructions */
	ENTRY_LEAST = 16,    /* bytes of a function's entry */
	USUAL_OVERLAPS = 64, /* spots per function: limits the work for hostile tables */
	UNKNOWN_ENCODING = DW_EH_PE_omit,
};

struct table {
	struct allo_text bytes;
	uint64_t address; /* of the first byte */
	/* The common entry that was read last: most functions of a program share one. */
	uint64_t common_at;
	uint8_t encoding; /* of addresses */
	uint64_t overlaps_left;
};

/* An entry, behind its length and its second word. */
struct entry {
	struct allo_text bytes;
	uint64_t at;     /* offset of the entry */
	uint64_t common; /* offset of its common entry, for the entry of a function */
	bool is_common;
};

/* Reads the entry at an offset; `next` is that of the following one. */
static bool read_entry(const struct table *table, uint64_t at, struct entry *entry, uint64_t *next)
{
	struct allo_text rest;
	uint64_t len, back;

	if (at >= table->bytes.len)
		return false;
	rest = allo_text_from(table->bytes, at);
	/* 0 ends the table; all ones mark a table of more than 4 GiB. */
	if (!allo_dwarf_take_number(&rest, 4, &len) || len < 4 || len == UINT32_MAX ||
	    len > rest.len)
		return false;
	*next = at + 4 + len;
	rest.len = len;
	if (!allo_dwarf_take_number(&rest, 4, &back) || back > at + 4)
		return false;
	*entry = (struct entry){ rest, at, at + 4 - back, back == 0 };
	return true;
}

/* Bytes of an address; 0: not supported. */
static size_t width_of(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

/* Finds the encoding of addresses in the data behind "z". */
static bool take_encoding(struct allo_text data, const char *letters, uint8_t *encoding)
{
	for (uint8_t other; *letters; letters++) {
		switch (*letters) {
		case 'R':
			return allo_dwarf_take(&data, encoding, 1);
		case 'P': /* the personality routine */
			if (!allo_dwarf_take(&data, &other, 1) || width_of(other) == 0 ||
			    width_of(other) > data.len)
				return false;
			data = allo_text_from(data, width_of(other));
			break;
		case 'L':
			if (!allo_dwarf_take(&data, &other, 1))
				return false;
			break;
		default: /* the others have no data */
			break;
		}
	}
	return true;
}

static uint8_t read_encoding(const struct table *table, uint64_t at)
{
	uint8_t version, encoding = DW_EH_PE_absptr;
	uint64_t next, code_unit, len, ra;
	const char *letters;
	struct entry entry;
	int64_t data_unit;

	if (!read_entry(table, at, &entry, &next) || !entry.is_common ||
	    !allo_dwarf_take(&entry.bytes, &version, 1))
		return UNKNOWN_ENCODING;
	/* A hostile common entry is long, and is read again for each function. */
	if (entry.bytes.len > COMMON_MOST)
		entry.bytes.len = COMMON_MOST;
	if (!allo_dwarf_take_string(&entry.bytes, &letters) || (version != 1 && version != 3) ||
	    !allo_take_varint(&entry.bytes, &code_unit) ||
	    !allo_dwarf_take_signed(&entry.bytes, &data_unit) ||
	    !(version == 1 ? allo_dwarf_take_number(&entry.bytes, 1, &ra)
			   : allo_take_varint(&entry.bytes, &ra)))
		return UNKNOWN_ENCODING;
	if (letters[0] == '\0')
		return encoding;
	if (letters[0] != 'z' || !allo_take_varint(&entry.bytes, &len) ||
	    !take_encoding(entry.bytes, letters + 1, &encoding))
		return UNKNOWN_ENCODING;
	return encoding;
}

/* The range of a function; false if its addresses are of a kind that is not known here. */
static bool read_range(struct table *table, struct entry *entry, uint64_t *start, uint64_t *size)
{
	uint64_t field = table->address + (uint64_t)(entry->bytes.data - table->bytes.data);
	size_t width;

	if (table->common_at != entry->common) {
		table->common_at = entry->common;
		table->encoding = read_encoding(table, entry->common);
	}
	width = table->encoding == UNKNOWN_ENCODING ? 0 : width_of(table->encoding);
	if (width == 0 || !allo_dwarf_take_number(&entry->bytes, width, start) ||
	    !allo_dwarf_take_number(&entry->bytes, width, size))
		return false;
	if (table->encoding & DW_EH_PE_signed && width == 4)
		*start = (uint64_t)(int32_t)*start;
	else if (table->encoding & DW_EH_PE_signed && width == 2)
		*start = (uint64_t)(int16_t)*start;
	if ((table->encoding & 0xf0) == DW_EH_PE_pcrel)
		*start += field;
	return (table->encoding & 0xf0) == DW_EH_PE_pcrel || (table->encoding & 0xf0) == 0;
}

static void take_function(struct table *table, struct allo_spots *spots, uint64_t start,
			  uint64_t size)
{
	for (size_t i = allo_spots_find(spots, start);
	     i < spots->spots.len && spots->spots.at[i].address - start < size; i++) {
		struct allo_spot *spot = &spots->spots.at[i];

		ALLO_ASSERT(spot->address >= start);
		if (table->overlaps_left == 0)
			return;
		table->overlaps_left--;
		if (!spot->symbol.name && spot->symbol.start < start)
			spot->symbol.start = start;
	}
}

static bool open_table(struct table *table, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = allo_elf_is_like_ours(elf)
				   ? allo_elf_section_named(elf, ".eh_frame", &header)
				   : NULL;
	const Elf_Data *data;

	if (!section || header.sh_type == SHT_NOBITS || header.sh_flags & SHF_COMPRESSED)
		return false;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf)
		return false;
	*table = (struct table){ .bytes = { data->d_buf, data->d_size },
				 .address = header.sh_addr,
				 .common_at = UINT64_MAX };
	return true;
}

void allo_unwind_table_find(Elf *elf, struct allo_spots *spots)
{
	uint64_t next = 0, start, size;
	struct table table;
	struct entry entry;

	if (!open_table(&table, elf))
		return;
	table.overlaps_left = (table.bytes.len / ENTRY_LEAST + spots->spots.len) * USUAL_OVERLAPS;
	while (read_entry(&table, next, &entry, &next)) {
		if (!entry.is_common && read_range(&table, &entry, &start, &size))
			take_function(&table, spots, start, size);
	}
}
