/* built_in.c - patches all functions of an allocator, or none. */
#include "capture/hooks/built_in.h"
#include "capture/debug_log.h"
#include "capture/file/announce.h"
#include "capture/file/metadata_stream.h"
#include "capture/file/recorder.h"
#include "capture/hooks/built_in_search.h"
#include "capture/hooks/operators.h"
#include "capture/hooks/real.h"
#include "capture/patch/machine.h"
#include "capture/patch/patch.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/stacks/stack_bounds.h"
#include "capture/system.h"
#include "wire/allocator_state.h"
#include "wire/stacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>

enum {
	MAX_NOTES = 8,
	STACK_LOOK = 1 << 20, /* bytes of the own stack */
	REPLACED = 9,         /* allocation functions, the first ones of struct allo_real */
};

/* A function that is patched. */
struct patched {
	struct allo_built_in_entry entry;
	struct allo_patch patch;
	const void *target; /* its address, behind jumps */
	const void *trampoline;
};

/* An allocator that is not recorded from the start. */
struct note {
	enum allo_allocator_state state;
	const char *name;
	char path[PATH_MAX];
};

static struct patched all[ALLO_BUILT_IN_MAX];
static size_t count;
static struct note notes[MAX_NOTES];
static size_t note_count;
static struct allo_built_in_search search; /* too large for a stack */
static bool is_forbidden;

/* Whether a patch was lost with its module: another one may be loaded at the address. */
static bool is_stale(const struct patched *patched)
{
	return memcmp((const void *)patched->patch.entry, patched->patch.new_bytes,
		      patched->patch.length) != 0;
}

/* Whether a function is patched, or prepared: then it is one of those from number `first` on.  A
 * patched one jumps to its trampoline. */
static bool is_patched(const void *target, size_t first)
{
	for (size_t i = 0; i < count; i++) {
		if (all[i].trampoline == target)
			return true;
		if (all[i].target == target && (i >= first || !is_stale(&all[i])))
			return true;
	}
	return false;
}

/* An allocator without one of these would be recorded in part, and its blocks would seem to leak.
 */
static bool is_essential(const struct allo_built_in_function *function)
{
	return function < &allo_built_in_functions[4];
}

static bool prepare(const struct allo_built_in_candidate *candidate, size_t first)
{
	const void *function = allo_patch_target((const void *)candidate->symbol.address);
	struct patched *patched = &all[count];
	void *original;

	if (is_patched(function, first))
		return true;
	if (count == ALLO_BUILT_IN_MAX)
		return false;
	patched->entry = (struct allo_built_in_entry){ .function = candidate->function };
	patched->target = function;
	patched->patch.refusal = ALLO_PATCH_LEAF;
	if (!allo_patch_may_change_registers(function) ||
	    !allo_patch_prepare_with(
		    &patched->patch, function,
		    (uint64_t)function == candidate->symbol.address ? candidate->symbol.size : 0,
		    allo_built_in_hook(candidate->function->kind), &patched->entry, &original)) {
		ALLO_DEBUG(ALLO_DEBUG_SESSION, "built-in allocator: %s%s is left alone: it %s",
			   candidate->prefix, candidate->function->name,
			   allo_patch_refusal_text(patched->patch.refusal));
		return !is_essential(candidate->function);
	}
	memcpy(&patched->entry.original, &original, sizeof(original));
	patched->trampoline = (const char *)original - ALLO_TRAMPOLINE_MOVED;
	count++;
	return true;
}

static bool prepare_all(size_t first)
{
	bool is_whole = !search.is_full;

	for (size_t i = 0; i < search.count; i++) {
		if (allo_built_in_is_allocator(&search, search.all[i].prefix))
			is_whole &= prepare(&search.all[i], first);
	}
	return is_whole;
}

static bool apply_all(size_t first)
{
	for (size_t i = first; i < count; i++) {
		if (allo_patch_apply(&all[i].patch))
			continue;
		while (i-- > first)
			allo_patch_undo(&all[i].patch);
		return false;
	}
	return true;
}

/* Safety.  A thread that stands within the bytes that change would execute the middle of a jump. */

