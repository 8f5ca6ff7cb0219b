/* attach_entries.c - plans the patches of the functions that the hooks replace. */
#include "capture/hooks/attach_entries.h"
#include "base/assert.h"
#include "capture/hooks/built_in.h"
#include "capture/hooks/hooks_rights.h"
#include "capture/hooks/operators.h"
#include "capture/hooks/real.h"
#include "capture/patch/patch.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/stacks/modules.h"

#include <dlfcn.h>
#include <string.h>

struct allo_attach_plan allo_attach_plan;

/* A function, and where the hook finds the way to the original. */
struct replaced {
	const char *name;
	size_t real; /* offset in struct allo_real */
	bool is_needed;
};

#define NEEDED(function)                                                                           \
	{                                                                                          \
#function, offsetof(struct allo_real, function), true                              \
	}
#define WANTED(function)                                                                           \
	{                                                                                          \
#function, offsetof(struct allo_real, function), false                             \
	}

/* Without the functions that execute programs: those have no runtime anyway. */
static const struct replaced replaced[] = {
	NEEDED(malloc),    NEEDED(free),          NEEDED(calloc),         NEEDED(realloc),
	NEEDED(memalign),  NEEDED(aligned_alloc), NEEDED(posix_memalign), NEEDED(valloc),
	NEEDED(pvalloc),   NEEDED(dlclose),       WANTED(_exit),          WANTED(_Exit),
	WANTED(sigaction), WANTED(signal),        WANTED(__sysv_signal),  WANTED(prctl),
	WANTED(chroot),    WANTED(setuid),        WANTED(setgid),         WANTED(seteuid),
	WANTED(setegid),   WANTED(setreuid),      WANTED(setregid),       WANTED(setresuid),
	WANTED(setresgid), WANTED(setgroups),     WANTED(initgroups),     WANTED(capset),
	WANTED(unshare),   WANTED(setns),         WANTED(syscall),
};

enum { REPLACED = sizeof(replaced) / sizeof(*replaced) };

_Static_assert((int)REPLACED + (int)ALLO_ATTACHED_OPERATORS <= (int)ALLO_ATTACH_ENTRIES,
	       "the plan has room for all");
_Static_assert((int)ALLO_PATCH_MAX <= (int)ALLO_ATTACH_BYTES, "the plan has room for each");

/* A function whose entry is replaced, or left alone. */
struct planned {
	const void *target; /* where its code is; several names may have one */
	void *original;     /* calls it as it was, once the trampolines are executable */
	struct allo_patch patch;
	bool is_patched; /* false: another name of the same function, or it is left alone */
};

static struct planned planned[REPLACED], operators[ALLO_ATTACHED_OPERATORS];

/* Writes the reason why the process cannot be recorded. */
static void refuse(const char *subject, const char *problem, const char *detail)
{
	const char *const texts[] = { subject, problem, detail };
	char *out = allo_attach_plan.why, *end = out + sizeof(allo_attach_plan.why) - 1;

	for (unsigned i = 0; i < 3; i++) {
		for (const char *at = texts[i]; *at && out < end; at++)
			*out++ = *at;
	}
	*out = '\0';
}

/* The same function under an earlier name. */
static const struct planned *same_before(unsigned number)
{
	for (unsigned i = 0; i < number; i++) {
		if (planned[i].original && planned[i].target == planned[number].target)
			return &planned[i];
	}
	return NULL;
}

/* Plans one function; false if the process cannot be attached to. */
static bool plan_function(unsigned number, void *own)
{
	struct planned *plan = &planned[number];
	/* The first in the program's order: its own allocator, or that of a preloaded library. */
	const void *function = dlsym(RTLD_DEFAULT, replaced[number].name);
	const struct planned *same;

	*plan = (struct planned){ 0 };
	if (!function)
		return true;
	plan->target = allo_patch_target(function);
	same = same_before(number);
	if (same) {
		plan->original = same->original;
		return true;
	}
	plan->patch.refusal = ALLO_PATCH_LEAF;
	plan->is_patched = allo_patch_may_change_registers(plan->target) &&
			   allo_patch_prepare(&plan->patch, function, 0,
					      dlsym(own, replaced[number].name), &plan->original);
	if (plan->is_patched || !replaced[number].is_needed)
		return true;
	refuse(replaced[number].name, " cannot be replaced: it ",
	       allo_patch_refusal_text(plan->patch.refusal));
	return false;
}

