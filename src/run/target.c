/* target.c - see target.h. */
#include "run/target.h"

#include "base/defer.h"
#include "profile/naming.h"
#include "run/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#endif

enum {
	SCRIPT_LINE = 256,        /* what the kernel looks at for "#!" */
	SCRIPTS_MOST = 5,         /* one after the other before the kernel gives up */
	HEADERS_MOST = 64 * 1024, /* bytes of program headers that the kernel reads */
};

static void close_file(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* A program on its way through the checks. */
struct check {
	struct allo_target *target;
	const char *name;
	bool is_interpreter; /* of the script `name` */
	struct allo_error *err;
};

static bool fault(const struct check *check, enum allo_target_fault fault, const char *what)
{
	const char *start[] = {
		[ALLO_TARGET_MISSING] = "cannot be run: ",
		[ALLO_TARGET_UNUSABLE] = "cannot be run: ",
		[ALLO_TARGET_REFUSED] = "cannot be recorded: ",
	};
	struct allo_text runs = allo_text_of(check->target->runs);
	struct allo_pos pos = { .file = check->name };

	check->target->fault = fault;
	if (check->is_interpreter)
		return allo_fail(check->err, ALLO_IO, pos, "%sits interpreter %.*s %s",
				 start[fault], ALLO_TEXT_ARG(runs), what);
	return allo_fail(check->err, ALLO_IO, pos, "%sit %s", start[fault], what);
}

static bool is_missing(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

/* Whether a file may be executed; sets errno as execve() would. */
static bool is_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0 || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
		return false;
	errno = EACCES;
	return S_ISREG(status.st_mode);
}

/* A name with a slash, so that nobody searches for it once more; no folder is the current one. */
static bool join(char out[PATH_MAX], struct allo_text folder, const char *name)
{
	if (folder.len == 0)
		folder = ALLO_TEXT(".");
	return folder.len < PATH_MAX &&
	       snprintf(out, PATH_MAX, "%.*s/%s", (int)folder.len, folder.data, name) < PATH_MAX;
}

/* Sets errno to what speaks against the candidates. */
static bool search(struct allo_target *target, const char *name)
{
	const char *path = getenv("PATH");
	struct allo_text rest = allo_text_of(path ? path : "/bin:/usr/bin"), folder;
	int error = ENOENT;

	errno = ENOENT;
	if (name[0] == '\0')
		return false;
	/* An empty piece, which is the current directory, may also be the last one. */
	for (bool is_last = false; !is_last;) {
		is_last = !allo_text_cut(rest, ':', &folder, &rest);
		if (is_last)
			folder = rest;
		errno = ENOENT;
		if (join(target->path, folder, name) && is_executable(target->path))
			return true;
		if (!is_missing(errno))
			error = errno;
	}
	errno = error;
	return false;
}

bool allo_target_find(struct allo_target *target, const char *name, struct allo_error *err)
{
	struct allo_pos pos = { .file = name[0] ? name : "''" };
	bool has_slash = strchr(name, '/') != NULL, is_found;

	*target = (struct allo_target){ .fault = ALLO_TARGET_FINE };
	errno = ENAMETOOLONG;
	if (has_slash)
		is_found = strlen(name) < PATH_MAX && is_executable(strcpy(target->path, name));
	else
		is_found = search(target, name);
	if (is_found) {
		strcpy(target->runs, target->path);
		return true;
	}
	target->fault = is_missing(errno) ? ALLO_TARGET_MISSING : ALLO_TARGET_UNUSABLE;
	if (target->fault == ALLO_TARGET_MISSING && !has_slash) {
		allo_fail(err, ALLO_IO, pos, "there is no such program in PATH");
		if (access(name, X_OK) == 0)
			allo_hint(err, "the one in this directory is ./%s", name);
		return false;
	}
	return allo_fail(err, ALLO_IO, pos, "cannot be run: %s", strerror(errno));
}

static const char *machine_name(unsigned machine, char out[32])
{
	switch (machine) {
	case EM_386:
		return "32-bit x86";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "32-bit ARM";
	case EM_AARCH64:
		return "64-bit ARM";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "PowerPC";
	case EM_S390:
		return "s390x";
	default:
		snprintf(out, 32, "another machine (number %u)", machine);
		return out;
	}
}

static bool check_machine(const struct check *check, const unsigned char *start)
{
	/* These two lie at the same place in headers of 32 and of 64 bits. */
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)start;
	bool is_ours = start[EI_DATA] == ELFDATA2LSB;
	unsigned machine = is_ours ? head->e_machine
				   : (unsigned)head->e_machine >> 8 | (head->e_machine & 0xff) << 8;
	char name[32], what[64];

	if (is_ours && machine == OUR_MACHINE && start[EI_CLASS] == ELFCLASS64)
		return true;
	if (machine == OUR_MACHINE)
		snprintf(what, sizeof(what), "is a 32-bit program");
	else
		snprintf(what, sizeof(what), "is made for %s", machine_name(machine, name));
	fault(check, ALLO_TARGET_REFUSED, what);
	return allo_hint(check->err, "allo records what is made for %s in 64 bits: build it so",
			 machine_name(OUR_MACHINE, name));
}