/* Counts the threads of the program; 0 if that fails. */
static size_t count_threads(void)
{
	_Alignas(struct dirent64) char entries[1024];
	long folder = ALLO_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/self/task",
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	size_t found = 0;
	long len;

	if (folder < 0)
		return 0;
	while ((len = ALLO_SYSCALL3(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			found += entry->d_name[0] != '.';
			at += entry->d_reclen;
		}
	}
	ALLO_SYSCALL1(SYS_close, folder);
	return found -
	       (allo_process && allo_control_thread_is_alive(&allo_process->control.thread));
}

/* Whether another thread may execute the bytes that change.  A child made by vfork() shares the
 * memory of its parent, whose threads it does not see. */
static bool has_others(void)
{
	const struct allo_recorder *r = allo_recorder;
	bool is_shared = r && r->head && r->head->pid != allo_process_number();

	return is_shared || count_threads() != 1;
}

/* Whether this thread returns to the bytes that change: a signal handler that has interrupted it
 * there may be running. */
static bool is_in_use(size_t first)
{
	struct allo_stack_bounds bounds = { 0 };
	uint64_t sp = (uint64_t)__builtin_frame_address(0), lowest = UINT64_MAX, highest = 0;

	for (size_t i = first; i < count; i++) {
		if (all[i].patch.entry < lowest)
			lowest = all[i].patch.entry;
		if (all[i].patch.entry + all[i].patch.length > highest)
			highest = all[i].patch.entry + all[i].patch.length;
	}
	if (!allo_stack_bounds_begin(&bounds, sp))
		return true;
	for (uint64_t at = sp; at < sp + STACK_LOOK && allo_stack_bounds_cover(&bounds, at + 8);
	     at += 8) {
		uint64_t word = *(const uint64_t *)at;

		if (word <= lowest || word >= highest)
			continue;
		for (size_t i = first; i < count; i++) {
			if (word > all[i].patch.entry &&
			    word < all[i].patch.entry + all[i].patch.length)
				return true;
		}
	}
	return false;
}

void *allo_built_in_past(void *function)
{
	const void *target = count > 0 ? allo_patch_target(function) : NULL;
	void *past = function;

	for (size_t i = 0; i < count; i++) {
		if (all[i].trampoline == target)
			memcpy(&past, &all[i].entry.original, sizeof(past));
	}
	return past;
}

/* The functions behind our hooks of malloc and new may be the same under other names. */
static void redirect_real(void)
{
	void *functions[REPLACED];

	memcpy(functions, &allo_real, sizeof(functions));
	for (unsigned i = 0; i < REPLACED; i++) {
		if (functions[i])
			functions[i] = allo_built_in_past(functions[i]);
	}
	memcpy(&allo_real, functions, sizeof(functions));
	allo_operators_update();
}

/* Patches the functions that the search has found. */
static enum allo_allocator_state patch_all(void)
{
	enum allo_allocator_state state = ALLO_ALLOCATOR_RECORDED;
	size_t first = count;

	if (allo_is_confined || is_forbidden)
		return ALLO_ALLOCATOR_NO_EXEC;
	if (!prepare_all(first))
		state = ALLO_ALLOCATOR_UNPATCHABLE;
	else if (count == first)
		return ALLO_ALLOCATOR_RECORDED;
	else if (!allo_patch_seal())
		state = ALLO_ALLOCATOR_NO_EXEC;
	else if (has_others() || is_in_use(first))
		state = ALLO_ALLOCATOR_THREADS;
	else if (!apply_all(first))
		state = ALLO_ALLOCATOR_NO_EXEC;
	if (state != ALLO_ALLOCATOR_RECORDED) {
		count = first;
		return state;
	}
	redirect_real();
	/* It calls its own functions, and may get memory from malloc. */
	allo_allocator_is_apart = false;
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "built-in allocator: %lu functions are patched",
		   (unsigned long)(count - first));
	return state;
}

/* Notes. */

/* A module that is loaded again may have a note already. */
static struct note *find_note(const char *name, const char *path)
{
	for (size_t i = 0; i < note_count; i++) {
		if (strcmp(notes[i].name, name) == 0 && strcmp(notes[i].path, path) == 0)
			return &notes[i];
	}
	return NULL;
}

static bool is_refused(const char *name, const char *path)
{
	const struct note *note = find_note(name, path);

	return note && note->state != ALLO_ALLOCATOR_LATE;
}

