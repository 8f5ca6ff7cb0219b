/* test_code_rule.c - capture/stacks/code_rule.h: rules from code, against the unwind tables. */
#include "check.h"

#include "capture/patch/x86_instruction.h"
#include "capture/stacks/cfi.h"
#include "capture/stacks/code_rule.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The C library of this process, and its file, which has the symbols.  Sanitizers replace some of
 * its functions, but not gnu_get_libc_version(). */
struct library {
	const uint8_t *base, *unwind_header, *start, *end;
	const uint8_t *file;
	size_t file_size;
};

static int find_library(struct dl_phdr_info *info, size_t size, void *context)
{
	struct library *library = context;
	bool is_it = false;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint8_t *start = (const uint8_t *)(info->dlpi_addr + part->p_vaddr);

		if (part->p_type == PT_GNU_EH_FRAME)
			library->unwind_header = start;
		if (part->p_type == PT_LOAD && (const uint8_t *)gnu_get_libc_version >= start &&
		    (const uint8_t *)gnu_get_libc_version < start + part->p_memsz)
			is_it = true;
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint8_t *start = (const uint8_t *)(info->dlpi_addr + part->p_vaddr);

		if (part->p_type == PT_LOAD && library->unwind_header >= start &&
		    library->unwind_header < start + part->p_memsz) {
			library->start = start;
			library->end = start + part->p_memsz;
		}
	}
	library->base = (const uint8_t *)info->dlpi_addr;
	return is_it;
}

static void open_library(struct library *library)
{
	struct stat status;
	Dl_info info;
	int fd;

	assert_int_equal(dl_iterate_phdr(find_library, library), 1);
	assert_int_not_equal(dladdr((void *)gnu_get_libc_version, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	library->file_size = (size_t)status.st_size;
	library->file = mmap(NULL, library->file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(library->file != MAP_FAILED);
	close(fd);
}

struct counts {
	unsigned calls, followed, same, functions;
};

/* Compares the rules behind each call of a function. */
static void compare(const struct library *library, const ElfW(Sym) * symbol, struct counts *counts)
{
	const uint8_t *code = library->base + symbol->st_value;
	struct allo_x86_instruction instruction;

	counts->functions++;
	for (size_t at = 0; at < symbol->st_size; at += instruction.length) {
		uint32_t table, found;

		if (!allo_x86_decode(code + at, 16, &instruction))
			return;
		if (instruction.kind != ALLO_X86_CALL || at + instruction.length >= symbol->st_size)
			continue;
		/* The row of the call itself: behind it, another function may begin. */
		table = allo_cfi_rule(&allo_cfi_x86_64, library->unwind_header, library->start,
				      library->end, (uint64_t)(uintptr_t)(code + at));
		found = allo_code_rule(code, at + instruction.length, symbol->st_size);
		if (allo_rule_kind(table) != ALLO_RULE_SP)
			continue;
		counts->calls++;
		counts->followed += allo_rule_kind(found) == ALLO_RULE_SP;
		counts->same += found == table;
	}
}

static void code_says_the_same_as_the_tables(void **state)
{
	struct library library = { 0 };
	struct counts counts = { 0 };
	const ElfW(Ehdr) * head;
	const ElfW(Shdr) * sections;

	(void)state;
	open_library(&library);
	head = (const void *)library.file;
	sections = (const void *)(library.file + head->e_shoff);
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const ElfW(Sym) *symbols = (const void *)(library.file + sections[i].sh_offset);

		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++) {
			if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC && symbols[k].st_size > 0)
				compare(&library, &symbols[k], &counts);
		}
	}
	munmap((void *)library.file, library.file_size);
	print_message("%u functions, %u calls: %u followed, %u the same\n", counts.functions,
		      counts.calls, counts.followed, counts.same);
	assert_true(counts.calls > 1000);
	/* Tables of switches, and parts of functions that lie elsewhere, cannot be followed. */
	assert_true(counts.same * 100ull >= counts.calls * 98ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_says_the_same_as_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
