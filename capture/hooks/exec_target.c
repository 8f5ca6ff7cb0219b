/* exec_target.c - reads the headers of ELF files, which are not trusted. */
#include "capture/hooks/exec_target.h"
#include "capture/hooks/sanitizers.h"
#include "capture/system.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#endif

enum {
	SCRIPT_LINE = 256,  /* bytes that the kernel reads for "#!" */
	MAX_SCRIPTS = 5,    /* interpreters that are scripts; then the kernel gives up */
	MAX_ENTRIES = 4096, /* of a table in a file; ordinary ones have about 30 */
	NAME_SIZE = 64,     /* for the first bytes of names */
};

/* A file, and the part of it that was read last: most tables are next to each other. */
struct file {
	int fd;
	uint64_t start;
	size_t len;
	unsigned char bytes[1024];
	Elf64_Ehdr head;
	enum allo_libc libc;
};

/* Reads up to `len` bytes from an offset; returns how many there were. */
static size_t read_some(struct file *file, uint64_t at, void *to, size_t len)
{
	size_t have;

	if (at < file->start || at - file->start > file->len ||
	    len > file->len - (at - file->start)) {
		long got = at > INT64_MAX ? -1
					  : ALLO_SYSCALL4(SYS_pread64, file->fd, file->bytes,
							  sizeof(file->bytes), at);

		file->start = at;
		file->len = got > 0 ? (size_t)got : 0;
	}
	have = file->len - (at - file->start);
	if (len > have)
		len = have;
	memcpy(to, file->bytes + (at - file->start), len);
	return len;
}

static bool read_all(struct file *file, uint64_t at, void *to, size_t len)
{
	return read_some(file, at, to, len) == len;
}

/* The start of a name; "" if there is none. */
static void read_name(struct file *file, uint64_t at, char name[NAME_SIZE])
{
	name[read_some(file, at, name, NAME_SIZE - 1)] = '\0';
}

static bool starts(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Program headers. */

static bool read_header(struct file *file, unsigned index, Elf64_Phdr *header)
{
	return read_all(file, file->head.e_phoff + index * sizeof(*header), header,
			sizeof(*header));
}

static bool find_header(struct file *file, uint32_t type, Elf64_Phdr *header)
{
	for (unsigned i = 0; i < file->head.e_phnum && read_header(file, i, header); i++) {
		if (header->p_type == type)
			return true;
	}
	return false;
}

/* The place in the file of an address of the program; false if it has none. */
static bool find_offset(struct file *file, uint64_t address, uint64_t *offset)
{
	Elf64_Phdr header;

	for (unsigned i = 0; i < file->head.e_phnum && read_header(file, i, &header); i++) {
		if (header.p_type == PT_LOAD && address - header.p_vaddr < header.p_filesz) {
			*offset = address - header.p_vaddr + header.p_offset;
			return true;
		}
	}
	return false;
}

/* Sanitizers. */

static const struct {
	enum allo_skip skip;
	const char *symbol;      /* the program defines it if it contains the allocator */
	const char *gcc, *clang; /* libraries with the allocator */
} sanitizers[] = {
#define SANITIZER(name, word, symbol, gcc, clang) { ALLO_SKIP_##name, symbol, gcc, clang },
	ALLO_SANITIZERS(SANITIZER)
#undef SANITIZER
};

enum { SANITIZERS = sizeof(sanitizers) / sizeof(*sanitizers) };

enum allo_skip allo_exec_target_sanitizer(const char *name)
{
	for (unsigned i = 0; i < SANITIZERS; i++) {
		if (starts(name, sanitizers[i].gcc) || starts(name, sanitizers[i].clang))
			return sanitizers[i].skip;
	}
	return ALLO_SKIP_NONE;
}

/* The dynamic section, and the tables that it names, as offsets in the file. */
struct dynamic {
	uint64_t at, count;
	uint64_t names, symbols, hash; /* 0: none */
};

static bool read_entry(struct file *file, const struct dynamic *dynamic, uint64_t index,
		       Elf64_Dyn *entry)
{
	return index < dynamic->count && index < MAX_ENTRIES &&
	       read_all(file, dynamic->at + index * sizeof(*entry), entry, sizeof(*entry)) &&
	       entry->d_tag != DT_NULL;
}

static bool find_dynamic(struct file *file, struct dynamic *dynamic)
{
	Elf64_Phdr header;
	Elf64_Dyn entry;
	uint64_t names = 0, symbols = 0, hash = 0;

	if (!find_header(file, PT_DYNAMIC, &header))
		return false;
	*dynamic = (struct dynamic){ .at = header.p_offset,
				     .count = header.p_filesz / sizeof(entry) };
	for (uint64_t i = 0; read_entry(file, dynamic, i, &entry); i++) {
		if (entry.d_tag == DT_STRTAB)
			names = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_SYMTAB)
			symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_GNU_HASH)
			hash = entry.d_un.d_ptr;
	}
	if (!find_offset(file, names, &dynamic->names))
		return false;
	if (!find_offset(file, symbols, &dynamic->symbols) ||
	    !find_offset(file, hash, &dynamic->hash))
		dynamic->hash = 0;
	return true;
}

