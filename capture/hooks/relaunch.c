/*
 * relaunch.c - executes a program with a sanitizer again, without our library.
 *
 * AddressSanitizer exits if its library is not the first one, and ThreadSanitizer crashes.
 * hooks_exec.c takes our library out of the environment of such a program.  It does not see system
 * calls of static programs, of Go, or in assembly.  So the preloaded library looks again, when it
 * is too late to leave: only another exec gets rid of it.
 *
 * The sanitizer has replaced the functions of libc and fails at the first one that is called.  So
 * this file calls none, and runs before all constructors: as the resolver of an indirect function,
 * while the dynamic linker relocates our library.  All libraries are mapped by then.  Our
 * constructor comes before those of other libraries (-z initfirst), but not if another library
 * demands the same, and not before functions in the .preinit_array of the program.
 *
 * Only liballo.so contains this file, and it acts only if LD_PRELOAD has our library: the program
 * that is executed has none of this, so nothing is executed twice.
 */
#include "capture/file/announce_line.h"
#include "capture/hooks/sanitizers.h"
#include "capture/system.h"

#include <elf.h>
#include <limits.h>
#include <link.h>

#define LIBRARY "liballo.so"

/* Set by the dynamic linker: the start of the stack, with argc, argv, the environment and auxv. */
extern void *__libc_stack_end;

extern ALLO_HIDDEN ElfW(Dyn) _DYNAMIC[];

struct program {
	char **arguments, **environment;
	const char *path; /* as it was executed; of a script, the script's */
	bool is_secure;   /* it has more rights than its caller */
	bool is_direct;   /* the kernel, not a dynamic linker that is a program, has loaded it */
};

/* Texts. */

static bool starts(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return !*start;
}

static size_t length(const char *text)
{
	size_t len = 0;

	while (text[len])
		len++;
	return len;
}

static const char *base_of(const char *path, size_t len)
{
	while (len > 0 && path[len - 1] != '/')
		len--;
	return path + len;
}

/* The value of a variable, or NULL. */
static const char *value_of(char *const *environment, const char *name)
{
	for (; *environment; environment++) {
		if (starts(*environment, name))
			return *environment + length(name);
	}
	return NULL;
}

/* The program and its loaded libraries. */

static void find_program(struct program *program)
{
	const uintptr_t *start = __libc_stack_end;
	const ElfW(auxv_t) * entry;
	char **end;

	program->arguments = (char **)(start + 1);
	program->environment = program->arguments + start[0] + 1;
	program->path = "";
	program->is_secure = false;
	program->is_direct = false;
	for (end = program->environment; *end; end++) {
	}
	for (entry = (const void *)(end + 1); entry->a_type != AT_NULL; entry++) {
		if (entry->a_type == AT_SECURE)
			program->is_secure = entry->a_un.a_val != 0;
		else if (entry->a_type == AT_BASE)
			program->is_direct = entry->a_un.a_val != 0;
		else if (entry->a_type == AT_EXECFN)
			program->path = (const char *)entry->a_un.a_val;
	}
}

/* The word of wire/skip.h for a library; NULL if it has no sanitizer. */
static const char *sanitizer_of(const char *path)
{
	const char *name = base_of(path, length(path));

#define CHECK(skip, word, symbol, gcc, clang)                                                      \
	if (starts(name, gcc) || starts(name, clang))                                              \
		return word;
	ALLO_SANITIZERS(CHECK)
#undef CHECK
	return NULL;
}