static bool fail_broken(const struct check *check)
{
	return fault(check, ALLO_TARGET_UNUSABLE, "is a damaged ELF file");
}

/* The dynamic linker that the program asks for; empty when it asks for none. */
static bool find_linker(const struct check *check, int fd, const Elf64_Ehdr *head,
			char linker[PATH_MAX])
{
	ALLO_DEFER(allo_free_pointer) Elf64_Phdr *headers = NULL;
	size_t size = head->e_phnum * sizeof(*headers);

	linker[0] = '\0';
	if (head->e_phentsize != sizeof(*headers) || size == 0 || size > HEADERS_MOST)
		return fail_broken(check);
	headers = malloc(size);
	if (!headers)
		return allo_fail_memory(check->err);
	if (allo_elf_read(fd, head->e_phoff, headers, size) != size)
		return fail_broken(check);
	for (size_t i = 0; i < head->e_phnum; i++) {
		uint64_t len = headers[i].p_filesz;

		if (headers[i].p_type != PT_INTERP)
			continue;
		if (len < 2 || len > PATH_MAX ||
		    allo_elf_read(fd, headers[i].p_offset, linker, len) != len ||
		    linker[len - 1] != '\0')
			return fail_broken(check);
		return true;
	}
	return true;
}

/* The dynamic linker itself may be run, with a program as its argument, and preloads for it. */
static bool is_linker(const char *path)
{
	struct allo_text base = allo_basename(allo_text_of(path));

	return allo_text_starts(base, ALLO_TEXT("ld-linux")) ||
	       allo_text_starts(base, ALLO_TEXT("ld.so"));
}

static bool check_linker(const struct check *check, const char *linker)
{
	static const char *const others[] = { "ld-musl", "ld-uClibc", "linker" };
	struct allo_text base = allo_basename(allo_text_of(linker));
	char what[200];

	if (linker[0] == '\0' && is_linker(check->target->runs))
		return true;
	if (linker[0] == '\0') {
		fault(check, ALLO_TARGET_REFUSED,
		      "is statically linked, so that nothing can be preloaded");
		return allo_hint(check->err, "link it dynamically: without -static or -static-pie");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!allo_text_starts(base, allo_text_of(others[i])))
			continue;
		snprintf(what, sizeof(what), "is made for another C library than glibc (%.*s)",
			 ALLO_TEXT_ARG(base));
		fault(check, ALLO_TARGET_REFUSED, what);
		return allo_hint(check->err, "build it on a system with glibc");
	}
	if (access(linker, F_OK) == 0)
		return true;
	snprintf(what, sizeof(what), "needs %.*s, which is not there",
		 ALLO_TEXT_ARG(allo_text_of(linker)));
	return fault(check, ALLO_TARGET_MISSING, what);
}

/* What the program has or wants by name.  Sanitizers bring an allocator that has to be the first
 * one to be loaded. */
static bool check_symbols(const struct check *check, int fd)
{
	static const struct {
		const char *symbol, *what, *flag;
	} sanitizers[] = {
		{ "__asan_init", "AddressSanitizer", "address" },
		{ "__hwasan_init", "HWAddressSanitizer", "hwaddress" },
		{ "__msan_init", "MemorySanitizer", "memory" },
		{ "__tsan_init", "ThreadSanitizer", "thread" },
	};
	enum { SANITIZERS = sizeof(sanitizers) / sizeof(*sanitizers) };
	struct allo_elf_symbol symbols[SANITIZERS + 1] = { [SANITIZERS] = { .name = "malloc" } };
	char what[80];

	for (size_t i = 0; i < SANITIZERS; i++)
		symbols[i].name = sanitizers[i].symbol;
	allo_elf_find_symbols(fd, symbols, SANITIZERS + 1);
	check->target->defines_malloc = symbols[SANITIZERS].is_defined;
	for (size_t i = 0; i < SANITIZERS; i++) {
		if (!symbols[i].is_there)
			continue;
		snprintf(what, sizeof(what), "has the allocator of %s", sanitizers[i].what);
		fault(check, ALLO_TARGET_REFUSED, what);
		return allo_hint(check->err, "build it without -fsanitize=%s", sanitizers[i].flag);
	}
	return true;
}

