/* fuzz_elf.c - any bytes as an ELF file: its build-id, symbols, function ranges, lines and inlined
 * calls. */
#include "base/defer.h"
#include "symbols/elf_file.h"
#include "symbols/mini_debug.h"
#include "symbols/source_lines.h"
#include "symbols/symbol_table.h"
#include "symbols/unwind_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(void *context, size_t more)
{
	*(size_t *)context += more;
}

static void look_up(const struct allo_elf_file *file, struct allo_error *err)
{
	ALLO_DEFER(allo_spots_done) struct allo_spots spots = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_function_names_done) struct allo_function_names names = { 0 };
	ALLO_DEFER(allo_unpacked_debug_done) struct allo_unpacked_debug unpacked = { 0 };
	Elf *mini = allo_mini_debug_open(&unpacked, file->elf, file->size);
	size_t done = 0;
	const struct allo_spot_progress progress = { tell, &done };
	bool has_table;
	uint64_t bias;

	for (uint64_t address = 0x1000; address < 0x3000; address += 61)
		allo_vec_add(&spots.spots, ((struct allo_spot){ .address = address }), err);
	allo_elf_bias(file, 0x7f0000001000, 0x1000, &bias);
	allo_unwind_table_find(file->elf, &spots);
	if (mini && !allo_symbol_table_find(mini, SHT_SYMTAB, &spots, &has_table, err))
		return;
	if (allo_symbol_table_find(file->elf, SHT_SYMTAB, &spots, &has_table, err) &&
	    allo_symbol_table_find(file->elf, SHT_DYNSYM, &spots, &has_table, err) &&
	    allo_has_source_lines(file->elf) &&
	    allo_source_lines_find(file->elf, file->size, &spots, &profile, &names, &progress,
				   err) &&
	    done > spots.spots.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_close_fd) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	ALLO_DEFER(allo_elf_close) struct allo_elf_file file = { 0 };
	struct allo_error err = { 0 };
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (allo_elf_open(&file, NULL, path))
		look_up(&file, &err);
	return 0;
}