/* The sanitizer among the libraries that the program needs. */
static enum allo_skip find_library(struct file *file, const struct dynamic *dynamic)
{
	enum allo_skip skip = ALLO_SKIP_NONE;
	char name[NAME_SIZE];
	Elf64_Dyn entry;

	for (uint64_t i = 0; skip == ALLO_SKIP_NONE && read_entry(file, dynamic, i, &entry); i++) {
		if (entry.d_tag != DT_NEEDED)
			continue;
		read_name(file, dynamic->names + entry.d_un.d_val, name);
		skip = allo_exec_target_sanitizer(base_of(name));
	}
	return skip;
}

/* The hash function of DT_GNU_HASH. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

struct hash_table {
	uint32_t buckets, first, words, shift; /* as in the file */
};

/* Whether the filter of the hash table may contain a name: it rules out most. */
static bool may_have(struct file *file, const struct dynamic *dynamic,
		     const struct hash_table *table, uint32_t hash)
{
	uint64_t word, bits = 1ull << hash % 64 | 1ull << (hash >> table->shift % 32) % 64;
	uint64_t at = dynamic->hash + sizeof(*table) + hash / 64 % table->words * sizeof(word);

	return read_all(file, at, &word, sizeof(word)) && (word & bits) == bits;
}

static bool is_symbol(struct file *file, const struct dynamic *dynamic, uint32_t index,
		      const char *name)
{
	char found[NAME_SIZE];
	Elf64_Sym symbol;

	if (!read_all(file, dynamic->symbols + index * sizeof(symbol), &symbol, sizeof(symbol)))
		return false;
	read_name(file, dynamic->names + symbol.st_name, found);
	return strcmp(found, name) == 0;
}

/* Whether the program defines a dynamic symbol. */
static bool defines(struct file *file, const struct dynamic *dynamic,
		    const struct hash_table *table, const char *name)
{
	uint32_t hash = hash_of(name), index, found;
	uint64_t buckets = dynamic->hash + sizeof(*table) + table->words * sizeof(uint64_t);
	uint64_t chains = buckets + table->buckets * sizeof(uint32_t);

	if (!may_have(file, dynamic, table, hash) ||
	    !read_all(file, buckets + hash % table->buckets * sizeof(index), &index,
		      sizeof(index)) ||
	    index < table->first)
		return false;
	for (unsigned i = 0; i < MAX_ENTRIES; i++, index++) {
		if (!read_all(file, chains + (uint64_t)(index - table->first) * sizeof(found),
			      &found, sizeof(found)))
			return false;
		/* The lowest bit marks the end of the chain. */
		if ((found | 1) == (hash | 1) && is_symbol(file, dynamic, index, name))
			return true;
		if (found & 1)
			return false;
	}
	return false;
}

static enum allo_skip find_symbol(struct file *file, const struct dynamic *dynamic)
{
	struct hash_table table;

	if (dynamic->hash == 0 || !read_all(file, dynamic->hash, &table, sizeof(table)) ||
	    table.buckets == 0 || table.words == 0)
		return ALLO_SKIP_NONE;
	for (unsigned i = 0; i < SANITIZERS; i++) {
		if (defines(file, dynamic, &table, sanitizers[i].symbol))
			return sanitizers[i].skip;
	}
	return ALLO_SKIP_NONE;
}

static enum allo_skip check_sanitizers(struct file *file)
{
	struct dynamic dynamic;
	enum allo_skip skip;

	if (!find_dynamic(file, &dynamic))
		return ALLO_SKIP_NONE;
	skip = find_library(file, &dynamic);
	return skip != ALLO_SKIP_NONE ? skip : find_symbol(file, &dynamic);
}

/* The other reasons. */

/* Rights that the kernel would give to the program, as in src/run/target.c. */
static enum allo_skip check_rights(int fd, const struct stat *status)
{
	long user = ALLO_SYSCALL1(SYS_getuid, 0), group = ALLO_SYSCALL1(SYS_getgid, 0);
	enum allo_skip skip = ALLO_SKIP_NONE;
	struct statfs system;

