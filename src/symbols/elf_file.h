/*
 * elf_file.h - a program or library as it lies on disk, and the file with its debug information.
 *
 * Files are mapped, as only what is looked at should cost: the tables of a large program are
 * gigabytes.  Who overwrites one meanwhile, instead of putting another in its place, takes it away
 * from us.
 */
#ifndef ALLO_SYMBOLS_ELF_FILE_H
#define ALLO_SYMBOLS_ELF_FILE_H

#include "base/error.h"
#include "base/text.h"

#include <gelf.h>

enum { ALLO_BUILD_ID_MAX = 64 }; /* bytes; 20 are usual */

struct allo_build_id {
	size_t len; /* 0: there is none */
	uint8_t bytes[ALLO_BUILD_ID_MAX];
};

/* From hex; one that cannot be is none. */
struct allo_build_id allo_build_id_of(struct allo_text hex);

bool allo_build_id_equal(const struct allo_build_id *a, const struct allo_build_id *b);

/* All zeros is none. */
struct allo_elf_file {
	Elf *elf; /* NULL: none */
	int fd;
	int64_t changed_ns; /* since 1970: when the file last became another one */
	struct allo_build_id build_id;
};

/* Whether it is there and is a program or library; nothing to close if not. */
bool allo_elf_open(struct allo_elf_file *file, const char *path);
void allo_elf_close(struct allo_elf_file *file);

/* Whether anything is there under that name, whatever it is. */
bool allo_elf_exists(const char *path);

/*
 * Opens the file with the debug information: by build-id under /usr/lib/debug, or by the name that
 * `file` has in its .gnu_debuglink.  `file` may be none; `path` is its own.
 */
bool allo_elf_open_debug(struct allo_elf_file *debug, const struct allo_elf_file *file,
			 const char *path, const struct allo_build_id *build_id);

/* What to subtract from addresses of a process that has the byte of the file at `offset` at the
 * address `start`; false when the file is mapped nowhere. */
bool allo_elf_bias(const struct allo_elf_file *file, uint64_t start, uint64_t offset,
		   uint64_t *bias);

/* The first section with a type or with a name; NULL if there is none. */
Elf_Scn *allo_elf_section_of_type(Elf *elf, uint32_t type, GElf_Shdr *header);
Elf_Scn *allo_elf_section_named(Elf *elf, const char *name, GElf_Shdr *header);

#endif
