/* python.c - finds CPython, counts freed code objects, describes the interpreter. */
#include "capture/python/python.h"
#include "base/assert.h"
#include "capture/debug_log.h"
#include "capture/file/metadata_stream.h"
#include "capture/process.h"
#include "capture/python/python_frames.h"
#include "capture/python/python_objects.h"
#include "capture/stacks/module_symbols.h"
#include "wire/stacks.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

enum { VERSION_MAX = 32, OLDEST = 10, NEWEST = 99 };

struct allo_python allo_python;
bool allo_python_is_on;
bool allo_python_has_news;

static struct {
	enum allo_interpreter_state state; /* 0: there is no interpreter */
	char version[VERSION_MAX];
	uint64_t runtime; /* address of _PyRuntime */
} found;

/* GONE: it may have been unloaded. */
enum library_state { UNSEEN, SEEN, TAKEN_OVER, GONE };

/* The library that is the interpreter, if the program can unload it. */
static struct {
	enum library_state state;
	bool is_kept; /* from being unloaded */
	struct allo_exports exports;
	char path[PATH_MAX];
} library;

/* Symbols. */

/* ISO C has no conversion from data to functions. */
#define FIND_FUNCTION(pointer, module, name)                                                       \
	(*(void **)&(pointer) = allo_export_address(module, name))

/* Versions. */

static void put_number(char **at, unsigned number)
{
	if (number >= 10)
		put_number(at, number / 10);
	*(*at)++ = (char)('0' + number % 10);
}

/* 3.11 and later export their version as a number: 0x030d01f0 is 3.13.1. */
static void put_version(uint32_t version)
{
	char *at = found.version;

	put_number(&at, version >> 24);
	*at++ = '.';
	put_number(&at, version >> 16 & 255);
	*at++ = '.';
	put_number(&at, version >> 8 & 255);
	*at = '\0';
}

/* Older ones as a text: "3.10.13 (main, ...". */
static void copy_version(const char *text)
{
	size_t len = strcspn(text, " ");

	if (len >= sizeof(found.version))
		len = sizeof(found.version) - 1;
	memcpy(found.version, text, len);
	found.version[len] = '\0';
}

/* The number behind "3."; 0 if there is none. */
static unsigned minor_of(const char *version)
{
	unsigned minor = 0;

	if (strncmp(version, "3.", 2) != 0)
		return 0;
	for (version += 2; *version >= '0' && *version <= '9' && minor <= NEWEST; version++)
		minor = 10 * minor + (unsigned)(*version - '0');
	return minor;
}

static unsigned find_version(struct allo_exports module)
{
	const uint32_t *number = allo_export_address(module, "Py_Version");
	const char *(*text)(void);

	FIND_FUNCTION(text, module, "Py_GetVersion");
	if (number)
		put_version(*number);
	else if (text)
		copy_version(text());
	return minor_of(found.version);
}

/* Code objects.  Their addresses are used again, at once in a loop of exec(). */

static void (*real_deallocator)(void *code);

static void count_deallocated(void *code)
{
	uint32_t *bucket = &allo_python_bucket_generations[allo_python_bucket((uint64_t)code)];

	__atomic_add_fetch(bucket, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&allo_python_generation, 1, __ATOMIC_RELEASE);
	real_deallocator(code);
}

static bool hook_deallocator(char *code_type, const struct allo_python_layout *layout)
{
	void (**place)(void *) = (void (**)(void *))(code_type + layout->deallocator);

	if (!*place)
		return false;
	real_deallocator = *place;
	__atomic_store_n(place, count_deallocated, __ATOMIC_RELEASE);
	return true;
}

/* Detection. */

static const char *name_of_current(unsigned minor)
{
	return minor >= 13   ? "PyThreadState_GetUnchecked"
	       : minor == 12 ? "_PyThreadState_UncheckedGet"
			     : "PyGILState_GetThisThreadState";
}

static enum allo_interpreter_state find_functions(struct allo_exports module, const char *runtime,
						  unsigned minor)
{
	const struct allo_python_layout *layout = allo_python_layout_find(
		minor, allo_python_is_free_threaded(minor, runtime));
	char *code_type = allo_export_address(module, "PyCode_Type");

	if (!layout || !code_type)
		return ALLO_INTERPRETER_UNKNOWN;
	FIND_FUNCTION(allo_python.current, module, name_of_current(minor));
	FIND_FUNCTION(allo_python.bound, module, "PyGILState_GetThisThreadState");
	if (!allo_python.current || !allo_python.bound ||
	    !allo_python_layout_agrees(layout, runtime) || !hook_deallocator(code_type, layout))
		return ALLO_INTERPRETER_DIFFERENT;
	allo_python.code_type = code_type;
	allo_python.finalizing = (const uint64_t *)(runtime +
						    allo_python_layout_finalizing(layout, runtime));
	allo_python.layout = layout;
	return ALLO_INTERPRETER_SEEN;
}