	if (status->st_mode & S_ISUID && status->st_uid != user)
		skip = ALLO_SKIP_SETUID;
	else if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != group)
		skip = ALLO_SKIP_SETGID;
	else if (user != 0 && ALLO_SYSCALL4(SYS_fgetxattr, fd, "security.capability", NULL, 0) > 0)
		skip = ALLO_SKIP_CAPABILITIES;
	/* Neither this mount nor this process may allow a gain of rights. */
	if (skip != ALLO_SKIP_NONE &&
	    ((ALLO_SYSCALL2(SYS_fstatfs, fd, &system) == 0 && system.f_flags & ST_NOSUID) ||
	     ALLO_SYSCALL4(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0) == 1))
		skip = ALLO_SKIP_NONE;
	return skip;
}

/* `path` may be NULL. */
static enum allo_skip check_linker(struct file *file, const char *path)
{
	const char *own = path ? base_of(path) : "";
	char linker[NAME_SIZE];
	Elf64_Phdr header;

	if (!find_header(file, PT_INTERP, &header)) {
		/* The dynamic linker is static, and preloads libraries into its argument. */
		if (!starts(own, "ld-linux") && !starts(own, "ld-musl") && !starts(own, "ld.so"))
			return ALLO_SKIP_STATIC;
		file->libc = allo_libc_of_linker(own);
	} else {
		read_name(file, header.p_offset, linker);
		file->libc = allo_libc_of_linker(base_of(linker));
	}
	return file->libc == ALLO_LIBC_OWN ? ALLO_SKIP_NONE : ALLO_SKIP_LIBC;
}

static enum allo_skip check_elf(struct file *file, const struct stat *status, const char *path)
{
	enum allo_skip skip;

	if (!read_all(file, 0, &file->head, sizeof(file->head)))
		return ALLO_SKIP_NONE;
	if (file->head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    file->head.e_ident[EI_DATA] != ELFDATA2LSB || file->head.e_machine != OUR_MACHINE)
		return ALLO_SKIP_MACHINE;
	if ((file->head.e_type != ET_EXEC && file->head.e_type != ET_DYN) ||
	    file->head.e_phentsize != sizeof(Elf64_Phdr))
		return ALLO_SKIP_NONE;
	/* A setuid program ignores all libraries of its caller, so nothing can harm it. */
	skip = check_rights(file->fd, status);
	if (skip == ALLO_SKIP_NONE)
		skip = check_linker(file, path);
	return skip == ALLO_SKIP_NONE ? check_sanitizers(file) : skip;
}

/* Copies the interpreter of "#! interpreter argument"; false if the file is not such a script. */
static bool find_interpreter(struct file *file, char interpreter[SCRIPT_LINE])
{
	char *start = interpreter;
	size_t len;

	interpreter[read_some(file, 0, interpreter, SCRIPT_LINE - 1)] = '\0';
	if (!starts(interpreter, "#!"))
		return false;
	start += 2;
	start += strspn(start, " \t");
	len = strcspn(start, " \t\n");
	memmove(interpreter, start, len);
	interpreter[len] = '\0';
	return len > 0;
}

/* Checks an open file.  *interpreter is set if that comes next. */
static enum allo_skip check_open(int fd, const char *path, char interpreter[SCRIPT_LINE],
				 enum allo_libc *libc)
{
	struct file file = { .fd = fd };
	enum allo_skip skip;
	struct stat status;
	char magic[SELFMAG];

	interpreter[0] = '\0';
	if (ALLO_SYSCALL2(SYS_fstat, fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    !(status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) ||
	    !read_all(&file, 0, magic, sizeof(magic)))
		return ALLO_SKIP_NONE;
	if (memcmp(magic, ELFMAG, SELFMAG) == 0) {
		skip = check_elf(&file, &status, path);
		if (skip == ALLO_SKIP_LIBC)
			*libc = file.libc;
		return skip;
	}
	if (!find_interpreter(&file, interpreter))
		interpreter[0] = '\0'; /* exec fails, or starts the shell */
	return ALLO_SKIP_NONE;
}

enum allo_skip allo_exec_target_check(int at, const char *path, enum allo_libc *libc)
{
	char interpreter[2][SCRIPT_LINE];
	enum allo_skip skip = ALLO_SKIP_NONE;

	for (int files = 0; path[0] && files <= MAX_SCRIPTS; files++) {
		long fd = ALLO_SYSCALL3(SYS_openat, at, path,
					O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

		if (fd < 0)
			break;
		skip = check_open((int)fd, path, interpreter[files % 2], libc);
		ALLO_SYSCALL1(SYS_close, fd);
		if (skip != ALLO_SKIP_NONE)
			break;
		path = interpreter[files % 2];
		at = AT_FDCWD;
	}
	return skip;
}

enum allo_skip allo_exec_target_check_fd(int fd, enum allo_libc *libc)
{
	char interpreter[SCRIPT_LINE];
	enum allo_skip skip = check_open(fd, NULL, interpreter, libc);

	return skip == ALLO_SKIP_NONE && interpreter[0]
		       ? allo_exec_target_check(AT_FDCWD, interpreter, libc)
		       : skip;
}