static const struct link_map *find_own(void)
{
	const struct link_map *map = _r_debug.r_map;

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

/* The sanitizer behind our library in the list of libraries; NULL if there is none.  Only a
 * preloaded library has libc behind it, too: a program that loads ours later is running. */
static const char *find_sanitizer(const struct link_map *map)
{
	const char *word = NULL;
	bool has_libc = false;

	for (; map; map = map->l_next) {
		if (!word)
			word = sanitizer_of(map->l_name);
		has_libc |= starts(base_of(map->l_name, length(map->l_name)), "libc.so.");
	}
	return has_libc ? word : NULL;
}

/* LD_PRELOAD. */

static bool is_separator(char letter)
{
	return letter == ':' || letter == ' ';
}

/* The bytes up to the next separator. */
static size_t library_len(const char *library)
{
	size_t len = 0;

	while (library[len] && !is_separator(library[len]))
		len++;
	return len;
}

static bool is_ours(const char *library, size_t len, const char *own)
{
	return starts(base_of(library, len), LIBRARY) ||
	       (length(own) == len && starts(library, own));
}

/* Writes LD_PRELOAD without our library; the length, and whether ours was there. */
static size_t write_preload(const char *preload, const char *own, char *variable, bool *was_there)
{
	size_t start, used = 0;

	for (const char *name = "LD_PRELOAD="; *name; name++)
		variable[used++] = *name;
	start = used;
	*was_there = false;
	while (*preload) {
		size_t len = library_len(preload);

		if (len > 0 && is_ours(preload, len, own)) {
			*was_there = true;
		} else if (len > 0) {
			if (used > start)
				variable[used++] = ':';
			for (size_t i = 0; i < len; i++)
				variable[used++] = preload[i];
		}
		preload += len + (preload[len] != '\0');
	}
	variable[used] = '\0';
	return used - start;
}

/* Copies the environment with another LD_PRELOAD; NULL: with none. */
static void copy_environment(char *const *from, char **to, char *preload)
{
	for (; *from; from++) {
		if (!starts(*from, "LD_PRELOAD="))
			*to++ = *from;
		else if (preload)
			*to++ = preload;
	}
	*to = NULL;
}

/* The report. */

/* Copies ALLO_LIST, as an entry of ALLO_SETTINGS (settings.c) or a variable.  False if there is
 * none, or no room. */
static bool find_list(char *const *environment, char list[PATH_MAX])
{
	const char *settings = value_of(environment, "ALLO_SETTINGS=");
	const char *at = settings;
	bool is_entry = settings != NULL;
	size_t len = 0;

	while (at && *at && !starts(at, "LIST=")) {
		while (*at && *at != ';')
			at += at[0] == '\\' && at[1] ? 2 : 1;
		at += *at == ';';
	}
	if (at && *at) {
		at += length("LIST=");
	} else {
		at = value_of(environment, "ALLO_LIST=");
		is_entry = false;
	}
	for (; at && *at && !(is_entry && *at == ';') && len < PATH_MAX; at++) {
		at += is_entry && at[0] == '\\' && at[1];
		list[len++] = *at;
	}
	if (len == 0 || len == PATH_MAX)
		return false;
	list[len] = '\0';
	return true;
}

static __attribute__((noinline)) void announce(const struct program *program, const char *word)
{
	uint64_t process = (uint64_t)ALLO_SYSCALL1(SYS_getpid, 0);
	struct allo_list_line line;
	char list[PATH_MAX];

	if (!find_list(program->environment, list))
		return;
	allo_list_line_begin(&line, process, allo_list_line_pid_namespace());
	allo_list_line_add(&line, "skipped ");
	allo_list_line_add(&line, word);
	allo_list_line_add(&line, " ");
	allo_list_line_add_path(&line, program->path);
	allo_list_line_write(&line, list, process);
}

/* Executing it. */

/* The path keeps the name of the process, which /proc/self/exe would change to "exe".  A script's
 * path would be executed with the arguments of its interpreter. */
static const char *path_of(const struct program *program)
{
	static const char own[] = "/proc/self/exe";
	struct stat named, running;

	if (ALLO_SYSCALL4(SYS_newfstatat, AT_FDCWD, program->path, &named, 0) == 0 &&
	    ALLO_SYSCALL4(SYS_newfstatat, AT_FDCWD, own, &running, 0) == 0 &&
	    named.st_dev == running.st_dev && named.st_ino == running.st_ino)
		return program->path;
	return own;
}

/* Returns only if nothing is to be done, or if that fails. */
static void relaunch(const struct program *program, const char *own, const char *word)
{
	const char *preload = value_of(program->environment, "LD_PRELOAD=");
	char *variable, **environment;
	size_t count = 0, rest;
	bool was_there;

	if (!preload)
		return;
	variable = __builtin_alloca(sizeof("LD_PRELOAD=") + length(preload));
	rest = write_preload(preload, own, variable, &was_there);
	if (!was_there)
		return;
	while (program->environment[count])
		count++;
	environment = __builtin_alloca((count + 1) * sizeof(*environment));
	copy_environment(program->environment, environment, rest > 0 ? variable : NULL);
	announce(program, word);
	ALLO_SYSCALL3(SYS_execve, path_of(program), program->arguments, environment);
}

static void nothing(void)
{
}

/* Called by the dynamic linker. */
static __attribute__((used)) void (*resolve(void))(void)
{
	const struct link_map *own = find_own();
	const char *word = own ? find_sanitizer(own->l_next) : NULL;
	struct program program;

	if (word) {
		find_program(&program);
		if (program.is_direct && !program.is_secure)
			relaunch(&program, own->l_name, word);
	}
	return nothing;
}

static void indirect(void) __attribute__((ifunc("resolve")));

/* The reference lets the dynamic linker resolve the function. */
static __attribute__((used)) void (*const reference)(void) = indirect;
