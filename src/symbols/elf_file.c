/* elf_file.c - opens ELF files, finds build-ids and sections, unpacks debug information. */
#include "symbols/elf_file.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/huge_alloc.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zstd.h>

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

char *allo_build_id_hex(const struct allo_build_id *id, char out[ALLO_BUILD_ID_HEX])
{
	ALLO_ASSERT(id->len <= ALLO_BUILD_ID_MAX);
	for (size_t i = 0; i < id->len; i++) {
		out[2 * i] = "0123456789abcdef"[id->bytes[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[id->bytes[i] & 15];
	}
	out[2 * id->len] = '\0';
	return out;
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

/* Searches the sections, because a debug file has its notes only there; then the segments, because
 * sections may be stripped. */
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

/* Resolves a path within a root: an O_PATH descriptor, or -1. */
static int find_in_root(const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	ALLO_DEFER(allo_free_pointer) char *joined = NULL;
	int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), found;

	if (folder < 0)
		return -1;
	found = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	close(folder);
	if (found >= 0 || (errno != ENOSYS && errno != EPERM))
		return found;
	/* The kernel is too old, or a container forbids the call. */
	if (asprintf(&joined, "%s/%s", root, path) < 0) {
		joined = NULL;
		return -1;
	}
	return open(joined, O_PATH | O_CLOEXEC);
}

/* Opens an O_PATH descriptor for reading, if it is a regular file: opening a device or a pipe may
 * block or have side effects. */
static int open_found(int found)
{
	char way[sizeof("/proc/self/fd/") + 3 * sizeof(found)];
	struct stat facts;

	if (fstat(found, &facts) != 0 || !S_ISREG(facts.st_mode))
		return -1;
	sprintf(way, "/proc/self/fd/%d", found);
	return open(way, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_file(const char *root, const char *path, bool *is_there)
{
	int found = root ? find_in_root(root, path) : open(path, O_PATH | O_CLOEXEC), fd = -1;

	*is_there = found >= 0;
	if (found >= 0) {
		fd = open_found(found);
		close(found);
	}
	return fd;
}

/* libelf's only global state. */
static void set_version(void)
{
	elf_version(EV_CURRENT);
}

bool allo_elf_open(struct allo_elf_file *file, const char *root, const char *path)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct stat facts;
	bool is_there;

	*file = (struct allo_elf_file){ 0 };
	pthread_once(&once, set_version);
	file->fd = open_file(root, path, &is_there);
	if (file->fd >= 0 && fstat(file->fd, &facts) == 0) {
		file->size = (uint64_t)facts.st_size;
		file->changed_ns = facts.st_ctim.tv_sec * INT64_C(1000000000) +
				   facts.st_ctim.tv_nsec;
		file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	}
	if (!file->elf || !is_mapped_code(file->elf)) {
		elf_end(file->elf);
		if (file->fd >= 0)
			close(file->fd);
		*file = (struct allo_elf_file){ .is_there = is_there };
		return false;
	}
	file->is_there = true;
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

/* With offset 0, `start` is the address of the lowest segment, rounded down to a page. */
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

/* Packed debug information. */

/* The sections that lines, inlined calls and their names need. */
static const char *const wanted[] = {
	".debug_abbrev", ".debug_addr",     ".debug_aranges",     ".debug_info",
	".debug_line",   ".debug_line_str", ".debug_ranges",      ".debug_rnglists",
	".debug_str",    ".debug_types",    ".debug_str_offsets",
};

enum {
	DEBUG_PARTS = sizeof(wanted) / sizeof(*wanted),
	TYPE_ZLIB = 1, /* of Elf64_Chdr; older headers lack the second */
	TYPE_ZSTD = 2,
	RATIO_MOST = 1100, /* more than zlib can achieve; a file that states more is damaged */
	ALIGN = 16,
};

static const char names_section[] = ".shstrtab";

/* Limit of unpacked sections: a real section shrinks to a third or a quarter. */
static const uint64_t unpacked_ratio = 100, unpacked_least = 64 << 20;

struct section_part {
	const char *name; /* NULL: the file lacks it */
	const char *bytes;
	uint64_t packed_len, len;
	uint32_t type; /* 0: not packed */
};

void allo_unpacked_debug_done(struct allo_unpacked_debug *unpacked)
{
	elf_end(unpacked->elf);
	free(unpacked->image);
	*unpacked = (struct allo_unpacked_debug){ 0 };
}

static bool unpack(const struct section_part *part, char *to)
{
	struct libdeflate_decompressor *zlib;
	bool ok;

	if (part->type == 0) {
		memcpy(to, part->bytes, part->len);
		return true;
	}
	if (part->type == TYPE_ZSTD)
		return ZSTD_decompress(to, part->len, part->bytes, part->packed_len) == part->len;
	zlib = libdeflate_alloc_decompressor();
	ok = zlib && libdeflate_zlib_decompress(zlib, part->bytes, part->packed_len, to, part->len,
						NULL) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(zlib);
	return ok;
}

/* Describes a section; false if its compression is unknown. */
static bool take_section(Elf_Scn *section, const GElf_Shdr *header, const char *name,
			 struct section_part *part)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	Elf64_Chdr packed;

	if (!data || !data->d_buf)
		return true;
	*part = (struct section_part){ name, data->d_buf, data->d_size, data->d_size, 0 };
	if (!(header->sh_flags & SHF_COMPRESSED))
		return true;
	if (data->d_size < sizeof(packed))
		return false;
	memcpy(&packed, data->d_buf, sizeof(packed));
	part->type = packed.ch_type;
	part->bytes += sizeof(packed);
	part->packed_len -= sizeof(packed);
	part->len = packed.ch_size;
	return (part->type == TYPE_ZLIB || part->type == TYPE_ZSTD) &&
	       part->len / RATIO_MOST <= part->packed_len;
}

/* Finds the sections; true if one is packed and all can be unpacked. */
static bool find_debug_parts(Elf *elf, struct section_part parts[DEBUG_PARTS])
{
	Elf_Scn *section = NULL;
	bool has_packed = false;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || header.sh_type == SHT_NOBITS)
			continue;
		/* Debug information that refers to another file is left to libdw. */
		if (strcmp(name, ".gnu_debugaltlink") == 0)
			return false;
		for (size_t i = 0; i < DEBUG_PARTS; i++) {
			if (strcmp(name, wanted[i]) != 0 || parts[i].name)
				continue;
			if (!take_section(section, &header, wanted[i], &parts[i]))
				return false;
			has_packed |= parts[i].type != 0;
		}
	}
	return has_packed;
}

bool allo_elf_is_like_ours(Elf *elf)
{
	const unsigned char own = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
									    : ELFDATA2MSB;
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == own;
}

void allo_elf_end_strings(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		Elf_Data *data;

		if (!name || (header.sh_flags & SHF_COMPRESSED) ||
		    (strcmp(name, ".debug_str") != 0 && strcmp(name, ".debug_line_str") != 0))
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf && data->d_size > 0)
			((char *)data->d_buf)[data->d_size - 1] = '\0';
	}
}

