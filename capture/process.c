/* process.c - see process.h. */
#include "capture/process.h"
#include "capture/announce.h"
#include "capture/mappings.h"
#include "capture/real.h"
#include "capture/sampler.h"
#include "capture/session.h"
#include "capture/settings.h"
#include "capture/system.h"
#include "capture/unwind_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#define LIBRARY "liballo.so"

struct allo_process *allo_process;

enum { NEW, STARTING, READY };

static uint32_t stage;
static bool was_begun; /* also in a child, where the recording is not */
static bool is_constructed;
static uint64_t begin_ns;

/* Whether this code is part of a program, or of another library. */
static bool is_embedded(void)
{
	struct dl_find_object own;
	const char *name, *slash;

	if (_dl_find_object((void *)is_embedded, &own) != 0)
		return true;
	name = own.dlfo_link_map->l_name;
	slash = strrchr(name, '/');
	return strncmp(slash ? slash + 1 : name, LIBRARY, strlen(LIBRARY)) != 0;
}

/* A runtime that a program has inside leaves it to the one that `allo run` has preloaded to record
 * the whole of it. */
static bool is_another_there(void)
{
	const char *preloaded = allo_settings_variable("LD_PRELOAD");

	return preloaded && strstr(preloaded, LIBRARY) && is_embedded();
}

void allo_process_init(void)
{
	uint32_t is_new = NEW;

	if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != NEW ||
	    !__atomic_compare_exchange_n(&stage, &is_new, STARTING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	allo_real_find();
	allo_settings_read();
	allo_settings.is_for_another = is_another_there();
	if (allo_settings.is_for_another)
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
	if (!allo_recorder_begin(has_earlier))
		return false;
	was_begun = true;
	if (allo_mappings)
		allo_count(&r->head->counts.own_bytes, sizeof(*allo_mappings));
	if (allo_settings.has_file && !allo_stacks_begin()) {
		allo_recorder_stop(ALLO_END_DISK);
		return false;
	}
	__atomic_store_n(&r->state, ALLO_RECORDER_ON, __ATOMIC_RELEASE);
	return true;
}

static void begin(void)
{
	if (was_begun && allo_settings.no_follow) {
		allo_recorder_stop(ALLO_END_INTERNAL);
		return;
	}
	allo_process_begin(was_begun || allo_settings.delay_ns > 0 ||
			   !(allo_settings.track & ALLO_TRACK_MALLOC));
	/* A child has none yet; before its own constructors have run, a program needs none. */
	if (is_constructed)
		allo_control_begin();
}

bool allo_process_records(void)
{
	allo_process_init();
	if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != READY)
		return false;
	if (__atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE) == ALLO_RECORDER_NEW &&
	    (allo_settings.delay_ns == 0 || allo_monotonic_ns() >= begin_ns))
		begin();
	return __atomic_load_n(&allo_recorder->state, __ATOMIC_ACQUIRE) == ALLO_RECORDER_ON;
}

/* A child that records gets to begin() by itself: most become another program before. */
static void after_fork(void)
{
	if (allo_safepoint_state() == ALLO_SAFEPOINT_SHUT && !allo_settings.no_follow)
		allo_control_begin();
}

/* The process that Chromium, and what is made of it, forks its others from, sandboxed ones too: it
 * counts the threads that it has, and aborts if there is one that it does not know. */
static bool is_zygote(int count, char **words)
{
	for (int i = 1; i < count; i++) {
		if (strcmp(words[i], "--type=zygote") == 0)
			return true;
	}
	return false;
}

__attribute__((constructor)) static void start(int count, char **words)
{
	allo_process_init();
	allo_settings.no_control |= is_zygote(count, words);
	allo_control_begin();
	is_constructed = true;
	pthread_atfork(NULL, NULL, after_fork);
}

/* What comes after this, other destructors, is still recorded. */
__attribute__((destructor)) static void end(void)
{
	struct allo_recorder *r = allo_recorder;

	allo_control_end();
	if (!r || r->state != ALLO_RECORDER_ON)
		return;
	allo_sampler_tell_all();
	allo_recorder_update_clock();
	r->head->end = ALLO_END_EXIT;
	allo_announce_counts();
	allo_session_exits();
}
