/* ownership.c - the folders of libraries, and the library that belongs to an executable. */
#include "analysis/sites/ownership.h"

#include "analysis/sites/known_code.h"
#include "profile/naming.h"

#define T(literal)   ALLO_TEXT_INIT(literal)
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

enum verdict { UNKNOWN, OWN, LIBRARY };

/* Folders of modules and source files that the system or a package manager installs. */
static const struct allo_text system_folders[] = {
	T("/usr/lib"),      T("/lib/"),         T("/lib32/"),        T("/lib64/"),
	T("/usr/include/"), T("/usr/libexec/"), T("/usr/local/lib"), T("/usr/local/go/"),
	T("/rustc/"),       T("/snap/"),        T("/nix/store/"),
};

/* The same anywhere in a path. */
static const struct allo_text package_folders[] = {
	T("/.cargo/registry/"),  T("/.cargo/git/"),        T("/.rustup/"),
	T("/rustlib/"),          T("/site-packages/"),     T("/dist-packages/"),
	T("/node_modules/"),     T("/go/pkg/mod/"),        T("/library/std/src/"),
	T("/library/core/src/"), T("/library/alloc/src/"),
};

/* Source files of the C library and the compiler, whose names are relative to their build. */
static const struct allo_text relative_folders[] = {
	T("./elf/"),    T("./malloc/"),       T("./libio/"),
	T("./nptl/"),   T("./csu/"),          T("../sysdeps/"),
	T("./stdlib/"), T("./stdio-common/"), T("../../../../src/libstdc++"),
};

void allo_ownership_done(struct allo_ownership *ownership)
{
	allo_vec_done(&ownership->modules);
	allo_vec_done(&ownership->functions);
	allo_map_done(&ownership->executables);
}

static bool starts_with_any(struct allo_text text, const struct allo_text *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (allo_text_starts(text, prefixes[i]))
			return true;
	}
	return false;
}

bool allo_is_library_file(struct allo_text path)
{
	if (starts_with_any(path, system_folders, COUNT(system_folders)) ||
	    starts_with_any(path, relative_folders, COUNT(relative_folders)))
		return true;
	for (size_t i = 0; i < COUNT(package_folders); i++) {
		if (allo_text_find(path, package_folders[i]) < path.len)
			return true;
	}
	return false;
}

/* A shared library: its name contains ".so". */
static bool is_shared(struct allo_text module)
{
	struct allo_text name = allo_basename(module);

	return allo_text_find(name, ALLO_TEXT(".so")) < name.len;
}

/* "python" of "/usr/bin/python3.11" and of "libpython3.11.so.1.0". */
static struct allo_text stem_of(struct allo_text module)
{
	struct allo_text name = allo_basename(module);
	size_t so = allo_text_find(name, ALLO_TEXT(".so"));

	if (so < name.len) {
		name.len = so;
		allo_text_skip(&name, ALLO_TEXT("lib"));
	}
	while (name.len > 0 && memchr("0123456789.-", name.data[name.len - 1], 12))
		name.len--;
	return name;
}

static struct allo_text module_path(const struct allo_profile *profile, allo_module_id id)
{
	return allo_profile_text(profile, profile->modules.at[id].path);
}

static uint64_t hash_text(struct allo_text text)
{
	return allo_hash_bytes(text.data, text.len, allo_hash_seed());
}

/* Whether one of the executables that were seen has this stem. */
static bool is_executable(const struct allo_ownership *ownership,
			  const struct allo_profile *profile, struct allo_text stem)
{
	struct allo_probe probe = allo_map_probe(&ownership->executables, hash_text(stem));
	allo_module_id id;

	while ((id = allo_map_next(&ownership->executables, &probe)) != 0) {
		if (allo_text_equal(stem_of(module_path(profile, id)), stem))
			return true;
	}
	return false;
}

static bool is_path_of_executable(struct allo_text path)
{
	return path.len > 0 && path.data[0] == '/' && !is_shared(path);
}

