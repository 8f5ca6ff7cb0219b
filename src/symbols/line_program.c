/* line_program.c - decodes and runs DWARF line programs, versions 2 to 5. */
#include "symbols/line_program.h"

#include "base/assert.h"
#include "base/encoding/protobuf.h"
#include "base/sorted.h"
#include "base/trust.h"
#include "symbols/dwarf_bytes.h"
#include "symbols/elf_file.h"

#include <dwarf.h>
#include <limits.h>

/* Limits for damaged files. */
enum { FILES_MOST = 1 << 20, FORMATS_MOST = 16 };

enum {
	/* Rows that contain an address: sequences of discarded functions may overlap others. */
	USUAL_OVERLAPS = 64,
};

/* Bytes of joined names that libdw may make of a table. */
static const uint64_t joined_most = (uint64_t)256 << 20;

struct format {
	uint64_t content, form;
};

struct program {
	struct allo_text line_str, str; /* string sections */
	struct allo_text bytes;         /* unread bytes */
	struct allo_text code;
	unsigned version, offset_size, address_size;
	unsigned min_length, line_range, opcode_base;
	int line_base;
	uint8_t lengths[256]; /* operands of standard opcodes */
	ALLO_VEC(const char *) folders;
};

void allo_line_files_done(struct allo_line_files *files)
{
	allo_vec_done(&files->entries);
	allo_arena_done(&files->paths);
}

const char *allo_line_files_path(struct allo_line_files *files, uint64_t number)
{
	struct allo_line_file *file = number < files->entries.len ? &files->entries.at[number]
								  : NULL;
	size_t name_len, folder_len;
	char *path;

	if (!file || !file->name || file->path)
		return file ? file->path : NULL;
	name_len = strnlen(file->name, PATH_MAX);
	folder_len = file->folder ? strnlen(file->folder, PATH_MAX) : 0;
	if (name_len + folder_len + 1 >= PATH_MAX)
		return NULL;
	if (!file->folder)
		return file->path = file->name;
	path = ALLO_ARENA_NEW(&files->paths, folder_len + 1 + name_len + 1, char);
	if (!path)
		return NULL;
	memcpy(path, file->folder, folder_len);
	path[folder_len] = '/';
	memcpy(path + folder_len + 1, file->name, name_len);
	return file->path = path;
}

static bool take_small(struct allo_text *bytes, unsigned *number)
{
	uint64_t value = 0;
	bool ok = allo_dwarf_take_number(bytes, 1, &value);

	*number = (unsigned)value;
	return ok;
}

/* Sections. */

static bool find_section(Elf *elf, const char *name, struct allo_text *bytes)
{
	GElf_Shdr header;
	Elf_Scn *section = allo_elf_section_named(elf, name, &header);
	const Elf_Data *data;

	*bytes = (struct allo_text){ "", 0 };
	if (!section || header.sh_type == SHT_NOBITS)
		return true;
	data = header.sh_flags & SHF_COMPRESSED ? NULL : elf_getdata(section, NULL);
	if (!data)
		return false;
	*bytes = (struct allo_text){ data->d_buf ? data->d_buf : "", data->d_size };
	return true;
}

static bool find_program(Elf *elf, Dwarf_Die *unit, struct program *program)
{
	Dwarf_Attribute attribute;
	struct allo_text lines;
	Dwarf_Word offset;

	if (!allo_elf_is_like_ours(elf) || !find_section(elf, ".debug_line", &lines) ||
	    !find_section(elf, ".debug_line_str", &program->line_str) ||
	    !find_section(elf, ".debug_str", &program->str) ||
	    !dwarf_attr(unit, DW_AT_stmt_list, &attribute) ||
	    dwarf_formudata(&attribute, &offset) != 0 || offset >= lines.len)
		return false;
	program->bytes = allo_text_from(lines, offset);
	return true;
}

/* The header. */

static bool take_length(struct program *program)
{
	uint64_t len;

	program->offset_size = 4;
	if (!allo_dwarf_take_number(&program->bytes, 4, &len))
		return false;
	if (len == UINT32_MAX) {
		program->offset_size = 8;
		if (!allo_dwarf_take_number(&program->bytes, 8, &len))
			return false;
	}
	if (len > program->bytes.len)
		return false;
	program->bytes.len = len;
	return true;
}

