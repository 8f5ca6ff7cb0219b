/* counts.c - statistics of threads and of the whole; the functions of allo.h that report them. */
#include "capture/counts.h"
#include "capture/api/last_error.h"
#include "capture/process.h"
#include "capture/safepoint.h"
#include "capture/settings.h"
#include "capture/sizes.h"
#include "capture/system.h"

#include <sched.h>
#include <string.h>

enum { ROOM_MIN = 64 << 10 }; /* bytes; less is not worth taking the lock */

struct allo_whole *allo_whole;

bool allo_counts_begin(void)
{
	if (!allo_settings.has_stats && allo_settings.rate == 0)
		return true;
	if (!allo_whole)
		allo_whole = allo_map_private(sizeof(*allo_whole));
	if (!allo_whole)
		return false;
	memset(allo_whole, 0, sizeof(*allo_whole));
	return allo_sizes_begin();
}

bool allo_counts_turn(bool is_on)
{
	bool ok;

	if (!allo_safepoint_freeze(NULL))
		return false;
	allo_settings_keep_stats(is_on);
	ok = !is_on || allo_counts_begin();
	if (!ok)
		allo_settings_keep_stats(false);
	for (struct allo_thread_state *thread = allo_process->threads; thread;
	     thread = thread->next)
		memset(&thread->counts, 0, sizeof(thread->counts));
	if (ok && is_on && allo_recorder_threads() > 1)
		allo_counting_set(ALLO_COUNTS_LOCKED);
	allo_safepoint_thaw();
	return ok;
}

void allo_counts_start(struct allo_thread_state *thread)
{
	struct allo_counts *counts = &thread->counts;

	counts->before_blocks = counts->alloc_blocks;
	counts->before_bytes = counts->alloc_bytes;
	counts->held = (struct allo_holding){ 0 };
}

/* The whole. */

