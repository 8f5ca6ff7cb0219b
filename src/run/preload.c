/*
 * preload.c - searches the library beside the program and where it was installed, and sets two
 * variables.
 */
#include "run/preload.h"

#include "base/defer.h"
#include "base/text.h"
#include "profile/naming.h"
#include "run/carried_runtime.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The file of a name in the folder of `path`.  NULL with errno set if it is not there. */
static char *file_beside(const char *path, const char *name)
{
	ALLO_DEFER(allo_free_pointer) char *file = NULL;

	if (asprintf(&file, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name) < 0)
		file = NULL;
	return file ? realpath(file, NULL) : NULL;
}

/* `folder` is relative to the directory of our program, or absolute. */
static char *library_at(const char *folder, const char *name)
{
	char path[2 * PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	if (folder[0] == '/') {
		snprintf(path, PATH_MAX, "%s/", folder);
	} else {
		if (len <= 0 || len == PATH_MAX)
			return NULL;
		path[len] = '\0';
		snprintf(strrchr(path, '/') + 1, PATH_MAX, "%s/", folder);
	}
	return file_beside(path, name);
}

/* ALLO_LIBRARY names the runtime for glibc, or for musl if it has that name.  The other one is in
 * the same folder. */
static char *given_library(const char *given, const char *name)
{
	ALLO_DEFER(allo_free_pointer) char *path = realpath(given, NULL);
	struct allo_text base = allo_basename(allo_text_of(given));
	bool is_for_musl = allo_text_starts(base, ALLO_TEXT("liballo-musl"));

	if (!path)
		return NULL;
	if (is_for_musl == (name == allo_runtime_name(ALLO_LIBC_MUSL)))
		return realpath(path, NULL);
	return file_beside(path, name);
}

static char *search_library(enum allo_libc libc, const char *name)
{
	/* In a build tree, in a moved installation, beside allo, and where it was installed. */
	static const char *const folders[] = { "../capture", ALLO_LIBRARY_WAY, ".", ALLO_LIBRARY };
	char *path = NULL;

	for (size_t i = 0; !path && i < sizeof(folders) / sizeof(*folders); i++)
		path = library_at(folders[i], name);
	return path ? path : allo_carried_runtime(libc);
}

static bool fail_missing(enum allo_libc libc, const char *name, const char *given,
			 struct allo_error *err)
{
	if (libc == ALLO_LIBC_MUSL) {
		allo_fail(err, ALLO_IO, (struct allo_pos){ .file = name },
			  "cannot find the runtime for programs of musl");
		return allo_hint(err, "build Allotrope with musl-gcc (Debian: musl-tools), and "
				      "install it");
	}
	allo_fail_errno(err, given ? "ALLO_LIBRARY" : ALLO_LIBRARY, "find the library");
	return given ? false
		     : allo_hint(err,
				 "install it, or say where it is in the variable ALLO_LIBRARY");
}

static char *find_library(enum allo_libc libc, struct allo_error *err)
{
	const char *name = allo_runtime_name(libc), *given = getenv("ALLO_LIBRARY");
	char *path;

	if (given && !given[0])
		given = NULL;
	path = given ? given_library(given, name) : search_library(libc, name);
	if (!path)
		fail_missing(libc, name, given, err);
	return path;
}

/* The allocator of a sanitizer must be loaded first, so ours cannot be. */
static bool check_others(const char *others, struct allo_error *err)
{
	static const char *const sanitizers[] = { "libasan.so",         "libhwasan.so",
						  "libtsan.so",         "libclang_rt.asan",
						  "libclang_rt.hwasan", "libclang_rt.msan",
						  "libclang_rt.tsan" };

	while (others && *(others += strspn(others, ": "))) {
		size_t len = strcspn(others, ": ");
		struct allo_text base = allo_basename((struct allo_text){ others, len });

		for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++) {
			if (!allo_text_starts(base, allo_text_of(sanitizers[i])))
				continue;
			allo_fail(err, ALLO_IO, (struct allo_pos){ .file = "LD_PRELOAD" },
				  "the allocator of a sanitizer, %.*s, cannot be recorded",
				  ALLO_TEXT_ARG(base));
			return allo_hint(err, "record the program without it");
		}
		others += len;
	}
	return true;
}

char *allo_preload_library(enum allo_libc libc, struct allo_error *err)
{
	return check_others(getenv("LD_PRELOAD"), err) ? find_library(libc, err) : NULL;
}

static void add(struct allo_environment *environment, char *variable)
{
	char **place = allo_vec_push(&environment->all);

	if (place)
		*place = variable;
	else
		environment->is_short_of_memory = true;
}

static void add_variable(struct allo_environment *environment, const char *name, const char *first,
			 const char *between, const char *second)
{
	ALLO_DEFER(allo_free_pointer) char *text = NULL;
	int len = asprintf(&text, "%s=%s%s%s", name, first, between, second);
	char *kept = len >= 0 ? allo_arena_copy(&environment->arena, text, (size_t)len) : NULL;

	if (len < 0)
		text = NULL;
	if (kept)
		add(environment, kept);
	else
		environment->is_short_of_memory = true;
}

static void append(struct allo_environment *environment, const char *text, size_t len)
{
	if (!allo_vec_append(&environment->settings, text, len))
		environment->is_short_of_memory = true;
}

/* capture/settings.c reads this. */
static void append_setting(struct allo_environment *environment, const char *name,
			   const char *value)
{
	if (environment->settings.len > 0)
		append(environment, ";", 1);
	append(environment, name, strlen(name));
	append(environment, "=", 1);
	for (; *value; value++) {
		if (*value == ';' || *value == '\\')
			append(environment, "\\", 1);
		append(environment, value, 1);
	}
}

void allo_environment_set(struct allo_environment *environment, const char *name, const char *fmt,
			  ...)
{
	char *value = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&value, fmt, args);
	va_end(args);
	if (len < 0) {
		environment->is_short_of_memory = true;
		return;
	}
	append_setting(environment, name, value);
	free(value);
}

/* Whether one of the first `count` variables has the same name. */
static bool is_set(const struct allo_environment *environment, size_t count, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(environment->all.at[i], variable, len) == 0)
			return true;
	}
	return false;
}

bool allo_environment_finish(struct allo_environment *environment, const char *library,
			     struct allo_error *err)
{
	const char *others = getenv("LD_PRELOAD");
	bool has_others = others && others[0];
	size_t count;

	append(environment, "", 1); /* the NUL */
	if (environment->is_short_of_memory)
		return allo_fail_memory(err);
	add_variable(environment, "LD_PRELOAD", library, has_others ? ":" : "",
		     has_others ? others : "");
	add_variable(environment, "ALLO_SETTINGS", environment->settings.at, "", "");
	count = environment->all.len;
	for (char **variable = environ; *variable; variable++) {
		if (!is_set(environment, count, *variable))
			add(environment, *variable);
	}
	add(environment, NULL);
	return !environment->is_short_of_memory || allo_fail_memory(err);
}

void allo_environment_done(struct allo_environment *environment)
{
	allo_vec_done(&environment->all);
	allo_vec_done(&environment->settings);
	allo_arena_done(&environment->arena);
}
