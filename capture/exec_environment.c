/* exec_environment.c - see exec_environment.h. */
#include "capture/exec_environment.h"
#include "base/assert.h"
#include "capture/exec_target.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

static const char preload_name[] = "LD_PRELOAD=";

/* The next library of a value of LD_PRELOAD; false at its end. */
static bool next_library(const char **at, const char **library, size_t *len)
{
	*library = *at + strspn(*at, ": ");
	*len = strcspn(*library, ": ");
	*at = *library + *len;
	return *len > 0;
}

/* The file name of a library that has `len` bytes. */
static const char *file_of(const char *library, size_t len)
{
	const char *slash = memrchr(library, '/', len);

	return slash ? slash + 1 : library;
}

/* The path that our library was loaded from. */
static const char *own_path(void)
{
	struct dl_find_object own;

	return _dl_find_object((void *)own_path, &own) == 0 ? own.dlfo_link_map->l_name : "";
}

static bool is_ours(const char *library, size_t len)
{
	const char *own = own_path();

	return strncmp(file_of(library, len), "liballo.so", strlen("liballo.so")) == 0 ||
	       (strlen(own) == len && memcmp(own, library, len) == 0);
}

static const char *find_preload(char *const *environment)
{
	for (; environment && *environment; environment++) {
		if (strncmp(*environment, preload_name, strlen(preload_name)) == 0)
			return *environment + strlen(preload_name);
	}
	return NULL;
}

const char *allo_exec_environment_preload(char *const *environment)
{
	const char *preload = find_preload(environment), *at = preload, *library;
	size_t len;

	while (at && next_library(&at, &library, &len)) {
		if (is_ours(library, len))
			return preload;
	}
	return NULL;
}

enum allo_skip allo_exec_environment_sanitizer(const char *preload)
{
	enum allo_skip skip = ALLO_SKIP_NONE;
	const char *library;
	size_t len;

	while (skip == ALLO_SKIP_NONE && next_library(&preload, &library, &len))
		skip = allo_exec_target_sanitizer(file_of(library, len));
	return skip;
}

size_t allo_exec_environment_count(char *const *environment)
{
	size_t count = 0;

	while (environment[count])
		count++;
	return count;
}

/* Writes LD_PRELOAD without our library; false if nothing is left. */
static bool write_preload(const char *preload, char *variable)
{
	size_t len, name_len = strlen(preload_name), used = name_len;
	const char *library;

	memcpy(variable, preload_name, name_len);
	while (next_library(&preload, &library, &len)) {
		if (is_ours(library, len))
			continue;
		if (used > name_len)
			variable[used++] = ':';
		memcpy(variable + used, library, len);
		used += len;
	}
	variable[used] = '\0';
	return used > name_len;
}

void allo_exec_environment_copy(char *const *environment, char **copy, char *variable)
{
	const char *preload = find_preload(environment);

	ALLO_ASSERT(preload);
	for (; *environment; environment++) {
		if (*environment + strlen(preload_name) != preload)
			*copy++ = *environment;
		else if (write_preload(preload, variable))
			*copy++ = variable;
	}
	*copy = NULL;
}