static bool take_head(struct program *program)
{
	uint64_t version, head_len;
	unsigned ignored, line_base;

	if (!take_length(program) || !allo_dwarf_take_number(&program->bytes, 2, &version) ||
	    version < 2 || version > 5)
		return false;
	program->version = (unsigned)version;
	program->address_size = 8;
	if (version >= 5 && (!take_small(&program->bytes, &program->address_size) ||
			     !take_small(&program->bytes, &ignored)))
		return false;
	if (!allo_dwarf_take_number(&program->bytes, program->offset_size, &head_len) ||
	    head_len > program->bytes.len)
		return false;
	program->code = allo_text_from(program->bytes, head_len);
	program->bytes.len = head_len;
	if (!take_small(&program->bytes, &program->min_length) ||
	    (version >= 4 && !take_small(&program->bytes, &ignored)) ||
	    !take_small(&program->bytes, &ignored) || !take_small(&program->bytes, &line_base) ||
	    !take_small(&program->bytes, &program->line_range) ||
	    !take_small(&program->bytes, &program->opcode_base))
		return false;
	program->line_base = (int8_t)line_base;
	return program->line_range > 0 && program->opcode_base > 0 && program->address_size == 8 &&
	       allo_dwarf_take(&program->bytes, program->lengths + 1, program->opcode_base - 1);
}

/* Files. */

/* Folder 0 is the unit's, which callers add. */
static bool add_file(const struct program *program, struct allo_line_files *files, uint64_t folder,
		     const char *name)
{
	struct allo_line_file file = { .name = name };

	if (folder >= program->folders.len)
		return false;
	if (folder > 0 && name[0] != '/')
		file.folder = program->folders.at[folder];
	return allo_vec_append(&files->entries, &file, 1);
}

static bool take_old_files(struct program *program, struct allo_line_files *files)
{
	const char *name = "";
	uint64_t folder, ignored;

	/* Both tables start at 1. */
	if (!allo_vec_append(&program->folders, &name, 1) || !add_file(program, files, 0, name))
		return false;
	files->entries.at[0].name = NULL;
	for (;;) {
		if (!allo_dwarf_take_string(&program->bytes, &name))
			return false;
		if (name[0] == '\0')
			break;
		if (!allo_vec_append(&program->folders, &name, 1))
			return false;
	}
	for (;;) {
		if (!allo_dwarf_take_string(&program->bytes, &name))
			return false;
		if (name[0] == '\0')
			return true;
		if (!allo_take_varint(&program->bytes, &folder) ||
		    !allo_take_varint(&program->bytes, &ignored) ||
		    !allo_take_varint(&program->bytes, &ignored) ||
		    !add_file(program, files, folder, name))
			return false;
	}
}

static bool take_formats(struct program *program, struct format *formats, unsigned *count)
{
	if (!take_small(&program->bytes, count) || *count > FORMATS_MOST)
		return false;
	for (unsigned i = 0; i < *count; i++) {
		if (!allo_take_varint(&program->bytes, &formats[i].content) ||
		    !allo_take_varint(&program->bytes, &formats[i].form))
			return false;
	}
	return true;
}

static bool take_far_string(struct program *program, struct allo_text section, const char **string)
{
	uint64_t offset;

	if (!allo_dwarf_take_number(&program->bytes, program->offset_size, &offset) ||
	    offset >= section.len)
		return false;
	section = allo_text_from(section, offset);
	return allo_dwarf_take_string(&section, string);
}

/* Reads a value in any form that compilers use here. */
static bool take_value(struct program *program, uint64_t form, uint64_t *number,
		       const char **string)
{
	switch (form) {
	case DW_FORM_string:
		return allo_dwarf_take_string(&program->bytes, string);
	case DW_FORM_line_strp:
		return take_far_string(program, program->line_str, string);
	case DW_FORM_strp:
		return take_far_string(program, program->str, string);
	case DW_FORM_udata:
		return allo_take_varint(&program->bytes, number);
	case DW_FORM_data1:
		return allo_dwarf_take_number(&program->bytes, 1, number);
	case DW_FORM_data2:
		return allo_dwarf_take_number(&program->bytes, 2, number);
	case DW_FORM_data4:
		return allo_dwarf_take_number(&program->bytes, 4, number);
	case DW_FORM_data8:
		return allo_dwarf_take_number(&program->bytes, 8, number);
	case DW_FORM_data16:
		return allo_dwarf_take_number(&program->bytes, 8, number) &&
		       allo_dwarf_take_number(&program->bytes, 8, number);
	default:
		return false;
	}
}

