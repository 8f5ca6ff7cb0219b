/*
 * hooks_map.c - replacements for mmap, munmap, mremap, brk and sbrk, if they are tracked.
 *
 * Mappings count in whole pages, touched or not.  Mappings made by an allocator are not recorded,
 * since its blocks are; the allocator of libc does not call these functions by name anyway.  The
 * address of a mapping is recorded with its lowest bit set, to tell it from a block that a custom
 * allocator places at its start.
 *
 * An unmapping is recorded before the call, so that events of two threads that use the same address
 * are in the right order.  The table and the stream change together, under the lock.
 */
#include "capture/file/record.h"
#include "capture/hooks/mappings.h"
#include "capture/hooks/real.h"
#include "capture/process.h"

#include <sys/mman.h>
#include <unistd.h>

struct range {
	uint64_t start, end;
};

/* The effect of a call on the table. */
struct cutter {
	struct allo_thread_state *thread;
	unsigned count; /* mappings that the range overlapped */
	bool is_move;   /* the first mapping that is cut completely is moved, not freed */
	uint64_t moved; /* start of that mapping; 0: none */
};

static uint64_t page_up(uint64_t address)
{
	uint64_t page = (uint64_t)getpagesize();

	return (address + page - 1) & ~(page - 1);
}

static struct range range_of(const void *start, size_t length)
{
	return (struct range){ (uint64_t)start, (uint64_t)start + page_up(length) };
}

/* Entering. */

static inline bool is_tracked(enum allo_track track)
{
	return __builtin_expect((allo_mappings_tracked & track) != 0, 0);
}

/* Returns the state to record with, or NULL if this call is not recorded. */
static struct allo_thread_state *enter(enum allo_track track, struct allo_hook_frame frame)
{
	uint64_t caller = allo_return_address((uint64_t)&frame.record[1]);

	if (!is_tracked(track) || allo_settings.is_filtered ||
	    allo_are_in_one_module((void *)caller, (void *)allo_real.malloc))
		return NULL;
	return allo_enter();
}

static void drop(struct allo_thread_state *thread)
{
	thread->tail->dropped++;
}

static bool lock(struct allo_thread_state *thread, uint64_t *signals)
{
	if (allo_mappings_lock(allo_mappings, signals))
		return true;
	drop(thread);
	return false;
}

/* Events. */

static uint64_t tagged(uint64_t start)
{
	return start | 1;
}

static bool is_empty(const struct allo_mapping *mapping)
{
	return mapping->start == mapping->end;
}

static void put(struct allo_thread_state *thread, const struct allo_mapping *mapping)
{
	uint8_t *at = allo_event_time(thread, allo_event_begin(thread), 0);

	at = allo_put_alloc(&thread->events, at, tagged(mapping->start),
			    mapping->end - mapping->start, mapping->stack);
	allo_event_end(thread, at);
}

static void put_free(struct allo_thread_state *thread, uint64_t start)
{
	uint8_t *at = allo_event_time(thread, allo_event_begin(thread), 0);

	allo_event_end(thread, allo_put_free(&thread->events, at, tagged(start)));
}

/* The next mapping that is put is the result of this resize. */
static void put_resize(struct allo_thread_state *thread, uint64_t start)
{
	allo_record_resize(thread, (void *)tagged(start));
}

/* Remaining parts keep the stack of the call that created the mapping. */
static void put_cut(void *context, const struct allo_mapping_cut *cut)
{
	struct cutter *cutter = context;
	struct allo_thread_state *thread = cutter->thread;
	bool has_below = !is_empty(&cut->below), has_above = !is_empty(&cut->above);

	cutter->count++;
	if (!has_below && !has_above && cutter->is_move && !cutter->moved) {
		cutter->moved = cut->whole.start;
		return;
	}
	if (!has_below && !has_above) {
		put_free(thread, cut->whole.start);
		return;
	}
	put_resize(thread, cut->whole.start);
	put(thread, has_below ? &cut->below : &cut->above);
	if (has_below && has_above)
		put(thread, &cut->above);
}

