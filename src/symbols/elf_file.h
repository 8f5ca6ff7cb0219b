/*
 * elf_file.h - a program or library, or a file with debug information, as it lies on disk.
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

/* Whether they are the same; two that are none are. */
bool allo_build_id_equal(const struct allo_build_id *a, const struct allo_build_id *b);

/* As hex, with a NUL behind it; `out` is returned. */
enum { ALLO_BUILD_ID_HEX = 2 * ALLO_BUILD_ID_MAX + 1 };
char *allo_build_id_hex(const struct allo_build_id *id, char out[ALLO_BUILD_ID_HEX]);

/* All zeros is none. */
struct allo_elf_file {
	Elf *elf; /* NULL: none */
	int fd;
	bool is_there;      /* something is under that name, whatever it is */
	uint64_t size;      /* bytes */
	int64_t changed_ns; /* since 1970: when the file last became another one */
	struct allo_build_id build_id;
};

/*
 * Whether it is there and is a program or library; nothing to close if not.  With a `root`, which
 * may be NULL, the path and all links on its way are taken as if that were the root directory.
 */
bool allo_elf_open(struct allo_elf_file *file, const char *root, const char *path);
void allo_elf_close(struct allo_elf_file *file);

/* What to subtract from addresses of a process that has the byte of the file at `offset` at the
 * address `start`; false when the file is mapped nowhere. */
bool allo_elf_bias(const struct allo_elf_file *file, uint64_t start, uint64_t offset,
		   uint64_t *bias);

/* The first section with a type or with a name; NULL if there is none. */
Elf_Scn *allo_elf_section_of_type(Elf *elf, uint32_t type, GElf_Shdr *header);
Elf_Scn *allo_elf_section_named(Elf *elf, const char *name, GElf_Shdr *header);

#endif