/* Reads an entry of the tables of DWARF 5. */
static bool take_entry(struct program *program, const struct format *formats, unsigned count,
		       const char **name, uint64_t *folder)
{
	*name = NULL;
	*folder = 0;
	for (unsigned i = 0; i < count; i++) {
		const char *string = NULL;
		uint64_t number = 0;

		if (!take_value(program, formats[i].form, &number, &string))
			return false;
		if (formats[i].content == DW_LNCT_path)
			*name = string;
		else if (formats[i].content == DW_LNCT_directory_index)
			*folder = number;
	}
	return *name != NULL;
}

static bool take_new_files(struct program *program, struct allo_line_files *files)
{
	struct format formats[FORMATS_MOST];
	unsigned format_count;
	uint64_t count, folder;
	const char *name;

	if (!take_formats(program, formats, &format_count) ||
	    !allo_take_varint(&program->bytes, &count) || count > FILES_MOST)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!take_entry(program, formats, format_count, &name, &folder) ||
		    !allo_vec_append(&program->folders, &name, 1))
			return false;
	}
	if (!take_formats(program, formats, &format_count) ||
	    !allo_take_varint(&program->bytes, &count) || count > FILES_MOST)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!take_entry(program, formats, format_count, &name, &folder) ||
		    !add_file(program, files, folder, name))
			return false;
	}
	return true;
}

/* The program. */

struct row {
	uint64_t address, file, column;
	uint64_t line; /* wraps around, because differences are signed */
};

struct run {
	struct program *program;
	struct allo_line_at *addresses;
	size_t count;
	uint64_t overlaps_left;
	struct row now, last;
	bool has_last; /* in this sequence */
};

static size_t find_first(const struct run *run, uint64_t address)
{
	return allo_sorted_below(run->addresses, run->count, address, address);
}

static uint32_t small_or_none(uint64_t number)
{
	return number <= INT32_MAX ? (uint32_t)number : 0;
}

/* A row ends where the next one starts.  If sequences overlap, the row that starts last counts. */
static void end_row(struct run *run)
{
	const struct row *row = &run->last;

	if (!run->has_last || run->now.address <= row->address)
		return;
	for (size_t i = find_first(run, row->address);
	     i < run->count && run->addresses[i].address < run->now.address &&
	     run->overlaps_left > 0;
	     i++) {
		struct allo_line_at *at = &run->addresses[i];

		run->overlaps_left--;
		ALLO_ASSERT(at->address >= row->address &&
			    (i == 0 || at[-1].address <= at->address));
		if (at->is_found && at->row > row->address)
			continue;
		at->is_found = true;
		at->row = row->address;
		at->line = small_or_none(row->line);
		at->column = small_or_none(row->column);
		at->file_number = row->file;
	}
}

static void add_row(struct run *run)
{
	end_row(run);
	run->last = run->now;
	run->has_last = true;
}

static void begin_sequence(struct run *run)
{
	run->now = (struct row){ .file = 1, .line = 1 };
	run->has_last = false;
}

static bool run_extended(struct run *run, struct allo_text *code)
{
	struct allo_text rest;
	uint64_t len;
	unsigned opcode;

	if (!allo_take_varint(code, &len) || len == 0 || len > code->len)
		return false;
	rest = (struct allo_text){ code->data, (size_t)len };
	*code = allo_text_from(*code, (size_t)len);
	if (!take_small(&rest, &opcode))
		return false;
	switch (opcode) {
	case DW_LNE_end_sequence:
		end_row(run);
		begin_sequence(run);
		return true;
	case DW_LNE_set_address:
		return rest.len == 8 && allo_dwarf_take_number(&rest, 8, &run->now.address);
	case DW_LNE_define_file:
		return false; /* obsolete: no compiler writes it */
	default:
		return true;
	}
}

