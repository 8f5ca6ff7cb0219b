/* process.c - constructor, destructor and fork handler of the runtime. */
#include "capture/process.h"
#include "capture/debug_log.h"
#include "capture/file/announce.h"
#include "capture/file/own_resident.h"
#include "capture/file/recorder_file.h"
#include "capture/file/truncation.h"
#include "capture/hooks/attach_entries.h"
#include "capture/hooks/built_in.h"
#include "capture/hooks/mappings.h"
#include "capture/hooks/real.h"
#include "capture/hooks/sandbox.h"
#include "capture/python/python.h"
#include "capture/sampler.h"
#include "capture/session.h"
#include "capture/settings.h"
#include "capture/stacks/modules.h"
#include "capture/stacks/unwind_check.h"
#include "capture/system.h"
#include "capture/time/sleep_sign.h"
#include "wire/runtime_name.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define LATE "/proc/self/fd/" /* a file in memory */

struct allo_process *allo_process;

enum { NEW, STARTING, READY };

#define BEGIN_NS 1000000000ull /* a busy machine may not run the thread that begins for so long */

static uint32_t stage;
static bool was_begun; /* a recording was started here or, before a fork, in the parent */
static bool is_constructed;
static uint64_t begin_ns;

bool allo_process_is_late(void)
{
	return strncmp(allo_module_own_path(), LATE, strlen(LATE)) == 0;
}

bool allo_process_is_embedded(void)
{
	const char *name = allo_module_own_path(), *slash = strrchr(name, '/');

	return !allo_is_runtime_name(slash ? slash + 1 : name) && !allo_process_is_late();
}

/* A runtime that is linked into the program leaves recording to one preloaded by `allo run`. */
static bool is_another_there(void)
{
	const char *preloaded = allo_settings_variable("LD_PRELOAD");

	return preloaded &&
	       (strstr(preloaded, "liballo.so") || strstr(preloaded, "liballo-musl.so")) &&
	       allo_process_is_embedded();
}

/* A child that allocates reaches begin() later; most children call exec first. */
static void after_fork(void)
{
	allo_recorder_file_forked();
	ALLO_DEBUG(ALLO_DEBUG_STREAM, "fork: child of %lu",
		   (unsigned long)ALLO_SYSCALL1(SYS_getppid, 0));
	if (allo_safepoint_state() == ALLO_SAFEPOINT_SHUT && !allo_settings.no_follow)
		allo_control_begin();
}

/* A program that does not use libc's functions, such as a static one, passes LD_PRELOAD on as it
 * is.  The runtime for musl can be loaded by glibc, but must do nothing there. */
static bool is_other_libc(void)
{
	return ALLO_LIBC_OWN != ALLO_LIBC_GLIBC && dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
}

void allo_process_init(void)
{
	uint32_t is_new = NEW;
	bool is_selected;

	if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != NEW ||
	    !__atomic_compare_exchange_n(&stage, &is_new, STARTING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	allo_modules_init();
	allo_real_find();
	allo_sleep_sign_init();
	dlerror(); /* clears the errors of the lookups */
	allo_settings.is_late = allo_process_is_late();
	allo_settings_read();
	allo_debug_init();
	allo_settings.is_for_another = is_another_there();
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "start: allo %s, %s in %s, parent %lu, output '%s'%s",
		   ALLO_VERSION,
		   allo_settings.is_late        ? "attached"
		   : allo_process_is_embedded() ? "linked"
						: "preloaded",
		   allo_settings.program, (unsigned long)ALLO_SYSCALL1(SYS_getppid, 0),
		   allo_settings.output,
		   allo_settings.is_for_another ? ", left to the preloaded runtime" : "");
	is_selected = allo_settings_select_program() && !is_other_libc();
	allo_settings.has_control &= is_selected;
	if (allo_settings.is_for_another || !is_selected)
		allo_settings.output[0] = '\0';
	if (allo_settings.has_stats)
		allo_safepoint_init();
	allo_unwind_check_init();
	allo_mappings_init();
	begin_ns = allo_monotonic_ns() + allo_settings.delay_ns;
	allo_safepoint_set(allo_settings.output[0] && !allo_settings.is_dormant
				   ? ALLO_SAFEPOINT_OPEN
				   : ALLO_SAFEPOINT_SHUT);
	allo_recorder = allo_map_private(sizeof(*allo_recorder));
	allo_process = allo_map_private(sizeof(*allo_process));
	allo_threads_init();
	/* Before the hooks record: it may allocate. */
	pthread_atfork(NULL, NULL, after_fork);
	if (allo_recorder && allo_process)
		__atomic_store_n(&stage, READY, __ATOMIC_RELEASE);
}

