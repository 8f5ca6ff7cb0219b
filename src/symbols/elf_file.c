/* elf_file.c - see elf_file.h. */
#include "symbols/elf_file.h"

#include "base/defer.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_FOLDER "/usr/lib/debug"

enum { PAGE = 4096 };

/* Build-ids. */

static int hex_digit(char c)
{
	if (allo_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct allo_build_id allo_build_id_of(struct allo_text hex)
{
	struct allo_build_id id = { .len = hex.len / 2 };

	if (hex.len % 2 != 0 || id.len > ALLO_BUILD_ID_MAX)
		return (struct allo_build_id){ 0 };
	for (size_t i = 0; i < id.len; i++) {
		int high = hex_digit(hex.data[2 * i]), low = hex_digit(hex.data[2 * i + 1]);

		if (high < 0 || low < 0)
			return (struct allo_build_id){ 0 };
		id.bytes[i] = (uint8_t)(high << 4 | low);
	}
	return id;
}

bool allo_build_id_equal(const struct allo_build_id *a, const struct allo_build_id *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Files. */

static bool is_mapped_code(Elf *elf)
{
	GElf_Ehdr header;

	return elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static bool take_build_id(Elf_Data *notes, struct allo_build_id *id)
{
	size_t at = 0, name, bytes;
	GElf_Nhdr note;

	while (notes && notes->d_buf && at < notes->d_size &&
	       (at = gelf_getnote(notes, at, &note, &name, &bytes)) > 0) {
		const char *base = notes->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp(base + name, "GNU", sizeof("GNU")) != 0 || note.n_descsz == 0 ||
		    note.n_descsz > ALLO_BUILD_ID_MAX)
			continue;
		id->len = note.n_descsz;
		memcpy(id->bytes, base + bytes, id->len);
		return true;
	}
	return false;
}

/* In the sections, as a debug file has no other notes; else in what is mapped, as sections may be
 * stripped. */
static void find_build_id(struct allo_elf_file *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Phdr part;
	size_t count;

	while ((section = elf_nextscn(file->elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    take_build_id(elf_getdata(section, NULL), &file->build_id))
			return;
	}
	if (elf_getphdrnum(file->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && i <= INT_MAX; i++) {
		if (!gelf_getphdr(file->elf, (int)i, &part) || part.p_type != PT_NOTE)
			continue;
		if (take_build_id(
			    elf_getdata_rawchunk(file->elf, (int64_t)part.p_offset, part.p_filesz,
						 part.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
			    &file->build_id))
			return;
	}
}

bool allo_elf_open(struct allo_elf_file *file, const char *path)
{
	struct stat facts;

	*file = (struct allo_elf_file){ 0 };
	elf_version(EV_CURRENT);
	/* Opening what has taken the place of the file may do something, or make us wait. */
	if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
		return false;
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0)
		return false;
	if (fstat(file->fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
		file->changed_ns = facts.st_ctim.tv_sec * INT64_C(1000000000) +
				   facts.st_ctim.tv_nsec;
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	}
	if (!file->elf || !is_mapped_code(file->elf)) {
		elf_end(file->elf);
		close(file->fd);
		*file = (struct allo_elf_file){ 0 };
		return false;
	}
	find_build_id(file);
	return true;
}

void allo_elf_close(struct allo_elf_file *file)
{
	if (!file->elf)
		return;
	elf_end(file->elf);
	close(file->fd);
	*file = (struct allo_elf_file){ 0 };
}

bool allo_elf_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

Elf_Scn *allo_elf_section_of_type(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	}
	return NULL;
}

Elf_Scn *allo_elf_section_named(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *found = gelf_getshdr(section, header)
					    ? elf_strptr(elf, names, header->sh_name)
					    : NULL;

		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

/* Without an offset `start` is where the lowest part is, which begins on a page. */
bool allo_elf_bias(const struct allo_elf_file *file, uint64_t start, uint64_t offset,
		   uint64_t *bias)
{
	bool found = false;
	uint64_t lowest = 0;
	GElf_Phdr part;
	size_t count;

	if (elf_getphdrnum(file->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i <= INT_MAX; i++) {
		uint64_t in_page;

		if (!gelf_getphdr(file->elf, (int)i, &part) || part.p_type != PT_LOAD)
			continue;
		in_page = part.p_vaddr % PAGE;
		if (offset == 0 && (!found || part.p_vaddr - in_page < lowest)) {
			lowest = part.p_vaddr - in_page;
			found = true;
		}
		if (offset != 0 && part.p_offset - in_page <= offset &&
		    offset - (part.p_offset - in_page) < part.p_filesz + in_page) {
			lowest = part.p_vaddr - part.p_offset + offset;
			found = true;
			break;
		}
	}
	*bias = start - lowest;
	return found;
}

/* Debug files. */

static bool has_build_id(const struct allo_elf_file *file, const struct allo_build_id *id)
{
	return id->len > 0 && allo_build_id_equal(&file->build_id, id);
}

static bool open_by_build_id(struct allo_elf_file *debug, const struct allo_build_id *id)
{
	char path[sizeof(DEBUG_FOLDER "/.build-id/xx/.debug") + 2 * ALLO_BUILD_ID_MAX];
	int len;

	if (id->len < 2)
		return false;
	len = sprintf(path, DEBUG_FOLDER "/.build-id/%02x/", id->bytes[0]);
	for (size_t i = 1; i < id->len; i++)
		len += sprintf(path + len, "%02x", id->bytes[i]);
	strcpy(path + len, ".debug");
	if (!allo_elf_open(debug, path))
		return false;
	if (has_build_id(debug, id))
		return true;
	allo_elf_close(debug);
	return false;
}

static bool has_checksum(const struct allo_elf_file *debug, uint32_t checksum)
{
	size_t size;
	const char *bytes = elf_rawfile(debug->elf, &size);

	return bytes && crc32_z(crc32(0, NULL, 0), (const Bytef *)bytes, size) == checksum;
}

/* The checksum takes reading the whole file: two build-ids say the same for nothing. */
static bool is_debug_of(const struct allo_elf_file *debug, const struct allo_build_id *id,
			uint32_t checksum)
{
	if (debug->build_id.len > 0 && id->len > 0)
		return has_build_id(debug, id);
	return has_checksum(debug, checksum);
}

static bool open_by_link(struct allo_elf_file *debug, const struct allo_elf_file *file,
			 const char *path)
{
	static const struct {
		const char *before, *behind; /* of the file's own folder */
	} folders[] = { { "", "" }, { "", "/.debug" }, { DEBUG_FOLDER, "" } };
	GElf_Word checksum;
	const char *name = dwelf_elf_gnu_debuglink(file->elf, &checksum);
	const char *slash = strrchr(path, '/');

	if (!name || !slash || name[0] == '\0' || strchr(name, '/'))
		return false;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		ALLO_DEFER(allo_free_pointer) char *way = NULL;

		if (asprintf(&way, "%s%.*s%s/%s", folders[i].before, (int)(slash - path), path,
			     folders[i].behind, name) < 0) {
			way = NULL;
			return false;
		}
		/* A file may be named as its own debug file. */
		if (strcmp(way, path) == 0 || !allo_elf_open(debug, way))
			continue;
		if (is_debug_of(debug, &file->build_id, checksum))
			return true;
		allo_elf_close(debug);
	}
	return false;
}

bool allo_elf_open_debug(struct allo_elf_file *debug, const struct allo_elf_file *file,
			 const char *path, const struct allo_build_id *build_id)
{
	return open_by_build_id(debug, build_id) || (file->elf && open_by_link(debug, file, path));
}
