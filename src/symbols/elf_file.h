/*
 * elf_file.h - an ELF file on disk: a program, a library or a file with debug information.
 *
 * Sections are read, not mapped: a file that shrinks meanwhile lacks names, and we do not crash.
 */
#ifndef ALLO_SYMBOLS_ELF_FILE_H
#define ALLO_SYMBOLS_ELF_FILE_H

#include "base/error.h"
#include "base/text.h"

#include <gelf.h>

enum { ALLO_BUILD_ID_MAX = 64 }; /* bytes; 20 are usual */

struct allo_build_id {
	size_t len; /* 0: none */
	uint8_t bytes[ALLO_BUILD_ID_MAX];
};

/* Parses hex; an invalid one gives none. */
struct allo_build_id allo_build_id_of(struct allo_text hex);

/* Whether they are equal; two that are empty are equal. */
bool allo_build_id_equal(const struct allo_build_id *a, const struct allo_build_id *b);

/* Writes hex and a NUL; returns `out`. */
enum { ALLO_BUILD_ID_HEX = 2 * ALLO_BUILD_ID_MAX + 1 };
char *allo_build_id_hex(const struct allo_build_id *id, char out[ALLO_BUILD_ID_HEX]);

/* All zeros is closed. */
struct allo_elf_file {
	Elf *elf; /* NULL: none */
	int fd;
	bool is_there;      /* the path exists, as a file or anything else */
	uint64_t size;      /* bytes */
	int64_t changed_ns; /* since 1970: the last change of the file */
	struct allo_build_id build_id;
};

/*
 * Opens a program or library; if it returns false, there is nothing to close.  `root`, which may be
 * NULL, is the root directory for the path and all links on its way.
 */
bool allo_elf_open(struct allo_elf_file *file, const char *root, const char *path);
void allo_elf_close(struct allo_elf_file *file);

/* The difference between addresses of a process and of the file, if the byte at `offset` is mapped
 * at `start`; false if the file has no such part. */
bool allo_elf_bias(const struct allo_elf_file *file, uint64_t start, uint64_t offset,
		   uint64_t *bias);

/* The first section with this type or name, or NULL. */
Elf_Scn *allo_elf_section_of_type(Elf *elf, uint32_t type, GElf_Shdr *header);
Elf_Scn *allo_elf_section_named(Elf *elf, const char *name, GElf_Shdr *header);

/* Whether a file has 64 bits and our byte order. */
bool allo_elf_is_like_ours(Elf *elf);

/* Whether the packed sections of a file of this size unpack to a plausible size. */
bool allo_elf_debug_is_modest(Elf *elf, uint64_t file_bytes);

/* Debug information that was packed in its file; all zeros is empty. */
struct allo_unpacked_debug {
	char *image; /* an ELF file in memory with these sections alone */
	Elf *elf;
};

void allo_unpacked_debug_done(struct allo_unpacked_debug *unpacked);

/*
 * The file to read debug information from: `unpacked` if the sections are packed, as in Debian,
 * else `elf`, which is returned when memory is short, too.  libdw could unpack them, but it unpacks
 * all sections, at a third of the speed; only some of them are needed for lines and inlined calls.
 */
Elf *allo_elf_unpack_debug(struct allo_unpacked_debug *unpacked, Elf *elf);

/*
 * Ends the last string of the debug sections in memory.  libdw measures names with strlen(), which
 * would read past the end of a section that was damaged.
 */
void allo_elf_end_strings(Elf *elf);

#endif