/* What the kernel decides when it executes a file: with more rights than the caller's, the dynamic
 * linker takes no library from the caller. */
static bool check_rights(const struct check *check, int fd)
{
	const char *what = NULL;
	struct statvfs system;
	struct stat status;
	bool gives_user, gives_group, gives_capabilities;

	if (fstat(fd, &status) != 0 || fstatvfs(fd, &system) != 0)
		return true;
	/* Neither this mount nor this process lets anybody gain rights. */
	if (system.f_flag & ST_NOSUID || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return true;
	gives_user = status.st_mode & S_ISUID && status.st_uid != getuid();
	/* Without the group's right to execute, this bit means something else. */
	gives_group = status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
		      status.st_gid != getgid();
	/* Root gains nothing by them. */
	gives_capabilities = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (gives_user)
		what = "is setuid, and such programs take no preloaded library";
	else if (gives_group)
		what = "is setgid, and such programs take no preloaded library";
	else if (gives_capabilities)
		what = "has file capabilities, and such programs take no preloaded library";
	if (!what)
		return true;
	fault(check, ALLO_TARGET_REFUSED, what);
	return allo_hint(check->err, "record a copy: cp leaves such rights behind");
}

static bool check_elf(const struct check *check, int fd, const unsigned char *start, size_t len)
{
	char linker[PATH_MAX];
	Elf64_Ehdr head;

	if (len < sizeof(Elf32_Ehdr))
		return fail_broken(check);
	if (!check_machine(check, start))
		return false;
	if (len < sizeof(head))
		return fail_broken(check);
	memcpy(&head, start, sizeof(head));
	if (head.e_type != ET_EXEC && head.e_type != ET_DYN)
		return fault(check, ALLO_TARGET_UNUSABLE, "is an ELF file but no program");
	return find_linker(check, fd, &head, linker) && check_linker(check, linker) &&
	       check_rights(check, fd) && check_symbols(check, fd);
}

/* The first word behind "#!"; empty when there is none that the kernel would take. */
static struct allo_text script_interpreter(struct allo_text start)
{
	const char *at = start.data, *end = start.data + start.len;
	struct allo_text word;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	word.data = at;
	while (at < end && !strchr(" \t\n", *at))
		at++;
	word.len = (size_t)(at - word.data);
	/* Without an end within the kernel's sight it may go on. */
	if (at == end && start.len == SCRIPT_LINE - 2)
		word.len = 0;
	return word;
}

/* Goes on to a script's interpreter, which has to be there. */
static bool enter_script(struct check *check, struct allo_text start)
{
	struct allo_text interpreter = script_interpreter(start);

	/* What the kernel makes nothing of is handed to the shell, as execvp() does. */
	if (interpreter.len == 0)
		interpreter = ALLO_TEXT(_PATH_BSHELL);
	memcpy(check->target->runs, interpreter.data, interpreter.len);
	check->target->runs[interpreter.len] = '\0';
	check->is_interpreter = true;
	if (is_executable(check->target->runs))
		return true;
	if (is_missing(errno))
		return fault(check, ALLO_TARGET_MISSING, "is not there");
	return fault(check, ALLO_TARGET_UNUSABLE, "cannot be executed");
}

/* Looks at one file; *is_script says that there is another to be looked at. */
static bool check_file(struct check *check, bool *is_script)
{
	union {
		unsigned char bytes[SCRIPT_LINE];
		Elf64_Ehdr aligned;
	} start;
	ALLO_DEFER(close_file)
	int fd = open(check->target->runs, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct allo_text line = { (const char *)start.bytes, 0 };

	*is_script = false;
	/* Who may execute a file need not be able to read it. */
	if (fd < 0)
		return true;
	line.len = allo_elf_read(fd, 0, start.bytes, sizeof(start.bytes));
	if (allo_text_starts(line, ALLO_TEXT(ELFMAG)))
		return check_elf(check, fd, start.bytes, line.len);
	*is_script = true;
	return enter_script(check, allo_text_skip(&line, ALLO_TEXT("#!")) ? line : ALLO_TEXT(""));
}

bool allo_target_check(struct allo_target *target, const char *name, struct allo_error *err)
{
	struct check check = { .target = target, .name = name, .err = err };
	bool is_script = true;

	for (int files = 0; is_script && files <= SCRIPTS_MOST; files++) {
		if (!check_file(&check, &is_script))
			return false;
	}
	return !is_script ||
	       fault(&check, ALLO_TARGET_UNUSABLE, "is one of too many scripts in a row");
}
