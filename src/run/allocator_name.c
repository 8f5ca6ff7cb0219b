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

/* An allocator in the program precedes those of libraries; NULL: there is none. */
static const char *name_by_program(uint64_t pid)
{
	enum { JEMALLOC, RUST_JEMALLOC, TCMALLOC, MIMALLOC, MALLOC, COUNT };
	bool is_go;
	struct allo_elf_symbol symbols[COUNT] = {
		[JEMALLOC] = { .name = "mallctl" },
		[RUST_JEMALLOC] = { .name = "_rjem_mallctl" },
		[TCMALLOC] = { .name = "MallocExtension_GetNumericProperty" },
		[MIMALLOC] = { .name = "mi_malloc" },
		[MALLOC] = { .name = "malloc" },
	};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	allo_elf_find_symbols(fd, symbols, COUNT);
	is_go = allo_elf_has_note(fd, ALLO_GO);
	close(fd);
	if (is_go)
		return ALLO_GO;
	if (symbols[JEMALLOC].is_defined || symbols[RUST_JEMALLOC].is_defined)
		return "jemalloc";
	if (symbols[TCMALLOC].is_defined)
		return "tcmalloc";
	if (symbols[MIMALLOC].is_defined)
		return "mimalloc";
	return symbols[MALLOC].is_defined ? "" : NULL;
}

const char *allo_allocator_name(const struct allo_vmas *vmas, uint64_t pid)
{
	const char *name = name_by_program(pid);

	return name ? name : name_by_libraries(vmas);
}