static void cut(struct cutter *cutter, struct range range)
{
	if (!allo_mappings_cut(allo_mappings, range.start, range.end, allo_settings.min_size,
			       put_cut, cutter))
		drop(cutter->thread);
}

/* Records a new or moved mapping. */
static void add(const struct cutter *cutter, struct range range, uint32_t stack)
{
	struct allo_mapping mapping = { range.start, range.end, stack };
	struct allo_thread_state *thread = cutter->thread;
	bool is_kept = range.end - range.start >= allo_settings.min_size;

	if (is_kept && !allo_mappings_add(allo_mappings, mapping)) {
		is_kept = false;
		drop(thread);
	}
	if (cutter->moved && is_kept)
		put_resize(thread, cutter->moved);
	else if (cutter->moved)
		put_free(thread, cutter->moved);
	if (is_kept)
		put(thread, &mapping);
}

/* The effects of calls. */

/* Records a new mapping, which replaces all mappings that it overlaps. */
static void record_new(enum allo_track track, struct range range, struct allo_hook_frame frame)
{
	struct cutter cutter = { .thread = enter(track, frame) };
	uint64_t signals;
	uint32_t stack;

	if (!cutter.thread)
		return;
	stack = allo_record_stack(cutter.thread, frame);
	if (lock(cutter.thread, &signals)) {
		cut(&cutter, range);
		add(&cutter, range, stack);
		allo_mappings_unlock(allo_mappings, signals);
	}
	allo_leave(cutter.thread);
}

/* Records an unmapping.  True if it removed a recorded mapping. */
static bool record_gone(enum allo_track track, struct range range, struct allo_hook_frame frame)
{
	struct cutter cutter = { .thread = enter(track, frame) };
	uint64_t signals;

	if (!cutter.thread)
		return false;
	if (lock(cutter.thread, &signals)) {
		cut(&cutter, range);
		allo_mappings_unlock(allo_mappings, signals);
	}
	allo_leave(cutter.thread);
	return cutter.count > 0;
}

/* The kernel refused an unmapping that is already recorded: it had no room to split a mapping. */
static void record_loss(void)
{
	struct allo_thread_state *thread = allo_enter();

	if (!thread)
		return;
	drop(thread);
	allo_leave(thread);
}

static void record_move(struct allo_thread_state *thread, struct range old, struct range new,
			uint32_t stack)
{
	struct cutter cutter = { .thread = thread };
	struct range taken = new;

	/* A resize in place can only replace mappings beyond the old end. */
	if (new.start == old.start)
		taken.start = old.end;
	cut(&cutter, taken);
	cutter.is_move = true;
	cut(&cutter, old);
	add(&cutter, new, stack);
}

static void record_break(uint64_t before, uint64_t after, struct allo_hook_frame frame)
{
	before = page_up(before);
	after = page_up(after);
	if (after > before)
		record_new(ALLO_TRACK_BRK, (struct range){ before, after }, frame);
	else if (after < before)
		record_gone(ALLO_TRACK_BRK, (struct range){ after, before }, frame);
}

/* Hooks.  The recording half is a separate function, so that an untracked call is a jump. */

static __attribute__((noinline)) void *record_mmap(void *address, size_t length, int protection,
						   int flags, int fd, off_t offset)
{
	void *start;

	allo_process_init();
	start = allo_real.mmap(address, length, protection, flags, fd, offset);
	if (start != MAP_FAILED)
		record_new(ALLO_TRACK_MMAP, range_of(start, length), ALLO_FRAME());
	return start;
}

/* Declared under another name, since libc's headers may redirect mmap to mmap64; both are the same
 * on 64-bit systems. */
ALLO_HOOK void *map(void *address, size_t length, int protection, int flags, int fd,
		    off_t offset) __asm__("mmap");
ALLO_HOOK void *map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	if (is_tracked(ALLO_TRACK_MMAP))
		return record_mmap(address, length, protection, flags, fd, offset);
	return allo_real.mmap(address, length, protection, flags, fd, offset);
}

