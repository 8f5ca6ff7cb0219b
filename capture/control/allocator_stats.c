/* allocator_stats.c - statistics of jemalloc, tcmalloc, mimalloc and glibc. */
#include "capture/control/allocator_stats.h"
#include "base/assert.h"
#include "capture/hooks/real.h"
#include "capture/safepoint.h"
#include "capture/stacks/modules.h"
#include "telemetry/text_buffer.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* The statistics functions of allocators.  Weak references find those that the program links
 * statically, if this library is linked statically too; dlsym() finds the others. */
typedef int mallctl_function(const char *name, void *old, size_t *old_len, void *new, size_t len);
typedef int property_function(const char *name, size_t *value);
typedef const char *tc_version_function(int *major, int *minor, const char **patch);
typedef void process_info_function(size_t *elapsed_ms, size_t *user_ms, size_t *system_ms,
				   size_t *rss, size_t *peak_rss, size_t *commit,
				   size_t *peak_commit, size_t *faults);
typedef int mi_version_function(void);

extern mallctl_function mallctl __attribute__((weak));
extern mallctl_function _rjem_mallctl __attribute__((weak)); /* the prefix in Rust's crates */
extern property_function MallocExtension_GetNumericProperty __attribute__((weak));
extern tc_version_function tc_version __attribute__((weak));
extern process_info_function mi_process_info __attribute__((weak));
extern mi_version_function mi_version __attribute__((weak));

static void set_text(char *out, size_t room, const char *text)
{
	struct allo_text_buffer draft = { out, room, 0 };

	allo_buffer_string(&draft, text);
	allo_buffer_end(&draft);
}

static void set_name(struct allo_allocator_memory *memory, const char *name, const char *version)
{
	set_text(memory->name, sizeof(memory->name), name);
	set_text(memory->version, sizeof(memory->version), version);
}

/* Whether the path of the library that defines malloc has a word in it. */
static __attribute__((noinline)) bool is_malloc_of(const char *word)
{
	struct allo_code_module module;
	char path[PATH_MAX];

	return allo_module_find((uint64_t)allo_real.malloc, &module) &&
	       allo_module_path(&module, path, sizeof(path)) > 0 && strstr(path, word);
}

/* Looks a function up only if malloc's library has a matching name: a failed dlsym() would leave a
 * message in dlerror(). */
static void *find_in(const char *library, const char *name)
{
	return is_malloc_of(library) ? dlsym(RTLD_DEFAULT, name) : NULL;
}

/* jemalloc. */

static mallctl_function *find_mallctl(void)
{
	mallctl_function *found = _rjem_mallctl ? _rjem_mallctl : mallctl;

	if (!found)
		*(void **)&found = find_in("jemalloc", "mallctl");
	return found;
}

static void read_jemalloc(mallctl_function *ask, const char *name, uint64_t *figure)
{
	size_t value = 0, len = sizeof(value);

	if (ask(name, &value, &len, NULL, 0) == 0 && len == sizeof(value))
		*figure = value;
}

static void read_all_jemalloc(mallctl_function *ask, struct allo_allocator_memory *memory)
{
	uint64_t epoch = 1, dirty_pages = ALLO_UNKNOWN, page_size = ALLO_UNKNOWN;
	const char *version = "";
	size_t len = sizeof(version);

	ask("version", &version, &len, NULL, 0);
	set_name(memory, "jemalloc", version);
	/* Advancing the epoch refreshes the statistics. */
	ask("epoch", NULL, NULL, &epoch, sizeof(epoch));
	read_jemalloc(ask, "stats.allocated", &memory->allocated_bytes);
	read_jemalloc(ask, "stats.active", &memory->active_bytes);
	read_jemalloc(ask, "stats.metadata", &memory->metadata_bytes);
	read_jemalloc(ask, "stats.resident", &memory->resident_bytes);
	read_jemalloc(ask, "stats.mapped", &memory->mapped_bytes);
	read_jemalloc(ask, "stats.retained", &memory->retained_bytes);
	/* 4096 is MALLCTL_ARENAS_ALL. */
	read_jemalloc(ask, "stats.arenas.4096.tcache_bytes", &memory->thread_cache_bytes);
	read_jemalloc(ask, "stats.arenas.4096.pdirty", &dirty_pages);
	read_jemalloc(ask, "arenas.page", &page_size);
	if (dirty_pages != ALLO_UNKNOWN && page_size != ALLO_UNKNOWN)
		memory->free_page_bytes = dirty_pages * page_size;
}

