/* allocator_name.c - by the libraries that the process has mapped, and then by the program. */
#include "run/allocator_name.h"

#include "run/elf_symbols.h"
#include "run/known_runtime.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static const char *name_by_libraries(const struct allo_vmas *vmas)
{
	static const struct {
		const char *library, *name;
	} known[] = {
		/* libc is loaded with all the others, so it comes last. */
		{ "libjemalloc", "jemalloc" }, { "libtcmalloc", "tcmalloc" },
		{ "libmimalloc", "mimalloc" }, { "libc.so.6", "glibc" },
		{ "libc-2.", "glibc" },
	};

	for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
		for (size_t i = 0; i < vmas->all.len; i++) {
			if (vmas->all.at[i].kind == ALLO_VMA_FILE &&
			    allo_vma_has_prefix(&vmas->all.at[i], known[k].library))
				return known[k].name;
		}
	}
	return "";
}

/* The program defines it or does not run without it; weak imports ask whether it is there. */
static bool has(const struct allo_elf_symbol *symbol)
{
	return symbol->is_defined || symbol->is_needed;
}

enum { JEMALLOC, RUST_JEMALLOC, TCMALLOC, MIMALLOC, MALLOC, COUNT };

/* NULL: none of the known ones. */
static const char *name_by_symbols(const struct allo_elf_symbol symbols[COUNT])
{
	if (has(&symbols[JEMALLOC]) || has(&symbols[RUST_JEMALLOC]))
		return "jemalloc";
	if (has(&symbols[TCMALLOC]))
		return "tcmalloc";
	return has(&symbols[MIMALLOC]) ? "mimalloc" : NULL;
}

/* An allocator in the program precedes those of libraries; NULL: there is none. */
static const char *name_by_program(uint64_t pid)
{
	struct allo_elf_symbol symbols[COUNT] = {
		[JEMALLOC] = { .name = "mallctl" },
		[RUST_JEMALLOC] = { .name = "_rjem_mallctl" },
		[TCMALLOC] = { .name = "MallocExtension_GetNumericProperty" },
		[MIMALLOC] = { .name = "mi_malloc" },
		[MALLOC] = { .name = "malloc" },
	};
	const char *name;
	char path[64];
	bool is_go;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	allo_elf_find_symbols(fd, symbols, COUNT);
	name = name_by_symbols(symbols);
	/* Only functions that libraries call as well are among the dynamic symbols: not those with
	 * a prefix, which the program has beside libc's. */
	if (!name && allo_elf_find_static_symbols(fd, symbols, COUNT))
		name = name_by_symbols(symbols);
	is_go = allo_elf_has_note(fd, ALLO_GO);
	close(fd);
	if (is_go)
		return ALLO_GO;
	return !name && symbols[MALLOC].is_defined ? "" : name;
}

const char *allo_allocator_name(const struct allo_vmas *vmas, uint64_t pid)
{
	const char *name = name_by_program(pid);

	return name ? name : name_by_libraries(vmas);
}
