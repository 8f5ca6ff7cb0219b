/*
 * target.c - searches PATH as execvp() does, follows interpreters, and names the reason for a
 * refusal.
 */
#include "run/target.h"

#include "base/defer.h"
#include "profile/naming.h"
#include "run/elf_symbols.h"
#include "run/known_runtime.h"

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
	SCRIPT_LINE = 256,       /* bytes that the kernel reads for "#!" */
	MAX_SCRIPTS = 5,         /* interpreters that are scripts; then the kernel gives up */
	MAX_HEADERS = 64 * 1024, /* bytes of program headers that the kernel reads */
};

static void close_file(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

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

/* The result has a slash, so that exec does not search PATH again.  "" is the current directory. */
static bool join(char out[PATH_MAX], struct allo_text folder, const char *name)
{
	if (folder.len == 0)
		folder = ALLO_TEXT(".");
	return folder.len < PATH_MAX &&
	       snprintf(out, PATH_MAX, "%.*s/%s", (int)folder.len, folder.data, name) < PATH_MAX;
}

/* Searches PATH.  If it finds nothing, errno is the reason. */
static bool search(struct allo_target *target, const char *name)
{
	const char *path = getenv("PATH");
	struct allo_text rest = allo_text_of(path ? path : "/bin:/usr/bin"), folder;
	int error = ENOENT;

	errno = ENOENT;
	if (name[0] == '\0')
		return false;
	/* An empty entry, even the last one, is the current directory. */
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
		allo_fail(err, ALLO_IO, pos, "not found in PATH");
		if (access(name, X_OK) == 0)
			allo_hint(err, "to run the one in this directory, write ./%s", name);
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
	/* 32-bit and 64-bit headers have these two fields at the same place. */
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
		snprintf(what, sizeof(what), "is a program for %s", machine_name(machine, name));
	fault(check, ALLO_TARGET_REFUSED, what);
	return allo_hint(check->err, "allo records 64-bit programs for %s: build it for that",
			 machine_name(OUR_MACHINE, name));
}

static bool fail_broken(const struct check *check)
{
	return fault(check, ALLO_TARGET_UNUSABLE, "is a damaged ELF file");
}

/* The dynamic linker of the program; empty: none. */
static bool find_linker(const struct check *check, int fd, const Elf64_Ehdr *head,
			char linker[PATH_MAX])
{
	ALLO_DEFER(allo_free_pointer) Elf64_Phdr *headers = NULL;
	size_t size = head->e_phnum * sizeof(*headers);

	linker[0] = '\0';
	if (head->e_phentsize != sizeof(*headers) || size == 0 || size > MAX_HEADERS)
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

/* The dynamic linker can be run with a program as its argument, and preloads libraries for it. */
static bool is_linker(const char *path)
{
	struct allo_text base = allo_basename(allo_text_of(path));

	return allo_text_starts(base, ALLO_TEXT("ld-linux")) ||
	       allo_text_starts(base, ALLO_TEXT("ld-musl")) ||
	       allo_text_starts(base, ALLO_TEXT("ld.so"));
}

static bool fail_static(const struct check *check, int fd)
{
	const struct allo_known_runtime *runtime = allo_known_runtime_find(fd);
	const char *allocator = allo_direct_allocator_find(fd).name;
	char what[100];

	snprintf(what, sizeof(what), "is statically linked%s%s, so no library can be preloaded",
		 allocator ? ", with " : "", allocator ? allocator : "");
	fault(check, ALLO_TARGET_REFUSED, what);
	if (runtime)
		return allo_hint(check->err, "it %s: %s", runtime->is, runtime->advice);
	return allo_hint(check->err, "link it dynamically: without -static or -static-pie");
}

static bool check_linker(const struct check *check, int fd, const char *linker)
{
	bool runs_linker = linker[0] == '\0' && is_linker(check->target->runs);
	struct allo_text base = allo_basename(
		allo_text_of(runs_linker ? check->target->runs : linker));
	char what[200];

	check->target->libc = allo_libc_of_linker(base.data);
	if (runs_linker)
		return true;
	if (linker[0] == '\0')
		return fail_static(check, fd);
	if (check->target->libc == ALLO_LIBC_OTHER) {
		snprintf(what, sizeof(what), "uses another C library than glibc and musl (%.*s)",
			 ALLO_TEXT_ARG(base));
		fault(check, ALLO_TARGET_REFUSED, what);
		return allo_hint(check->err, "build it on a system with one of these");
	}
	if (access(linker, F_OK) == 0)
		return true;
	snprintf(what, sizeof(what), "needs %.*s, which does not exist",
		 ALLO_TEXT_ARG(allo_text_of(linker)));
	return fault(check, ALLO_TARGET_MISSING, what);
}

/* Checks the symbols that the program defines or imports.  The allocator of a sanitizer must be
 * loaded first, so ours cannot be. */
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
	check->target->allocator = allo_direct_allocator_find(fd);
	for (size_t i = 0; i < SANITIZERS; i++) {
		if (!symbols[i].is_there)
			continue;
		snprintf(what, sizeof(what), "has the allocator of %s", sanitizers[i].what);
		fault(check, ALLO_TARGET_REFUSED, what);
		return allo_hint(check->err, "build it without -fsanitize=%s", sanitizers[i].flag);
	}
	return true;
}

/* If the kernel gives a program more rights than its caller has, the dynamic linker ignores the
 * caller's libraries. */
static bool check_rights(const struct check *check, int fd)
{
	const char *what = NULL;
	struct statvfs system;
	struct stat status;
	bool gives_user, gives_group, gives_capabilities;

	if (fstat(fd, &status) != 0 || fstatvfs(fd, &system) != 0)
		return true;
	/* This mount or this process allows no gain of rights. */
	if (system.f_flag & ST_NOSUID || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return true;
	gives_user = status.st_mode & S_ISUID && status.st_uid != getuid();
	/* Without execute permission for the group, the bit has another meaning. */
	gives_group = status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
		      status.st_gid != getgid();
	/* Root gains nothing from them. */
	gives_capabilities = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (gives_user)
		what = "is setuid, so the dynamic linker preloads no library";
	else if (gives_group)
		what = "is setgid, so the dynamic linker preloads no library";
	else if (gives_capabilities)
		what = "has file capabilities, so the dynamic linker preloads no library";
	if (!what)
		return true;
	fault(check, ALLO_TARGET_REFUSED, what);
	return allo_hint(check->err, "record a copy: cp does not copy such rights");
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
		return fault(check, ALLO_TARGET_UNUSABLE, "is an ELF file, but not a program");
	return find_linker(check, fd, &head, linker) && check_linker(check, fd, linker) &&
	       check_rights(check, fd) && check_symbols(check, fd);
}

/* The first word after "#!"; empty if the kernel would not accept it. */
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
	/* The word may continue beyond the bytes that the kernel reads. */
	if (at == end && start.len == SCRIPT_LINE - 2)
		word.len = 0;
	return word;
}

/* Continues with the interpreter of a script. */
static bool enter_script(struct check *check, struct allo_text start)
{
	struct allo_text interpreter = script_interpreter(start);

	/* Like execvp(), run other files with the shell. */
	if (interpreter.len == 0)
		interpreter = ALLO_TEXT(_PATH_BSHELL);
	memcpy(check->target->runs, interpreter.data, interpreter.len);
	check->target->runs[interpreter.len] = '\0';
	check->is_interpreter = true;
	if (is_executable(check->target->runs))
		return true;
	if (is_missing(errno))
		return fault(check, ALLO_TARGET_MISSING, "does not exist");
	return fault(check, ALLO_TARGET_UNUSABLE, "cannot be executed");
}

/* Checks one file; *is_script: the interpreter comes next. */
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
	/* A file may be executable but not readable. */
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

	for (int files = 0; is_script && files <= MAX_SCRIPTS; files++) {
		if (!check_file(&check, &is_script))
			return false;
	}
	return !is_script ||
	       fault(&check, ALLO_TARGET_UNUSABLE, "is one of too many nested scripts");
}
