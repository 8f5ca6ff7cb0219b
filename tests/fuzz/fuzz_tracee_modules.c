/*
 * fuzz_tracee_modules.c - any bytes as the memory of a process that `allo attach` looks at.
 *
 * Two modules are mapped: one at the start, and one in the middle.
 */
#include "attach/tracee_modules.h"
#include "base/defer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct allo_tracee_memory *memory,
		    const struct allo_tracee_module *module)
{
	static const char *const names[] = { "malloc", "allo_attach_plan", "", "dlopen" };
	uint64_t size;

	if (!memchr(module->name, '\0', sizeof(module->name)))
		abort();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		allo_tracee_symbol(memory, module, names[i], &size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ALLO_DEFER(allo_tracee_memory_done)
	struct allo_tracee_memory memory = { .mem = memfd_create("fuzz", MFD_CLOEXEC) };
	ALLO_DEFER(allo_tracee_modules_done) struct allo_tracee_modules modules = { 0 };
	const struct allo_tracee_mapping first = { .end = size / 2, .path = "/bin/first" },
					 second = { size / 2, size, 0, true, "/lib/second" };
	struct allo_error err = { 0 };

	if (memory.mem < 0 || write(memory.mem, data, size) != (ssize_t)size ||
	    !allo_vec_add(&memory.mappings, first, &err) ||
	    !allo_vec_add(&memory.mappings, second, &err) ||
	    !allo_tracee_modules_list(&modules, &memory, &err))
		exit(1);
	for (size_t i = 0; i < modules.all.len; i++)
		look_up(&memory, &modules.all.at[i]);
	allo_tracee_module_named(&modules, "libc.so.6");
	allo_tracee_module_at(&modules, "/lib");
	return 0;
}