/* Adds the executables among new modules; false when out of memory. */
static bool see_executables(struct allo_ownership *ownership, const struct allo_profile *profile)
{
	for (; ownership->seen_modules < profile->modules.len; ownership->seen_modules++) {
		allo_module_id id = (allo_module_id)ownership->seen_modules;
		struct allo_text path = module_path(profile, id), stem = stem_of(path);

		if (is_path_of_executable(path) && !is_executable(ownership, profile, stem) &&
		    !allo_map_put(&ownership->executables, hash_text(stem), id))
			return false;
	}
	return true;
}

/* The same as is_executable(), without the map. */
static bool search_executable(const struct allo_profile *profile, struct allo_text stem)
{
	for (size_t i = 1; i < profile->modules.len; i++) {
		struct allo_text path = module_path(profile, (allo_module_id)i);

		if (is_path_of_executable(path) && allo_text_equal(stem_of(path), stem))
			return true;
	}
	return false;
}

/* Whether an executable of the profile has the library's name. */
static bool belongs_to_executable(struct allo_ownership *ownership,
				  const struct allo_profile *profile, struct allo_text library)
{
	struct allo_text stem = stem_of(library);

	if (stem.len == 0)
		return false;
	return see_executables(ownership, profile) ? is_executable(ownership, profile, stem)
						   : search_executable(profile, stem);
}

static enum verdict judge_module(struct allo_ownership *ownership,
				 const struct allo_profile *profile, struct allo_text path)
{
	if (path.len > 0 && path.data[0] == '[') /* [vdso], [heap] */
		return LIBRARY;
	if (!is_shared(path))
		return OWN;
	if (allo_known_module(path).role == ALLO_ROLE_LIBRARY)
		return LIBRARY;
	if (!allo_is_library_file(path) || belongs_to_executable(ownership, profile, path))
		return OWN;
	return LIBRARY;
}

/* A function is a library's by its file or, without one, by its name. */
static enum verdict judge_function(struct allo_text name, struct allo_text file)
{
	enum allo_role role;

	if (allo_is_library_file(file))
		return LIBRARY;
	role = allo_known_function(name, file, true).role;
	return role == ALLO_ROLE_CODE || role == ALLO_ROLE_SCRIPT ||
			       (role == ALLO_ROLE_WRAPPER && file.len > 0)
		       ? OWN
		       : LIBRARY;
}

bool allo_is_own_code(struct allo_ownership *ownership, const struct allo_profile *profile,
		      struct allo_text function, struct allo_text file, struct allo_text module)
{
	return judge_module(ownership, profile, module) == OWN &&
	       judge_function(function, file) == OWN;
}

/* A cache that memory is too short for changes the speed, not the verdict. */

static bool is_own_function(struct allo_ownership *ownership, const struct allo_profile *profile,
			    allo_function_id id)
{
	const struct allo_function *function = &profile->functions.at[id];
	struct allo_text name = allo_judged_name(profile, function);
	struct allo_text file = allo_profile_text(profile, function->file);

	if (!allo_vec_cover(&ownership->functions, profile->functions.len))
		return judge_function(name, file) == OWN;
	if (ownership->functions.at[id] == UNKNOWN)
		ownership->functions.at[id] = (uint8_t)judge_function(name, file);
	return ownership->functions.at[id] == OWN;
}

static bool is_own_module(struct allo_ownership *ownership, const struct allo_profile *profile,
			  allo_module_id id)
{
	struct allo_text path = module_path(profile, id);

	if (!allo_vec_cover(&ownership->modules, profile->modules.len))
		return judge_module(ownership, profile, path) == OWN;
	if (ownership->modules.at[id] == UNKNOWN)
		ownership->modules.at[id] = (uint8_t)judge_module(ownership, profile, path);
	return ownership->modules.at[id] == OWN;
}

bool allo_is_own_call(struct allo_ownership *ownership, const struct allo_profile *profile,
		      const struct allo_frame *frame, uint32_t call)
{
	allo_function_id function = allo_call_line(profile, frame, call).function;

	return (!frame->module || is_own_module(ownership, profile, frame->module)) &&
	       (!function || is_own_function(ownership, profile, function));
}