/* Whether another name of an operator is planned already: delete may be free. */
static bool is_planned(unsigned number)
{
	for (unsigned i = 0; i < REPLACED; i++) {
		if (planned[i].is_patched && planned[i].target == operators[number].target)
			return true;
	}
	for (unsigned i = 0; i < number; i++) {
		if (operators[i].is_patched && operators[i].target == operators[number].target)
			return true;
	}
	return false;
}

/* Plans an operator of the allocator itself, which need not call malloc.  False if that cannot be
 * patched. */
static bool plan_operator(unsigned number, void *own)
{
	const struct allo_attached_operator *wanted = &allo_attached_operators[number];
	struct planned *plan = &operators[number];
	void *function = dlsym(RTLD_DEFAULT, wanted->symbol);

	*plan = (struct planned){ 0 };
	if (!function || !allo_are_in_one_module(function, dlsym(RTLD_DEFAULT, "malloc")))
		return true;
	plan->target = allo_patch_target(function);
	if (is_planned(number))
		return true;
	if (!allo_patch_may_change_registers(plan->target))
		return false;
	plan->is_patched = wanted->is_new
				   ? allo_patch_prepare_with(
					     &plan->patch, function, 0, (void *)allo_attached_new,
					     &allo_attached_operators[number], &plan->original)
				   : allo_patch_prepare(&plan->patch, function, 0,
							dlsym(own, "free"), &plan->original);
	return plan->is_patched;
}

/* All operators, or none: else blocks of one would seem to leak. */
static void plan_operators(void *own)
{
	bool is_whole = true;

	for (unsigned i = 0; i < ALLO_ATTACHED_OPERATORS; i++)
		is_whole &= plan_operator(i, own);
	if (is_whole)
		return;
	for (unsigned i = 0; i < ALLO_ATTACHED_OPERATORS; i++)
		operators[i].is_patched = false;
	allo_built_in_without_operators((uint64_t)dlsym(RTLD_DEFAULT, "malloc"));
}

/* The handle of this library, which is loaded already. */
static void *own_handle(void)
{
	return dlopen(allo_module_own_path(), RTLD_LAZY | RTLD_NOLOAD);
}

static bool plan_all(void)
{
	void *own = own_handle();

	if (!own) {
		refuse("the runtime", " was not loaded by 'allo attach'", "");
		return false;
	}
	for (unsigned i = 0; i < REPLACED; i++) {
		if (!plan_function(i, own))
			return false;
	}
	plan_operators(own);
	if (allo_patch_seal())
		return true;
	refuse("it may not make memory executable", " (SELinux, or a setting of its service)", "");
	return false;
}

static void add_entry(const struct allo_patch *patch)
{
	struct allo_attach_entry *entry = &allo_attach_plan.entries[allo_attach_plan.count];

	ALLO_ASSERT(allo_attach_plan.count < ALLO_ATTACH_ENTRIES);
	*entry = (struct allo_attach_entry){ .at = patch->entry, .length = patch->length };
	memcpy(entry->old_bytes, patch->old_bytes, sizeof(patch->old_bytes));
	memcpy(entry->new_bytes, patch->new_bytes, sizeof(patch->new_bytes));
	allo_attach_plan.count++;
}

/* Gives the hooks the ways to the originals.  No thread calls them yet. */
static void publish(void)
{
	for (unsigned i = 0; i < REPLACED; i++) {
		if (planned[i].original)
			memcpy((char *)&allo_real + replaced[i].real, &planned[i].original,
			       sizeof(void *));
		if (planned[i].is_patched)
			add_entry(&planned[i].patch);
	}
	for (unsigned i = 0; i < ALLO_ATTACHED_OPERATORS; i++) {
		if (!operators[i].is_patched)
			continue;
		memcpy(&allo_attached_operators[i].original, &operators[i].original,
		       sizeof(void *));
		add_entry(&operators[i].patch);
	}
	/* realloc() may call malloc() by its entry, which is ours then. */
	allo_allocator_is_apart = false;
	allo_hooks_found_syscall();
	allo_hooks_update();
}

void allo_attach_ready(void)
{
	allo_attach_plan.version = ALLO_ATTACH_VERSION;
	memcpy(allo_attach_plan.magic, ALLO_ATTACH_MAGIC, sizeof(allo_attach_plan.magic));
}

void allo_attach_prepare(const char *program)
{
	if (!allo_process) {
		refuse("it has no memory", " for the runtime", "");
		return;
	}
	if (allo_attach_plan.count == 0 && plan_all())
		publish();
	if (allo_attach_plan.count == 0)
		return;
	allo_settings_attach(program);
	allo_control_begin_again();
}
