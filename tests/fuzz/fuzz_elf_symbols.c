/*
 * fuzz_elf_symbols.c - any bytes as a program that `allo run` is about to start.
 */
#include "base/defer.h"
#include "run/elf_symbols.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A symbol that is defined or needed is there. */
static void check(const struct allo_elf_symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((symbols[i].is_defined || symbols[i].is_needed) && !symbols[i].is_there)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct allo_elf_symbol dynamic[] = { { "malloc" }, { "_ZdlPv" }, { "" } };
	struct allo_elf_symbol fixed[] = { { "je_malloc" }, { "main" }, { "" } };
	ALLO_DEFER(allo_close_fd) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	ALLO_DEFER(allo_free_pointer) Elf64_Phdr *headers = NULL;
	unsigned char id[20];
	size_t count;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(1);
	allo_elf_find_symbols(fd, dynamic, 3);
	check(dynamic, 3);
	allo_elf_find_static_symbols(fd, fixed, 3);
	check(fixed, 3);
	allo_elf_has_note(fd, "Go");
	if (allo_elf_build_id(fd, id, sizeof(id)) > sizeof(id))
		abort();
	allo_elf_read_headers(fd, &headers, &count);
	return 0;
}