/* False if this thread has the lock already: a signal handler interrupted it. */
static bool lock(void)
{
	uint32_t self = allo_thread_number(), nobody = 0;

	while (!__atomic_compare_exchange_n(&allo_whole->owner, &nobody, self, false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (nobody == self)
			return false;
		nobody = 0;
		ALLO_SYSCALL1(SYS_sched_yield, 0);
	}
	return true;
}

static void unlock(void)
{
	__atomic_store_n(&allo_whole->owner, 0, __ATOMIC_RELEASE);
}

void allo_counts_recover(void)
{
	if (allo_whole &&
	    __atomic_load_n(&allo_whole->owner, __ATOMIC_RELAXED) == allo_thread_number())
		unlock();
}

/* Bytes that may be given out as allowances; 0 if the peak is too near. */
static int64_t room_left(void)
{
	int64_t left = allo_whole->held.peak_bytes - allo_whole->held.bytes - allo_whole->given;

	return left > allo_whole->held.peak_bytes / 8 && left > ROOM_MIN ? left : 0;
}

/* Counts for the thread alone, within its allowance. */
static void add_own(struct allo_counts *counts, int64_t bytes, int64_t blocks)
{
	counts->own_bytes += bytes;
	counts->own_blocks += blocks;
	counts->room -= bytes;
}

/* Adds the threads' counts to the whole and takes all allowances back.  Only while all hooks are
 * frozen. */
static void gather(void)
{
	int64_t bytes = 0, blocks = 0;

	for (struct allo_thread_state *thread = allo_process->threads; thread;
	     thread = thread->next) {
		struct allo_counts *counts = &thread->counts;

		if (thread->session != allo_session)
			continue;
		bytes += counts->own_bytes;
		blocks += counts->own_blocks;
		counts->own_bytes = counts->own_blocks = counts->room = 0;
	}
	allo_hold(&allo_whole->held, bytes, blocks);
	allo_whole->given = 0;
}

/* Returns to counting under the lock.  False if the recording is about to end. */
static bool take_rooms_back(struct allo_thread_state *thread)
{
	if (!allo_safepoint_freeze(thread))
		return false;
	if (allo_counting_get() == ALLO_COUNTS_IN_ROOM) {
		gather();
		allo_counting_set(ALLO_COUNTS_LOCKED);
	}
	allo_safepoint_thaw();
	return true;
}

/* Enlarges a thread's allowance by an eighth of the rest.  False if that is too little. */
static bool get_room(struct allo_counts *counts, int64_t bytes)
{
	int64_t needed = bytes - counts->room, share;

	if (!lock())
		return true; /* in a signal handler: the peak may be off by this block */
	share = room_left() / 8;
	if (share >= needed) {
		counts->room += share;
		allo_whole->given += share;
	}
	unlock();
	return share >= needed;
}

/* Counts in the whole, under the lock.  False if threads have allowances by now. */
static bool add_locked(struct allo_counts *counts, int64_t bytes, int64_t blocks)
{
	bool is_locked_mode;

	if (!lock()) {
		add_own(counts, bytes, blocks);
		return true;
	}
	is_locked_mode = allo_counting_get() == ALLO_COUNTS_LOCKED;
	if (is_locked_mode) {
		allo_hold(&allo_whole->held, bytes, blocks);
		if (room_left())
			allo_counting_set(ALLO_COUNTS_IN_ROOM);
	}
	unlock();
	return is_locked_mode;
}

/* Counts within the allowance.  False if all allowances must be taken back first. */
static bool add_in_room(struct allo_counts *counts, int64_t bytes, int64_t blocks)
{
	if (bytes > counts->room && !get_room(counts, bytes))
		return false;
	add_own(counts, bytes, blocks);
	return true;
}

/* Adds to the live bytes and blocks; both may be negative. */
static void add(struct allo_thread_state *thread, int64_t bytes, int64_t blocks)
{
	struct allo_counts *counts = &thread->counts;

	if (thread->is_nested) {
		add_own(counts, bytes, blocks);
		return;
	}
	if (allo_counting_get() == ALLO_COUNTS_ALONE) {
		allo_hold(&allo_whole->held, bytes, blocks);
		return;
	}
	while (!(allo_counting_get() == ALLO_COUNTS_LOCKED ? add_locked(counts, bytes, blocks)
							   : add_in_room(counts, bytes, blocks))) {
		if (allo_counting_get() == ALLO_COUNTS_IN_ROOM && bytes > counts->room &&
		    !take_rooms_back(thread)) {
			add_own(counts, bytes, blocks);
			return;
		}
	}
}

void allo_counts_begun(struct allo_thread_state *thread)
{
	if (allo_counting_get() != ALLO_COUNTS_ALONE || allo_recorder_threads() == 1)
		return;
	if (!allo_safepoint_freeze(thread))
		return;
	if (allo_counting_get() == ALLO_COUNTS_ALONE)
		allo_counting_set(ALLO_COUNTS_LOCKED);
	allo_safepoint_thaw();
}

/* Events of a thread. */

void allo_counts_alloc(struct allo_thread_state *thread, uint64_t size)
{
	struct allo_counts *counts = &thread->counts;

	counts->alloc_blocks++;
	counts->alloc_bytes += size;
	allo_hold(&counts->held, (int64_t)size, 1);
	add(thread, (int64_t)size, 1);
}

void allo_counts_free(struct allo_thread_state *thread, uint64_t size)
{
	struct allo_counts *counts = &thread->counts;

	allo_hold(&counts->held, -(int64_t)size, -1);
	add(thread, -(int64_t)size, -1);
}

void allo_counts_resize(struct allo_thread_state *thread, uint64_t old, uint64_t size)
{
	struct allo_counts *counts = &thread->counts;

	counts->alloc_blocks++;
	counts->alloc_bytes += size;
	allo_hold(&counts->held, (int64_t)(size - old), 0);
	add(thread, (int64_t)(size - old), 0);
}

/* Queries. */

static bool has_stats(void)
{
	if (!allo_is_recording())
		return allo_set_error("nothing is being recorded");
	if (!allo_settings.has_stats || !allo_whole)
		return allo_set_error("no statistics are kept: start with has_stats, or with the "
				      "mode ALLO_COUNTERS");
	return true;
}

bool allo_get_heap_stats(struct allo_heap_stats *stats)
{
	*stats = (struct allo_heap_stats){ 0 };
	if (!has_stats())
		return false;
	if (!allo_safepoint_freeze(NULL))
		return allo_set_error("nothing is being recorded");
	gather();
	if (allo_counting_get() == ALLO_COUNTS_IN_ROOM)
		allo_counting_set(ALLO_COUNTS_LOCKED);
	for (struct allo_thread_state *thread = allo_process->threads; thread;
	     thread = thread->next) {
		if (thread->session != allo_session)
			continue;
		stats->total_blocks += thread->counts.alloc_blocks;
		stats->total_bytes += thread->counts.alloc_bytes;
	}
	stats->current_blocks = allo_whole->held.blocks;
	stats->current_bytes = allo_whole->held.bytes;
	stats->peak_blocks = (uint64_t)allo_whole->held.peak_blocks;
	stats->peak_bytes = (uint64_t)allo_whole->held.peak_bytes;
	allo_safepoint_thaw();
	return true;
}

bool allo_get_heap_stats_since(const struct allo_heap_stats *before, struct allo_heap_stats *since)
{
	bool is_new_peak;

	if (!allo_get_heap_stats(since))
		return false;
	is_new_peak = since->peak_bytes > before->peak_bytes;
	since->total_blocks -= before->total_blocks;
	since->total_bytes -= before->total_bytes;
	since->current_blocks -= before->current_blocks;
	since->current_bytes -= before->current_bytes;
	if (!is_new_peak)
		since->peak_blocks = since->peak_bytes = 0;
	return true;
}

/* The calling thread's counts; NULL if it has allocated nothing since the start. */
static struct allo_counts *own_counts(void)
{
	struct allo_thread_state *thread = allo_self;

	return thread && thread->session == allo_session && thread->phase != ALLO_THREAD_NEW
		       ? &thread->counts
		       : NULL;
}

bool allo_get_thread_stats(struct allo_heap_stats *stats)
{
	const struct allo_counts *counts;

	*stats = (struct allo_heap_stats){ 0 };
	if (!has_stats())
		return false;
	counts = own_counts();
	if (!counts)
		return true;
	stats->total_blocks = counts->alloc_blocks - counts->before_blocks;
	stats->total_bytes = counts->alloc_bytes - counts->before_bytes;
	stats->current_blocks = counts->held.blocks;
	stats->current_bytes = counts->held.bytes;
	stats->peak_blocks = (uint64_t)counts->held.peak_blocks;
	stats->peak_bytes = (uint64_t)counts->held.peak_bytes;
	return true;
}

/* A scope resets the thread's peak to its live bytes, and keeps the outer peak in `before`. */

bool allo_scope_begin(struct allo_scope *scope)
{
	struct allo_counts *counts;

	*scope = (struct allo_scope){ 0 };
	if (!allo_get_thread_stats(&scope->before))
		return false;
	counts = own_counts();
	if (counts) {
		counts->held.peak_bytes = counts->held.bytes;
		counts->held.peak_blocks = counts->held.blocks;
	}
	return true;
}

bool allo_scope_stats(const struct allo_scope *scope, struct allo_heap_stats *stats)
{
	const struct allo_heap_stats *before = &scope->before;

	if (!allo_get_thread_stats(stats))
		return false;
	stats->total_blocks -= before->total_blocks;
	stats->total_bytes -= before->total_bytes;
	stats->peak_blocks -= (uint64_t)before->current_blocks;
	stats->peak_bytes -= (uint64_t)before->current_bytes;
	stats->current_blocks -= before->current_blocks;
	stats->current_bytes -= before->current_bytes;
	return true;
}

bool allo_scope_end(struct allo_scope *scope, struct allo_heap_stats *stats)
{
	struct allo_counts *counts = own_counts();
	bool ok = allo_scope_stats(scope, stats);

	if (ok && counts && (int64_t)scope->before.peak_bytes > counts->held.peak_bytes) {
		counts->held.peak_bytes = (int64_t)scope->before.peak_bytes;
		counts->held.peak_blocks = (int64_t)scope->before.peak_blocks;
	}
	return ok;
}
