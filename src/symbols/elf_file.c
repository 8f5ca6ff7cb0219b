/* elf_file.c - see elf_file.h. */
#include "symbols/elf_file.h"

#include "base/defer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Where a path leads to, within a root: a descriptor that nothing is read from; -1 if nowhere. */
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
	/* The kernel is an old one, or a container's rules do not know the call. */
	if (asprintf(&joined, "%s/%s", root, path) < 0) {
		joined = NULL;
		return -1;
	}
	return open(joined, O_PATH | O_CLOEXEC);
}

/* Opens what a descriptor of find_in_root() stands for, if it is a file: opening anything else may
 * do something, or make us wait. */
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

/* The one thing that all threads share. */
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
		file->elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
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