static void write_note(const struct note *note, struct allo_wire_slot *tail)
{
	uint8_t *at = allo_metadata_begin(tail);
	size_t name_len = strlen(note->name), path_len = strlen(note->path);

	if (!at)
		return;
	at = allo_varint_put(at, note->state);
	at = allo_varint_put(at, name_len);
	memcpy(at, note->name, name_len);
	memcpy(at + name_len, note->path, path_len);
	allo_metadata_end(tail, ALLO_FACT_ALLOCATOR, at + name_len + path_len);
}

/* The name of the allocator that the search has found; NULL if it has found none. */
static const char *found_name(void)
{
	for (size_t i = 0; i < search.count; i++) {
		if (allo_built_in_is_allocator(&search, search.all[i].prefix))
			return allo_built_in_name(search.all[i].prefix);
	}
	return NULL;
}

static void add_note(enum allo_allocator_state state, const char *name, const char *path,
		     struct allo_wire_slot *tail)
{
	struct note *note = find_note(name, path);

	if ((note && note->state == state) || (!note && note_count == MAX_NOTES))
		return;
	if (!note)
		note = &notes[note_count++];
	note->state = state;
	note->name = name;
	strcpy(note->path, path);
	if (tail)
		write_note(note, tail);
	if (state != ALLO_ALLOCATOR_LATE && state != ALLO_ALLOCATOR_OWN)
		allo_announce_allocator(state, name, path);
}

/* Modules. */

static void find_path(const struct allo_code_module *module, char path[PATH_MAX])
{
	size_t len = 0;

	if (module->is_program) {
		long got = ALLO_SYSCALL4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path,
					 PATH_MAX - 1);

		len = got > 0 ? (size_t)got : 0;
	} else {
		len = allo_module_path(module, path, PATH_MAX);
	}
	path[len] = '\0';
}

void allo_built_in_without_operators(uint64_t malloc_address)
{
	struct allo_code_module module;
	char path[PATH_MAX];

	if (!allo_module_find(malloc_address, &module))
		return;
	find_path(&module, path);
	add_note(ALLO_ALLOCATOR_UNPATCHABLE, "operator new", path, NULL);
}

/* Distributions strip their libraries, and there are many: these are not read. */
static const char *file_with_symbols(const struct allo_code_module *module, const char *path)
{
	if (module->is_program)
		return "/proc/self/exe";
	/* The kernel's own module has no folder. */
	return !strchr(path, '/') || strncmp(path, "/lib", 4) == 0 ||
			       strncmp(path, "/usr/lib", 8) == 0
		       ? ""
		       : path;
}

static void look_at(const struct allo_code_module *module, struct allo_wire_slot *tail)
{
	static char path[PATH_MAX];
	enum allo_allocator_state state = ALLO_ALLOCATOR_ATTACHED;
	const char *name;

	find_path(module, path);
	if (strcmp(path, allo_module_own_path()) == 0)
		return;
	allo_built_in_search(&search, module, file_with_symbols(module, path));
	name = found_name();
	if (!name || is_refused(name, path))
		return;
	if (allo_process_is_late()) {
		/* Exported ones have entries of their own. */
		if (strcmp(name, "malloc") == 0)
			return;
	} else {
		size_t before = count;

		state = patch_all();
		if (state == ALLO_ALLOCATOR_RECORDED && count > before) {
			if (tail)
				state = ALLO_ALLOCATOR_LATE;
			else if (module->is_program)
				state = ALLO_ALLOCATOR_OWN;
		}
		if (state == ALLO_ALLOCATOR_OWN)
			name = allo_built_in_own_name(&search);
	}
	if (state != ALLO_ALLOCATOR_RECORDED)
		add_note(state, name, path, tail);
}

static bool is_wanted(void)
{
	return !allo_process_is_embedded() &&
	       (allo_settings.output[0] || allo_settings.has_control);
}

void allo_built_in_forbid(void)
{
	is_forbidden = true;
}

static int look_at_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	struct allo_code_module module;

	(void)size;
	(void)context;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    allo_module_find(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, &module)) {
			look_at(&module, NULL);
			break;
		}
	}
	return 0;
}

void allo_built_in_begin(void)
{
	if (is_wanted() && !allo_process_is_late())
		dl_iterate_phdr(look_at_loaded, NULL);
}

void allo_built_in_see_module(const struct allo_code_module *module, struct allo_wire_slot *tail)
{
	if (allo_process_is_embedded())
		return;
	for (size_t i = 0; module->is_program && i < note_count; i++)
		write_note(&notes[i], tail);
	if (!module->is_program || allo_process_is_late())
		look_at(module, tail);
}