static bool run_standard(struct run *run, unsigned opcode, struct allo_text *code)
{
	const struct program *program = run->program;
	uint64_t number = 0;
	int64_t difference;

	switch (opcode) {
	case DW_LNS_copy:
		add_row(run);
		return true;
	case DW_LNS_advance_pc:
		if (!allo_take_varint(code, &number))
			return false;
		run->now.address += number * program->min_length;
		return true;
	case DW_LNS_advance_line:
		if (!allo_dwarf_take_signed(code, &difference))
			return false;
		run->now.line += (uint64_t)difference;
		return true;
	case DW_LNS_set_file:
		return allo_take_varint(code, &run->now.file);
	case DW_LNS_set_column:
		return allo_take_varint(code, &run->now.column);
	case DW_LNS_const_add_pc:
		run->now.address += (255 - program->opcode_base) / program->line_range *
				    program->min_length;
		return true;
	case DW_LNS_fixed_advance_pc:
		if (!allo_dwarf_take_number(code, 2, &number))
			return false;
		run->now.address += number;
		return true;
	default:
		for (unsigned i = 0; i < program->lengths[opcode]; i++) {
			if (!allo_take_varint(code, &number))
				return false;
		}
		return true;
	}
}

static bool run_code(struct run *run)
{
	const struct program *program = run->program;
	struct allo_text code = program->code;
	unsigned opcode;

	begin_sequence(run);
	while (code.len > 0) {
		if (!take_small(&code, &opcode))
			return false;
		if (opcode >= program->opcode_base) {
			unsigned step = opcode - program->opcode_base;

			run->now.address += (uint64_t)(step / program->line_range) *
					    program->min_length;
			run->now.line += (uint64_t)(program->line_base +
						    (int)(step % program->line_range));
			add_row(run);
		} else if (opcode == 0 ? !run_extended(run, &code)
				       : !run_standard(run, opcode, &code)) {
			return false;
		}
	}
	return true;
}

static bool take_files(struct program *program, struct allo_line_files *files)
{
	return program->version >= 5 ? take_new_files(program, files)
				     : take_old_files(program, files);
}

/* Takes the bytes of a program from those that are left. */
static bool spend(const struct program *program, uint64_t *bytes_left)
{
	uint64_t bytes = program->bytes.len + program->code.len;

	if (bytes > *bytes_left)
		return false;
	*bytes_left -= bytes;
	return true;
}

bool allo_line_program_run(Elf *elf, Dwarf_Die *unit, struct allo_line_at *addresses, size_t count,
			   struct allo_line_files *files, uint64_t *bytes_left)
{
	struct program program = { 0 };
	struct run run = { .program = &program, .addresses = addresses, .count = count };
	bool ok = find_program(elf, unit, &program) && take_head(&program);

	if (ok && !spend(&program, bytes_left))
		return true;
	run.overlaps_left = allo_trust_limit(count + program.code.len, USUAL_OVERLAPS, 0);
	ok = ok && take_files(&program, files) && run_code(&run);
	for (size_t i = 0; ok && i < count; i++) {
		if (addresses[i].is_found)
			addresses[i].file = allo_line_files_path(files, addresses[i].file_number);
	}
	allo_vec_done(&program.folders);
	return ok;
}

/* Tables for libdw. */

static size_t longest_string(struct allo_text bytes)
{
	size_t longest = 0;

	while (bytes.len > 0) {
		size_t len = strnlen(bytes.data, bytes.len);

		if (len > longest)
			longest = len;
		bytes = allo_text_from(bytes, len < bytes.len ? len + 1 : len);
	}
	return longest;
}

/* Finds the table of a file that -gsplit-dwarf made: it has one, without a program. */
static bool find_apart(Elf *elf, struct program *program)
{
	return allo_elf_is_like_ours(elf) &&
	       find_section(elf, ".debug_line.dwo", &program->bytes) &&
	       find_section(elf, ".debug_str.dwo", &program->line_str);
}

bool allo_line_table_is_modest(Elf *elf, Dwarf_Die *unit, struct allo_line_strings *strings)
{
	struct program program = { 0 };
	uint64_t own;

	if ((!find_program(elf, unit, &program) && !find_apart(elf, &program)) ||
	    !take_head(&program))
		return false;
	if (strings->elf != elf)
		*strings = (struct allo_line_strings){ elf, longest_string(program.line_str) };
	own = longest_string(program.bytes);
	/* Each file takes a byte of the table at least. */
	return (own > strings->longest ? own : strings->longest) <=
	       allo_trust_limit(0, 0, joined_most) / (program.bytes.len + 1);
}