/* The size of a section once it is unpacked; 0 if it is not packed. */
static uint64_t unpacked_size(Elf *elf, size_t names, Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Chdr packed;
	const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name)
							  : NULL;
	const Elf_Data *data;
	uint64_t size = 0;

	if (!name)
		return 0;
	if (header.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &packed) ? packed.ch_size : 0;
	/* The older form: "ZLIB" and the size, with the most significant byte first. */
	if (strncmp(name, ".zdebug", 7) != 0)
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size < 12)
		return 0;
	memcpy(&size, (const char *)data->d_buf + 4, sizeof(size));
	return __builtin_bswap64(size);
}

bool allo_elf_debug_is_modest(Elf *elf, uint64_t file_bytes)
{
	uint64_t left = allo_trust_limit(file_bytes, unpacked_ratio, unpacked_least);
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		uint64_t size = unpacked_size(elf, names, section);

		if (size > left)
			return false;
		left -= size;
	}
	return true;
}

static uint64_t align(uint64_t at)
{
	return (at + ALIGN - 1) / ALIGN * ALIGN;
}

/* Builds the image: ELF header, sections, their names, section headers. */
static char *make_image(Elf64_Ehdr *head, const struct section_part parts[DEBUG_PARTS],
			size_t *size)
{
	Elf64_Shdr sections[DEBUG_PARTS + 2] = { 0 };
	char names[1024] = "", *image;
	uint64_t at = align(sizeof(*head));
	size_t count = 1, names_len = 1;

	for (size_t i = 0; i <= DEBUG_PARTS; i++) {
		const char *name = i < DEBUG_PARTS ? parts[i].name : names_section;
		Elf64_Shdr *section = &sections[count];

		if (!name)
			continue;
		*section = (Elf64_Shdr){ .sh_name = (Elf64_Word)names_len,
					 .sh_type = i < DEBUG_PARTS ? SHT_PROGBITS : SHT_STRTAB,
					 .sh_offset = at,
					 .sh_addralign = 1 };
		strcpy(names + names_len, name);
		names_len += strlen(name) + 1;
		section->sh_size = i < DEBUG_PARTS ? parts[i].len : names_len;
		if (section->sh_size > SIZE_MAX / 2 - at)
			return NULL;
		at = align(at + section->sh_size);
		count++;
	}
	*size = at + count * sizeof(*sections);
	image = allo_huge_alloc(*size);
	if (!image)
		return NULL;
	head->e_phoff = head->e_phnum = 0;
	head->e_shoff = at;
	head->e_shnum = (Elf64_Half)count;
	head->e_shstrndx = (Elf64_Half)(count - 1);
	ALLO_ASSERT(names_len <= sizeof(names) && count >= 2 && count <= DEBUG_PARTS + 2);
	memcpy(image, head, sizeof(*head));
	memcpy(image + sections[count - 1].sh_offset, names, names_len);
	memcpy(image + at, sections, count * sizeof(*sections));
	for (size_t i = 0, k = 1; i < DEBUG_PARTS; i++) {
		if (parts[i].name && !unpack(&parts[i], image + sections[k++].sh_offset)) {
			free(image);
			return NULL;
		}
	}
	return image;
}

Elf *allo_elf_unpack_debug(struct allo_unpacked_debug *unpacked, Elf *elf)
{
	const Elf64_Ehdr *found = allo_elf_is_like_ours(elf) ? elf64_getehdr(elf) : NULL;
	struct section_part parts[DEBUG_PARTS] = { 0 };
	Elf64_Ehdr head;
	size_t size;

	if (!found || !find_debug_parts(elf, parts))
		return elf;
	head = *found;
	unpacked->image = make_image(&head, parts, &size);
	if (unpacked->image)
		unpacked->elf = elf_memory(unpacked->image, size);
	return unpacked->elf ? unpacked->elf : elf;
}
