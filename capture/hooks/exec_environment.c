/* exec_environment.c - see exec_environment.h. */
#include "capture/hooks/exec_environment.h"
#include "base/assert.h"
#include "capture/hooks/exec_target.h"
#include "capture/stacks/modules.h"
#include "capture/system.h"

#include <fcntl.h>
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

static bool is_ours(const char *library, size_t len)
{
	const char *own = allo_module_own_path();

	return allo_is_runtime_name(file_of(library, len)) ||
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

bool allo_exec_environment_other(const char *preload, enum allo_libc libc, char path[PATH_MAX])
{
	const char *name = allo_runtime_name(libc), *library;
	size_t len, folder;

	while (name && next_library(&preload, &library, &len)) {
		folder = (size_t)(file_of(library, len) - library);
		if (!is_ours(library, len) || folder + strlen(name) >= PATH_MAX)
			continue;
		memcpy(path, library, folder);
		strcpy(path + folder, name);
		return ALLO_SYSCALL4(SYS_faccessat, AT_FDCWD, path, R_OK, 0) == 0;
	}
	return false;
}

/* Appends a library; `used` bytes are there. */
static size_t append(char *variable, size_t used, const char *library, size_t len)
{
	if (variable[used - 1] != '=')
		variable[used++] = ':';
	memcpy(variable + used, library, len);
	return used + len;
}

/* Writes LD_PRELOAD with another library instead of ours; false if nothing is left. */
static bool write_preload(const char *preload, const char *other, char *variable)
{
	size_t len, name_len = strlen(preload_name), used = name_len;
	const char *library;

	memcpy(variable, preload_name, name_len);
	while (next_library(&preload, &library, &len)) {
		if (!is_ours(library, len))
			used = append(variable, used, library, len);
		else if (other[0])
			used = append(variable, used, other, strlen(other));
		if (is_ours(library, len))
			other = "";
	}
	variable[used] = '\0';
	return used > name_len;
}

void allo_exec_environment_copy(char *const *environment, char **copy, const char *other,
				char *variable)
{
	const char *preload = find_preload(environment);

	ALLO_ASSERT(preload);
	for (; *environment; environment++) {
		if (*environment + strlen(preload_name) != preload)
			*copy++ = *environment;
		else if (write_preload(preload, other, variable))
			*copy++ = variable;
	}
	*copy = NULL;
}