static void detect(struct allo_exports module)
{
	const char *runtime = allo_export_address(module, "_PyRuntime");
	allo_python_get_allocator *get, *set;
	unsigned minor;

	if (!runtime || found.state)
		return;
	found.runtime = (uint64_t)runtime;
	minor = find_version(module);
	found.state = find_functions(module, runtime, minor);
	FIND_FUNCTION(get, module, "PyMem_GetAllocator");
	FIND_FUNCTION(set, module, "PyMem_SetAllocator");
	allo_python_objects_init(get, set, allo_python_raw_is_malloc(minor, runtime));
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "Python %s: %s", found.version,
		   found.state == ALLO_INTERPRETER_SEEN      ? "functions are recorded"
		   : found.state == ALLO_INTERPRETER_UNKNOWN ? "unknown version"
							     : "unexpected layout");
	__atomic_store_n(&allo_python_is_on, found.state == ALLO_INTERPRETER_SEEN,
			 __ATOMIC_RELEASE);
	if (allo_hooks_update)
		allo_hooks_update();
	allo_python_begin();
}

/* The loader puts the address of its list into the program's dynamic section. */
static const struct r_debug *find_list(const ElfW(Phdr) * headers, size_t count)
{
	const ElfW(Dyn) *dynamic = NULL;
	ElfW(Addr) bias = 0;

	for (size_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (ElfW(Addr))headers - headers[i].p_vaddr;
		else if (headers[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(bias + headers[i].p_vaddr);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_DEBUG)
			return (const struct r_debug *)dynamic->d_un.d_ptr;
	}
	return NULL;
}

/* The program; its libraries follow by `l_next`.  NULL if the loader does not tell. */
static const struct link_map *first_module(void)
{
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	const struct r_debug *list = headers ? find_list(headers, getauxval(AT_PHNUM)) : NULL;

	return list ? list->r_map : NULL;
}

/* A process that runs already may have loaded it, too. */
static void note_library(const char *path)
{
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(library.path))
		return; /* the program */
	memcpy(library.path, path, len + 1);
	library.state = TAKEN_OVER;
}

void allo_python_init(void)
{
	const struct link_map *module = first_module();

	for (; module && !found.state; module = module->l_next) {
		detect((struct allo_exports){ module->l_ld, module->l_addr });
		if (found.state && allo_process_is_late())
			note_library(module->l_name);
	}
}

void allo_python_see_module(const struct allo_code_module *module)
{
	struct allo_exports exports;

	if (found.state || library.state != UNSEEN)
		return;
	exports = allo_exports_of(module);
	if (!allo_export_address(exports, "_PyRuntime"))
		return;
	library.exports = exports;
	allo_module_path(module, library.path, sizeof(library.path));
	__atomic_store_n(&library.state, SEEN, __ATOMIC_RELEASE);
	__atomic_store_n(&allo_python_has_news, true, __ATOMIC_RELEASE);
}

/* Threads may be about to call the library's functions, so it stays loaded. */
void allo_python_keep_library(void)
{
	enum library_state state = __atomic_load_n(&library.state, __ATOMIC_ACQUIRE);

	if (state == UNSEEN || state == GONE || __atomic_load_n(&library.is_kept, __ATOMIC_RELAXED))
		return;
	if (dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) {
		__atomic_store_n(&library.is_kept, true, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&library.state, GONE, __ATOMIC_RELEASE);
	__atomic_store_n(&allo_python_is_on, false, __ATOMIC_RELEASE);
	if (allo_hooks_update)
		allo_hooks_update();
}

/* The recording. */

void allo_python_begin(void)
{
	if (found.state)
		__atomic_store_n(&allo_python_has_news, true, __ATOMIC_RELAXED);
}

static void write_interpreter(void)
{
	struct allo_wire_slot *tail = allo_stacks_metadata();
	uint8_t *at = allo_metadata_begin(tail);
	size_t len = strlen(found.version);

	if (!at)
		return;
	at = allo_varint_put(at, ALLO_LANGUAGE_PYTHON);
	at = allo_varint_put(at, found.state);
	at = allo_varint_put(at, allo_python_objects_are_hooked());
	at = allo_varint_put(at, found.runtime);
	memcpy(at, found.version, len);
	allo_metadata_end(tail, ALLO_FACT_INTERPRETER, at + len);
}

void allo_python_tell(void)
{
	enum library_state state = SEEN;

	__atomic_store_n(&allo_python_has_news, false, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&library.state, &state, TAKEN_OVER, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		detect(library.exports);
	else
		allo_python_objects_hook();
	if (!found.state || !allo_stacks_lock(false))
		return;
	write_interpreter();
	allo_stacks_unlock();
	__atomic_store_n(&allo_python_has_news, false, __ATOMIC_RELAXED);
}
