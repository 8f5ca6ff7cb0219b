/* modules.c - chooses between libc's function and the list. */
#include "capture/stacks/modules.h"
#include "capture/settings.h"
#include "capture/stacks/module_list.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static char own_path[PATH_MAX];

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* the header declares it: glibc 2.35 */

/* Found at run time: a reference would keep the library from being loaded with an older glibc. */
static __typeof__(_dl_find_object) *find_object;

static bool find_by_libc(uint64_t address, struct allo_code_module *module)
{
	struct dl_find_object found;

	if (find_object((void *)address, &found) != 0)
		return false;
	*module = (struct allo_code_module){
		.start = (uint64_t)found.dlfo_map_start,
		.end = (uint64_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.unwind_header = found.dlfo_eh_frame,
		.identity = (uint64_t)found.dlfo_link_map,
		.name = found.dlfo_link_map->l_name,
		.is_program = found.dlfo_link_map->l_name[0] == '\0',
	};
	return true;
}

static void find_function(void)
{
	*(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
}

#else

static bool (*find_object)(void);

static bool find_by_libc(uint64_t address, struct allo_code_module *module)
{
	(void)address;
	(void)module;
	return false;
}

static void find_function(void)
{
}

#endif

static void find_own_path(void)
{
	struct allo_code_module own;

	if (allo_module_find((uint64_t)find_own_path, &own))
		allo_module_path(&own, own_path, sizeof(own_path));
}

void allo_modules_init(void)
{
	const char *wanted = allo_settings_variable("ALLO_MODULES");

	if (!wanted || strcmp(wanted, "list") != 0)
		find_function();
	if (!find_object)
		allo_module_list_init();
	find_own_path();
}

bool allo_module_find(uint64_t address, struct allo_code_module *module)
{
	return find_object ? find_by_libc(address, module) : allo_module_list_find(address, module);
}

bool allo_module_is_loaded(uint64_t start, uint64_t identity)
{
	struct allo_code_module module;

	if (!find_object)
		return allo_module_list_has(start, identity);
	return find_by_libc(start, &module) && module.start == start && module.identity == identity;
}

size_t allo_module_path(const struct allo_code_module *module, char *path, size_t room)
{
	size_t len;

	path[0] = '\0';
	if (module->is_program)
		return 0;
	if (!module->name)
		return allo_module_list_path(module, path, room);
	len = strnlen(module->name, room - 1);
	memcpy(path, module->name, len);
	path[len] = '\0';
	return len;
}

const char *allo_module_own_path(void)
{
	return own_path;
}

void allo_modules_closed(void)
{
	if (!find_object)
		allo_module_list_check();
}

void allo_modules_complete(void)
{
	if (!find_object)
		allo_module_list_complete();
}

void allo_modules_avoid_copies(void)
{
	allo_module_list_avoid_copies();
}