ALLO_HOOK __typeof__(map) map64 __asm__("mmap64") __attribute__((alias("mmap")));

/* The range that munmap unmaps; empty if the kernel will refuse it. */
static struct range range_to_unmap(const void *start, size_t length)
{
	struct range range = range_of(start, length);

	if (page_up(range.start) != range.start)
		range.end = range.start;
	return range;
}

static __attribute__((noinline)) int record_munmap(void *start, size_t length)
{
	bool is_recorded = false;
	int result;

	allo_process_init();
	/* Without mappings, as in a forked child, an unmapping must not start a recording. */
	if (allo_mappings && allo_mappings->count > 0)
		is_recorded = record_gone(ALLO_TRACK_MMAP, range_to_unmap(start, length),
					  ALLO_FRAME());
	result = allo_real.munmap(start, length);
	if (result != 0 && is_recorded)
		record_loss();
	return result;
}

ALLO_HOOK int munmap(void *start, size_t length)
{
	if (is_tracked(ALLO_TRACK_MMAP))
		return record_munmap(start, length);
	return allo_real.munmap(start, length);
}

/* An old length of 0 creates a second mapping of the same memory.  With MREMAP_DONTUNMAP the old
 * mapping stays, too. */
static struct range range_to_move(const void *old, size_t old_length, int flags)
{
	return range_of(old, flags & MREMAP_DONTUNMAP ? 0 : old_length);
}

/* Holds the lock during the call: the kernel may give the old range to another thread before mremap
 * returns, and mremap fails too often to record the move in advance. */
static __attribute__((noinline)) void *record_mremap(void *old, size_t old_length, size_t length,
						     int flags, void *fixed)
{
	struct allo_thread_state *thread;
	uint64_t signals = 0;
	uint32_t stack = 0;
	bool is_locked;
	void *start;

	allo_process_init();
	thread = enter(ALLO_TRACK_MMAP, ALLO_FRAME());
	if (thread)
		stack = allo_record_stack(thread, ALLO_FRAME());
	is_locked = thread && lock(thread, &signals);
	start = allo_real.mremap(old, old_length, length, flags, fixed);
	if (is_locked && start != MAP_FAILED)
		record_move(thread, range_to_move(old, old_length, flags), range_of(start, length),
			    stack);
	if (is_locked)
		allo_mappings_unlock(allo_mappings, signals);
	if (thread)
		allo_leave(thread);
	return start;
}

/* `fixed` is only passed with some flags; otherwise its undefined value is passed on. */
ALLO_HOOK void *remap(void *old, size_t old_length, size_t length, int flags,
		      void *fixed) __asm__("mremap");
ALLO_HOOK void *remap(void *old, size_t old_length, size_t length, int flags, void *fixed)
{
	if (is_tracked(ALLO_TRACK_MMAP))
		return record_mremap(old, old_length, length, flags, fixed);
	return allo_real.mremap(old, old_length, length, flags, fixed);
}

/* libc reports success for an end that the kernel refuses (it is taken for a query), so the end is
 * read back. */
static __attribute__((noinline)) int record_brk(void *end)
{
	uint64_t before;
	int result;

	allo_process_init();
	before = (uint64_t)allo_real.sbrk(0);
	result = allo_real.brk(end);
	if (result == 0)
		record_break(before, (uint64_t)allo_real.sbrk(0), ALLO_FRAME());
	return result;
}

ALLO_HOOK int brk(void *end)
{
	if (is_tracked(ALLO_TRACK_BRK))
		return record_brk(end);
	return allo_real.brk(end);
}

static __attribute__((noinline)) void *record_sbrk(intptr_t increment)
{
	void *before;

	allo_process_init();
	before = allo_real.sbrk(increment);
	if (before != (void *)-1)
		record_break((uint64_t)before, (uint64_t)before + (uint64_t)increment,
			     ALLO_FRAME());
	return before;
}

ALLO_HOOK void *sbrk(intptr_t increment)
{
	if (is_tracked(ALLO_TRACK_BRK))
		return record_sbrk(increment);
	return allo_real.sbrk(increment);
}