/* tcmalloc, of gperftools. */

static property_function *find_property(void)
{
	property_function *found = MallocExtension_GetNumericProperty;

	if (!found)
		*(void **)&found = find_in("tcmalloc", "MallocExtension_GetNumericProperty");
	return found;
}

static uint64_t read_tcmalloc(property_function *ask, const char *name)
{
	size_t value;

	return ask(name, &value) ? value : ALLO_UNKNOWN;
}

static void read_all_tcmalloc(property_function *ask, struct allo_allocator_memory *memory)
{
	uint64_t central = read_tcmalloc(ask, "tcmalloc.central_cache_free_bytes");
	uint64_t transfer = read_tcmalloc(ask, "tcmalloc.transfer_cache_free_bytes");
	tc_version_function *version = tc_version;
	int major, minor;
	const char *patch;

	if (!version)
		*(void **)&version = find_in("tcmalloc", "tc_version");
	set_name(memory, "tcmalloc", version ? version(&major, &minor, &patch) : "");
	memory->allocated_bytes = read_tcmalloc(ask, "generic.current_allocated_bytes");
	memory->mapped_bytes = read_tcmalloc(ask, "generic.heap_size");
	memory->retained_bytes = read_tcmalloc(ask, "tcmalloc.pageheap_unmapped_bytes");
	memory->free_page_bytes = read_tcmalloc(ask, "tcmalloc.pageheap_free_bytes");
	memory->thread_cache_bytes = read_tcmalloc(ask, "tcmalloc.thread_cache_free_bytes");
	if (central != ALLO_UNKNOWN && transfer != ALLO_UNKNOWN)
		memory->free_list_bytes = central + transfer;
}

/* mimalloc. */

static process_info_function *find_process_info(void)
{
	process_info_function *found = mi_process_info;

	if (!found)
		*(void **)&found = find_in("mimalloc", "mi_process_info");
	return found;
}

static void name_mimalloc(struct allo_allocator_memory *memory)
{
	mi_version_function *version = mi_version;
	char text[24];
	struct allo_text_buffer draft = { text, sizeof(text), 0 };
	int number;

	if (!version)
		*(void **)&version = find_in("mimalloc", "mi_version");
	/* 209 is 2.0.9. */
	number = version ? version() : 0;
	if (number >= 100 && number < 1000) {
		allo_buffer_u64(&draft, (uint64_t)number / 100);
		allo_buffer_string(&draft, ".");
		allo_buffer_u64(&draft, (uint64_t)number / 10 % 10);
		allo_buffer_string(&draft, ".");
		number %= 10;
	}
	if (version)
		allo_buffer_u64(&draft, (uint64_t)number);
	allo_buffer_end(&draft);
	set_name(memory, "mimalloc", text);
}

/* Its "rss" is the committed memory, so only the committed numbers are used. */
static void read_all_mimalloc(process_info_function *ask, struct allo_allocator_memory *memory)
{
	size_t elapsed, user, system, rss, peak_rss, commit, peak_commit, faults;

	name_mimalloc(memory);
	ask(&elapsed, &user, &system, &rss, &peak_rss, &commit, &peak_commit, &faults);
	memory->committed_bytes = commit;
	memory->committed_peak_bytes = peak_commit;
}

#ifdef __GLIBC__

/* glibc: parses the output of malloc_info() line by line. */

struct info {
	char line[256];
	size_t len;
	bool is_within_arena; /* the lines of one arena; totals follow later */
	uint64_t arenas, fast, rest, mapped, system, system_peak;
};