bool allo_process_begin(bool has_earlier)
{
	struct allo_recorder *r = allo_recorder;
	uint32_t expected = ALLO_RECORDER_NEW;

	if (!__atomic_compare_exchange_n(&r->state, &expected, ALLO_RECORDER_STARTING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (!allo_counts_begin()) {
		r->failure = ENOMEM;
		allo_recorder_stop(ALLO_END_INTERNAL);
		return false;
	}
	if (!allo_recorder_begin(has_earlier)) {
		ALLO_DEBUG(ALLO_DEBUG_SESSION, "error: cannot record to %s: errno %d", r->path,
			   r->failure);
		return false;
	}
	was_begun = true;
	if (allo_settings.has_file)
		allo_truncation_begin();
	if (allo_mappings)
		allo_count(&r->head->counts.own_bytes, sizeof(*allo_mappings));
	if (allo_settings.has_file && !allo_stacks_begin()) {
		allo_recorder_stop(ALLO_END_DISK);
		return false;
	}
	allo_python_begin();
	allo_overhead_start();
	__atomic_store_n(&r->state, ALLO_RECORDER_ON, __ATOMIC_RELEASE);
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "recording to %s, mode %s",
		   allo_settings.has_file ? r->path : "no file",
		   allo_settings_mode_name(allo_settings.mode));
	return true;
}

static void begin(void)
{
	/* A child of a process in a sandbox. */
	if (allo_is_confined) {
		allo_recorder_stop(ALLO_END_SANDBOX);
		allo_sandbox_count_child();
		return;
	}
	if (was_begun && allo_settings.no_follow) {
		allo_recorder_stop(ALLO_END_INTERNAL);
		return;
	}
	allo_unwind_check_init(); /* if it was too early for that */
	allo_process_begin(was_begun || allo_settings.delay_ns > 0 ||
			   !(allo_settings.track & ALLO_TRACK_MALLOC));
	/* A child has no control thread yet.  A program gets its own in the constructor. */
	if (is_constructed)
		allo_control_begin();
}

/* Waits for a thread that begins the recording: the first allocations of a program may come from
 * several threads at once.  One that a signal handler has left by a jump never comes to an end, so
 * the wait does, for all. */
static void await_begin(void)
{
	static bool is_stuck;
	uint64_t until_ns = allo_monotonic_ns() + BEGIN_NS;

	while (__atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE) == ALLO_RECORDER_STARTING &&
	       !__atomic_load_n(&is_stuck, __ATOMIC_RELAXED)) {
		if (allo_monotonic_ns() > until_ns)
			__atomic_store_n(&is_stuck, true, __ATOMIC_RELAXED);
		else
			ALLO_SYSCALL1(SYS_sched_yield, 0);
	}
}

bool allo_process_records(void)
{
	allo_process_init();
	if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != READY)
		return false;
	if (__atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE) == ALLO_RECORDER_NEW &&
	    (allo_settings.delay_ns == 0 || allo_monotonic_ns() >= begin_ns))
		begin();
	await_begin();
	return __atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE) == ALLO_RECORDER_ON;
}

/* The zygote of Chromium-based programs forks all their processes, sandboxed ones too.  It counts
 * its threads and aborts if there is one that it does not know. */
static bool is_zygote(void)
{
	const uintptr_t *start = allo_settings_stack_start();

	for (uintptr_t i = 1; i < start[0]; i++) {
		if (strcmp((const char *)start[1 + i], "--type=zygote") == 0)
			return true;
	}
	return false;
}

/* In glibc, this runs before the constructors of all libraries (-z initfirst), also of libc: there
 * is no `environ` yet, and dlopen() of a library that is not loaded would do harm. */
__attribute__((constructor)) static void start(void)
{
	allo_process_init();
	allo_python_init();
	allo_settings.has_control &= !is_zygote();
	if (allo_built_in_begin)
		allo_built_in_begin();
	allo_control_begin();
	is_constructed = true;
	if (allo_attach_ready)
		allo_attach_ready();
}

static void complete_recording(struct allo_recorder *r)
{
	allo_sampler_flush_all();
	allo_overhead_finish();
	allo_recorder_update_clock();
	allo_resident_end();
	allo_recorder_cut();
	__atomic_store_n(&r->head->end, ALLO_END_EXIT, __ATOMIC_RELAXED);
	ALLO_DEBUG(ALLO_DEBUG_SESSION, "exit: recording complete, %lu slots",
		   (unsigned long)__atomic_load_n(&r->head->slots, __ATOMIC_RELAXED));
	allo_announce_counts();
}

/* Whether calls of malloc() go to another library, which was preloaded before this one.  The
 * program's own malloc() is found by `allo run`. */
static bool is_behind_another(void)
{
	void *first = dlsym(RTLD_DEFAULT, "malloc");
	struct allo_code_module found, own;

	return first && allo_module_find((uint64_t)first, &found) &&
	       allo_module_find((uint64_t)is_behind_another, &own) && found.start != own.start &&
	       !found.is_program;
}

/* Such a library may call our hooks. */
static void announce_if_hidden(void)
{
	if (allo_recorder && allo_recorder->state == ALLO_RECORDER_NEW &&
	    !allo_process_is_embedded() && is_behind_another())
		allo_announce_hidden();
}

/* Destructors that run later are still recorded. */
__attribute__((destructor)) static void end(void)
{
	bool is_recorded;

	allo_control_end();
	allo_pace_end();
	announce_if_hidden();
	if (!allo_session_hold_within(ALLO_SESSION_EXIT_MS))
		return;
	is_recorded = allo_recorder_is_on();
	if (is_recorded)
		complete_recording(allo_recorder);
	allo_session_let_go();
	if (is_recorded)
		allo_session_exits();
}