/* The number in size="123"; 0 if the line has no size. */
static uint64_t size_in(const char *line)
{
	const char *at = strstr(line, " size=\"");
	uint64_t size = 0;

	for (at = at ? at + strlen(" size=\"") : ""; *at >= '0' && *at <= '9'; at++)
		size = size * 10 + (uint64_t)(*at - '0');
	return size;
}

static void parse_line(struct info *info)
{
	const char *line = info->line;

	if (strncmp(line, "<heap nr=", strlen("<heap nr=")) == 0) {
		info->arenas++;
		info->is_within_arena = true;
	} else if (strncmp(line, "</heap>", strlen("</heap>")) == 0) {
		info->is_within_arena = false;
	} else if (!info->is_within_arena) {
		if (strstr(line, "<total type=\"fast\""))
			info->fast = size_in(line);
		else if (strstr(line, "<total type=\"rest\""))
			info->rest = size_in(line);
		else if (strstr(line, "<total type=\"mmap\""))
			info->mapped = size_in(line);
		else if (strstr(line, "<system type=\"current\""))
			info->system = size_in(line);
		else if (strstr(line, "<system type=\"max\""))
			info->system_peak = size_in(line);
	}
}

static ssize_t parse_text(void *given, const char *text, size_t len)
{
	struct info *info = given;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n') {
			ALLO_ASSERT(info->len < sizeof(info->line));
			info->line[info->len] = '\0';
			parse_line(info);
			info->len = 0;
		} else if (info->len + 1 < sizeof(info->line)) {
			info->line[info->len++] = text[i];
		}
	}
	return (ssize_t)len;
}

static bool walk_glibc(struct info *info)
{
	FILE *file = fopencookie(info, "w", (cookie_io_functions_t){ .write = parse_text });
	char buffer[512];
	bool ok;

	if (!file)
		return false;
	setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	ok = malloc_info(0, file) == 0;
	return fclose(file) == 0 && ok && info->arenas > 0;
}

static const char *read_libc(bool may_walk, struct allo_allocator_memory *memory)
{
	struct info info = { 0 };

	set_name(memory, "glibc", gnu_get_libc_version());
	if (!may_walk)
		return "glibc must walk all free blocks: request a walk of the arenas";
	if (!walk_glibc(&info))
		return "malloc_info() failed";
	memory->mapped_bytes = info.system + info.mapped;
	memory->mapped_peak_bytes = info.system_peak;
	memory->free_list_bytes = info.fast + info.rest;
	memory->block_map_bytes = info.mapped;
	memory->allocated_bytes = memory->mapped_bytes - memory->free_list_bytes;
	memory->arenas = info.arenas;
	return "";
}

#else

static const char *read_libc(bool may_walk, struct allo_allocator_memory *memory)
{
	(void)may_walk;
	set_name(memory, "musl", "");
	return "musl's allocator has no statistics";
}

#endif

static bool is_in_libc(void)
{
	return allo_are_in_one_module((void *)allo_real.malloc, (void *)strlen);
}

bool allo_allocator_is_libc(void)
{
	return !find_mallctl() && !find_property() && !find_process_info() && is_in_libc();
}

bool allo_allocator_is_interposed(void)
{
	return allo_hooks_update && !allo_are_in_one_module((void *)malloc, (void *)is_in_libc);
}

const char *allo_allocator_read(bool may_walk, struct allo_allocator_memory *memory)
{
	mallctl_function *jemalloc = find_mallctl();
	property_function *tcmalloc = find_property();
	process_info_function *mimalloc = find_process_info();

	if (jemalloc)
		read_all_jemalloc(jemalloc, memory);
	else if (tcmalloc)
		read_all_tcmalloc(tcmalloc, memory);
	else if (mimalloc)
		read_all_mimalloc(mimalloc, memory);
	else if (is_in_libc())
		return read_libc(may_walk, memory);
	else
		return "unknown allocator";
	return "";
}
